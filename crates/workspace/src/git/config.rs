//! Finds git settings that name programs, and separates those of the repository from those of
//! the user.

use std::collections::BTreeMap;

use super::GitError;

/// Maximum number of settings of a repository that name programs. Each is overridden by
/// environment variables, and the size of the environment is limited.
pub(super) const MAX_PROGRAM_SETTINGS: usize = 500;

/// The configuration of a repository, as far as it can run programs.
#[derive(Debug, Default)]
pub(super) struct RepositoryConfig {
    /// Settings of the repository that name programs, with the last value of each.
    programs: BTreeMap<String, String>,
    /// All values of the same settings in the user's configuration.
    user_values: BTreeMap<String, Vec<String>>,
    /// The last value of `core.hooksPath` in any scope.
    hooks_path: Option<HooksPath>,
}

/// The value of `core.hooksPath`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HooksPath {
    pub(super) value: String,
    /// `true` if the value is from the user's configuration.
    pub(super) is_from_user: bool,
}

impl RepositoryConfig {
    /// Parses the output of `git config --list -z --show-scope`.
    ///
    /// Fails if settings of the repository can't be overridden one by one: if a key is not
    /// UTF-8, or if files are included by a condition, which may hold for the next command
    /// although it does not for this one.
    pub(super) fn parse(output: &[u8]) -> Result<Self, GitError> {
        let unusable = |reason: &str| GitError::UnusableConfig(reason.to_owned());
        let mut config = RepositoryConfig::default();
        let mut fields = output.split(|byte| *byte == 0);
        while let Some(scope) = fields.next().filter(|scope| !scope.is_empty()) {
            let entry = fields.next();
            let entry = entry.ok_or_else(|| unusable("the output of git is malformed"))?;
            let is_users = match scope {
                b"system" | b"global" | b"command" => true,
                // The scopes local and worktree, and unknown ones.
                _ => false,
            };
            let mut parts = entry.splitn(2, |byte| *byte == b'\n');
            let key = std::str::from_utf8(parts.next().unwrap_or_default());
            let value = String::from_utf8_lossy(parts.next().unwrap_or_default());
            match key {
                Ok(key) if !is_users && key.starts_with("includeif.") => {
                    return Err(unusable("it has a conditional include"));
                }
                Ok(key) => config.add(key, &value, is_users),
                // Settings of the user stay unchanged.
                Err(_) if is_users => {}
                Err(_) => return Err(unusable("the name of a setting is not UTF-8")),
            }
        }
        if config.programs.len() > MAX_PROGRAM_SETTINGS {
            return Err(unusable("it names too many programs"));
        }
        Ok(config)
    }

    fn add(&mut self, key: &str, value: &str, is_users: bool) {
        if key == "core.hookspath" {
            self.hooks_path = Some(HooksPath {
                value: value.to_owned(),
                is_from_user: is_users,
            });
        }
        if is_program_setting(key) {
            if is_users {
                let values = self.user_values.entry(key.to_owned()).or_default();
                values.push(value.to_owned());
            } else {
                self.programs.insert(key.to_owned(), value.to_owned());
            }
        }
    }

    pub(super) fn hooks_path(&self) -> Option<&HooksPath> {
        self.hooks_path.as_ref()
    }

