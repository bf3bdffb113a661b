//! Runs git as a child process. All git command lines are built here.
//!
//! A repository can make git run programs: hooks, filters, monitors, drivers, helpers. None of
//! them runs unless a user has allowed that code, see [`RepositoryCode`]. Settings of the
//! repository that name programs are overridden for every invocation, and those of the user's
//! own configuration (such as Git LFS) stay. Repositories that are in a working tree like an
//! ordinary directory (`HEAD`, `refs`, `objects`) are not used at all. git gets the same
//! reduced environment as agents, without the `GIT_*` variables of the host.

mod child;
mod clone;
mod code;
mod config;
mod error;
mod inspection;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use agenthost_process::inherited_environment;

pub(crate) use child::GitOutput;
pub use clone::{clone_shallow, version};
pub use code::{RepositoryCode, RepositoryHook};
pub use error::GitError;
use inspection::RepositoryInspection;
pub(crate) use inspection::{check_lines, is_no_repository};

/// Timeout for the inspection of a repository's code.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Configuration of every invocation.
const COMMON_CONFIG: &[&str] = &[
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// Configuration of queries, which run no hooks.
const READ_ONLY_CONFIG: &[&str] = &[
    NO_HOOKS_CONFIG,
    "core.splitIndex=false",
    "core.quotePath=false",
    "log.showSignature=false",
];

const NO_HOOKS_CONFIG: &str = "core.hooksPath=/dev/null";

/// Environment variables that operations of the user need in addition, for the signing of
/// commits.
const IDENTITY_VARIABLES: &[&str] = &["GNUPGHOME", "GPG_TTY", "SSH_AUTH_SOCK"];

/// A git invocation in a directory, with a deadline.
#[derive(Debug, Clone)]
pub(crate) struct GitCommand {
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    deadline: Instant,
    /// Keys of the code that may run.
    trusted_keys: Arc<BTreeSet<String>>,
    /// Inspection of the repository, done once and shared by clones.
    inspection: Arc<OnceLock<RepositoryInspection>>,
}

/// The purpose of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitPurpose {
    /// The host reads state.
    Query,
    /// A user requested an operation.
    Operation(HookSwitch),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookSwitch {
    On,
    Off,
}

impl GitCommand {
    pub(crate) fn new(directory: &Path, timeout: Duration) -> Self {
        GitCommand {
            directory: directory.to_owned(),
            variables: Vec::new(),
            deadline: Instant::now() + timeout,
            trusted_keys: Arc::default(),
            inspection: Arc::default(),
        }
    }

    /// Creates a command for a repository of the host itself, which has no foreign
    /// configuration.
    pub(crate) fn for_host_repository(git_dir: &Path, timeout: Duration) -> Self {
        let git = GitCommand::new(git_dir, timeout).with_env("GIT_DIR", git_dir);
        git.with_inspection(RepositoryInspection::default())
    }

    /// Allows code with these keys.
    pub(crate) fn with_trusted_keys(mut self, trusted: Arc<BTreeSet<String>>) -> Self {
        self.trusted_keys = trusted;
        self
    }

    /// Returns a copy with a new deadline.
    pub(crate) fn with_timeout(&self, timeout: Duration) -> Self {
        GitCommand {
            deadline: Instant::now() + timeout,
            ..self.clone()
        }
    }

    /// Returns a copy for another directory of the same repository.
    pub(crate) fn in_directory(&self, directory: &Path) -> Self {
        GitCommand {
            directory: directory.to_owned(),
            ..self.clone()
        }
    }

    /// Returns a copy for a directory that may be in another repository.
    pub(crate) fn in_other_repository(&self, directory: &Path) -> Self {
        GitCommand {
            inspection: Arc::default(),
            ..self.in_directory(directory)
        }
    }

    /// Adds an environment variable.
    pub(crate) fn with_env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Returns the output of a command that must succeed.
    pub(crate) fn read_output<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run(arguments, &[])?.into_stdout()
    }

    /// Returns the only line of output of a command that must succeed.
    pub(crate) fn read_line<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let output = self.read_output(arguments)?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Returns the only line of output, or `None` if the command fails or prints nothing.
    pub(crate) fn try_read_line<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Option<String>, GitError> {
        let answer = self.run(arguments, &[])?;
        let line = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(Some(line).filter(|line| answer.success && !line.is_empty()))
    }

    /// Runs a query of the host with `input` as its standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(GitPurpose::Query, self.inspection()?)?;
        command.args(arguments);
        child::exchange(command, &self.directory, input, self.deadline)
    }

    /// Runs `git rev-parse` to locate the repository. It reads no files of the working tree and
    /// runs no programs, so it needs no inspection of the repository first.
    pub(crate) fn rev_parse<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(GitPurpose::Query, &RepositoryInspection::default())?;
        command.arg("rev-parse").args(arguments);
        child::exchange(command, &self.directory, &[], self.deadline)
    }

    /// Runs an operation with hooks, as a user would in a terminal. All code of the repository
    /// must be allowed.
    pub(crate) fn run_with_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let inspection = self.inspection()?;
        if let Some(code) = self.untrusted_code(inspection)? {
            return Err(GitError::NotAllowed(code.summary()));
        }
        let mut command = self.command(GitPurpose::Operation(HookSwitch::On), inspection)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Runs an operation without hooks. It must not write files of the working tree.
    pub(crate) fn run_without_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let mut command =
            self.command(GitPurpose::Operation(HookSwitch::Off), self.inspection()?)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Runs an operation, with hooks only if they are allowed.
    pub(crate) fn run_with_allowed_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        self.check_settings_allowed()?;
        let inspection = self.inspection()?;
        let hooks = match self.untrusted_code(inspection)? {
            Some(_) => HookSwitch::Off,
            None => HookSwitch::On,
        };
        let mut command = self.command(GitPurpose::Operation(hooks), inspection)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Fails if settings of the repository name programs that were not allowed, such as
    /// filters. Without them, git would write wrong file contents.
    pub(crate) fn check_settings_allowed(&self) -> Result<(), GitError> {
        match self.untrusted_code(self.inspection()?)? {
            Some(code) if !code.settings.is_empty() => Err(GitError::NotAllowed(code.summary())),
            _ => Ok(()),
        }
    }

    fn untrusted_code<'a>(
        &self,
        inspection: &'a RepositoryInspection,
    ) -> Result<Option<&'a RepositoryCode>, GitError> {
        let code = inspection.code()?;
        Ok(code.filter(|code| !code.is_allowed(&self.trusted_keys)))
    }

    fn command(
        &self,
        purpose: GitPurpose,
        inspection: &RepositoryInspection,
    ) -> Result<Command, GitError> {
        let mut command = self.base_command();
        match purpose {
            GitPurpose::Query => {
                for setting in READ_ONLY_CONFIG {
                    command.args(["-c", setting]);
                }
                command
                    .env("GIT_OPTIONAL_LOCKS", "0")
                    .env("GIT_NO_LAZY_FETCH", "1")
                    .env("GIT_ALLOW_PROTOCOL", "")
                    .env("GIT_LITERAL_PATHSPECS", self.literal_pathspecs());
            }
            GitPurpose::Operation(hooks) => {
                if hooks == HookSwitch::Off {
                    command.args(["-c", NO_HOOKS_CONFIG]);
                }
                // git may fetch objects that a partial clone lacks, but only with its own
                // transports.
                command.env("GIT_ALLOW_PROTOCOL", "https:http:ssh");
                for name in IDENTITY_VARIABLES {
                    command.envs(std::env::var_os(name).map(|value| (name, value)));
                }
            }
        }
        // Queries run no hooks, so only settings matter for them.
        let matters = purpose != GitPurpose::Query || inspection.config.code().next().is_some();
        let is_allowed = matters && self.untrusted_code(inspection)?.is_none();
        let overrides = inspection.config.overrides(is_allowed);
        command.env("GIT_CONFIG_COUNT", overrides.len().to_string());
        for (index, (key, value)) in overrides.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{index}"), key)
                .env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        Ok(command)
    }

    /// Returns git with the reduced environment and the common configuration.
    fn base_command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(inherited_environment());
        for (name, value) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_AUTHOR_") || text.starts_with("GIT_COMMITTER_") {
                command.env(name, value);
            }
        }
        for setting in COMMON_CONFIG {
            command.args(["-c", setting]);
        }
        command
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "true")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the value of `GIT_LITERAL_PATHSPECS`: 1, unless the caller has set the variable.
    fn literal_pathspecs(&self) -> &OsStr {
        let mut variables = self.variables.iter().rev();
        let said = variables.find(|(name, _)| *name == "GIT_LITERAL_PATHSPECS");
        said.map_or("1".as_ref(), |(_, value)| value.as_os_str())
    }
}
