//! The environment variables of this terminal that its sessions get.
//!
//! The host may have been started elsewhere, for example at login. So a session gets the `PATH`
//! and the tool settings of the terminal in which it was created. Secrets are not among them,
//! unless the configuration names them.

use std::sync::OnceLock;

use agenthost_core::{ENVIRONMENT_META_KEY, MAX_ENVIRONMENT_BYTES, SessionEnvironment};
use agenthost_protocol::common::Meta;
use agenthost_protocol::wire::{Json, Object};

use crate::output;

/// Variables that select programs, languages and tools. `docs/usage.md` has the same list.
pub(crate) const PASSED_VARIABLES: &[&str] = &[
    "ANDROID_HOME",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "EDITOR",
    "FNM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "SSH_AUTH_SOCK",
    "TZ",
    "VIRTUAL_ENV",
    "VISUAL",
    "VOLTA_HOME",
];

/// Prefix of the variables for single aspects of the language.
const LOCALE_PREFIX: &str = "LC_";

/// The selection of variables of this process, which is made once.
static SELECTED_VARIABLES: OnceLock<VariableSelection> = OnceLock::new();

/// The variables that are passed.
enum VariableSelection {
    /// [`PASSED_VARIABLES`] and those of the configuration.
    Configured(Vec<String>),
    /// None: the host is at another machine.
    Nothing,
}

/// Sets the names of further variables, from `terminal_variables` of the configuration.
pub(crate) fn configure(names: &[String]) {
    SELECTED_VARIABLES.get_or_init(|| VariableSelection::Configured(names.to_vec()));
}

/// Passes no variables: those of this machine mean nothing at another one.
pub(crate) fn exclude_all() {
    SELECTED_VARIABLES.get_or_init(|| VariableSelection::Nothing);
}

/// Returns the variables of this terminal for its sessions, as `_meta` of `createSession`.
pub(crate) fn session_meta() -> Option<Meta> {
    let environment = match SessionEnvironment::new(collect()) {
        Ok(environment) => environment,
        Err(problem) => {
            output::print_note(&format!(
                "the session gets the environment of the host: {problem}"
            ));
            return None;
        }
    };
    if environment.is_empty() {
        return None;
    }
    let variables = environment.variables();
    let variables: Object = variables
        .map(|(name, value)| (name.to_owned(), Json::from(value)))
        .collect();
    let meta = Object::from_iter([(ENVIRONMENT_META_KEY.to_owned(), Json::Object(variables))]);
    Some(Meta::new(meta))
}

/// Returns the names of the variables that sessions of this terminal would get.
pub(crate) fn passed_names() -> Vec<String> {
    collect().map(|(name, _)| name).collect()
}

/// Returns the variables that are set here. Values that are not UTF-8 are left out.
fn collect() -> impl Iterator<Item = (String, String)> {
    let (configured, passes_any): (&[String], bool) = match SELECTED_VARIABLES.get() {
        Some(VariableSelection::Configured(names)) => (names, true),
        Some(VariableSelection::Nothing) => (&[], false),
        None => (&[], true),
    };
    let mut set: Vec<_> = std::env::vars_os()
        .filter(|_| passes_any)
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| {
            let is_passed = PASSED_VARIABLES.contains(&name.as_str())
                || name.starts_with(LOCALE_PREFIX)
                || configured.contains(name);
            is_passed && !value.is_empty() && value.len() <= MAX_ENVIRONMENT_BYTES
        })
        .collect();
    set.sort();
    set.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No variable whose name says that it is a secret is passed by default.
    #[test]
    fn secrets_are_not_passed_by_default() {
        let is_secret = |name: &str| {
            ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
                .iter()
                .any(|word| name.contains(word))
        };
        assert!(!PASSED_VARIABLES.iter().any(|name| is_secret(name)));
        let mut sorted = PASSED_VARIABLES.to_vec();
        sorted.sort_unstable();
        assert_eq!(PASSED_VARIABLES, sorted);
    }

    #[test]
    fn every_variable_is_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/usage.md");
        let page = std::fs::read_to_string(page).unwrap();
        for name in PASSED_VARIABLES {
            assert!(
                page.contains(&format!("`{name}`")),
                "{name} is not in docs/usage.md"
            );
        }
    }
}