    /// Returns settings of the repository whose programs run in operations of the user.
    pub(super) fn code(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.programs.iter();
        settings
            .filter(|(key, value)| runs_in_operations(key) && !value.is_empty())
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the overrides with which no program of the repository runs. A value of the
    /// user's configuration takes precedence.
    pub(super) fn overrides(&self, code_is_allowed: bool) -> Vec<(String, String)> {
        let mut overrides = Vec::new();
        for key in self.programs.keys() {
            // The user has allowed the hooks themselves, so their directory stays as
            // configured.
            if code_is_allowed && (runs_in_operations(key) || key == "core.hookspath") {
                continue;
            }
            let own = self
                .user_values
                .get(key)
                .map(Vec::as_slice)
                .unwrap_or_default();
            if key.ends_with(".helper") {
                // An empty value clears the list of helpers.
                overrides.push((key.clone(), String::new()));
                overrides.extend(own.iter().map(|value| (key.clone(), value.clone())));
                continue;
            }
            let value = own
                .last()
                .map_or_else(|| harmless_value(key), String::as_str);
            overrides.push((key.clone(), value.to_owned()));
            // Without a program, a required filter fails, and so does an enabled hook.
            let (section, variable) = split_key(key);
            let name = key.strip_suffix(variable).unwrap_or(key);
            let switch = match section {
                "filter" => format!("{name}required"),
                "hook" => format!("{name}enabled"),
                _ => continue,
            };
            if !self.programs.contains_key(&switch) && !self.user_values.contains_key(&switch) {
                overrides.push((switch, "false".to_owned()));
            }
        }
        overrides
    }
}

/// Returns the section and the variable of a key, without the subsection.
fn split_key(key: &str) -> (&str, &str) {
    let section = key.split('.').next().unwrap_or_default();
    let variable = key.rsplit('.').next().unwrap_or_default();
    (section, variable)
}

/// Returns `true` if a setting names a program, makes git run one, or determines if its failure
/// matters. Keys have the form in which git lists them: lower case, except for the subsection.
///
/// Suffixes are matched rather than names, so that settings of other versions of git are found
/// as well.
pub(super) fn is_program_setting(key: &str) -> bool {
    const PROGRAM_SUFFIXES: &[&str] = &[
        "askpass",
        "browser",
        "cmd",
        "command",
        "driver",
        "editor",
        "filter",
        "fsmonitor",
        "helper",
        "hook",
        "hookspath",
        "pager",
        "program",
        "proxy",
        "textconv",
        "tool",
        "tunnel",
    ];
    const PROGRAM_VARIABLES: &[(&str, &[&str])] = &[
        ("alias", &[]),
        ("browser", &[]),
        ("diff", &["external"]),
        ("difftool", &[]),
        ("filter", &[]),
        ("guitool", &[]),
        ("hook", &[]),
        ("instaweb", &[]),
        ("log", &["showsignature"]),
        ("man", &[]),
        ("merge", &["verifysignatures"]),
        ("mergetool", &[]),
        ("pager", &[]),
        ("remote", &["receivepack", "uploadpack", "vcs"]),
        ("sendemail", &["smtpserver"]),
        ("submodule", &["update"]),
        ("tar", &[]),
        ("trailer", &[]),
    ];
    let (section, variable) = split_key(key);
    let named = PROGRAM_VARIABLES
        .iter()
        .any(|(name, all)| *name == section && (all.is_empty() || all.contains(&variable)));
    // The URL of a proxy is no program.
    let is_address = section == "http" || (section == "remote" && variable == "proxy");
    // Git LFS runs the programs of these settings when it runs as a filter.
    let is_lfs = section == "lfs"
        && (key.starts_with("lfs.extension.")
            || key.starts_with("lfs.customtransfer.")
            || variable.contains("transferagent"));
    named
        || is_lfs
        || (!is_address
            && PROGRAM_SUFFIXES
                .iter()
                .any(|ending| variable.ends_with(ending)))
}

/// Returns `true` if operations of the user run the program of this setting. Other programs of
/// a repository never run.
fn runs_in_operations(key: &str) -> bool {
    let (section, variable) = split_key(key);
    match section {
        "filter" | "hook" | "lfs" => true,
        "gpg" => variable.ends_with("program") || variable.ends_with("command"),
        "merge" => variable == "driver",
        _ => false,
    }
}

/// Returns a value with which git runs no program, or only its own ones.
fn harmless_value(key: &str) -> &'static str {
    match split_key(key) {
        ("filter", "required") | ("hook", "enabled") => "false",
        ("core", "fsmonitor") => "false",
        ("core", "hookspath") => "/dev/null",
        ("core", "sshcommand") => "ssh",
        ("core" | "sequence", "editor") => "true",
        ("core" | "pager", _) if key.ends_with("pager") => "cat",
        ("log", "showsignature") | ("merge", "verifysignatures") => "false",
        ("gpg", "program") => match key {
            "gpg.x509.program" => "gpgsm",
            "gpg.ssh.program" => "ssh-keygen",
            _ => "gpg",
        },
        ("remote", "uploadpack") => "git-upload-pack",
        ("remote", "receivepack") => "git-receive-pack",
        ("submodule", "update") => "none",
        _ => "",
    }
}
