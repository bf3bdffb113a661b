//! Git as a child process. All command lines of git are built here.
//!
//! A repository can make git run programs: hooks, filters, monitors, drivers,
//! helpers. None of them runs unless a person has allowed that code, see
//! [`RepositoryCode`]: settings of the repository that name programs are
//! overridden for every invocation, and those of the user's own configuration
//! (such as Git LFS) stay. Repositories that lie in a working tree like an
//! ordinary folder (`HEAD`, `refs`, `objects`) are not used at all. Git gets the
//! same reduced environment as agents, and the host's `GIT_*` variables are not
//! part of it.

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

pub(crate) use child::GitOutput;
pub use clone::{clone_shallow, version};
pub use code::{RepositoryCode, RepositoryHook};
pub use error::GitError;
use inspection::Inspection;
pub(crate) use inspection::{check_lines, is_no_repository};

use crate::environment::shared_environment;

/// How long it may take to find the code of a repository.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings for every invocation.
const ALWAYS: &[&str] = &[
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// Settings for invocations that only look: they run no hooks.
const QUIET: &[&str] = &[
    NO_HOOKS,
    "core.splitIndex=false",
    "core.quotePath=false",
    "log.showSignature=false",
];

const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// Variables that operations of the user need besides those of all programs:
/// who commits, and how commits are signed.
const IDENTITY: &[&str] = &["GNUPGHOME", "GPG_TTY", "SSH_AUTH_SOCK"];

/// Git in a directory, until a deadline.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    deadline: Instant,
    /// The code that may run.
    trusted: Arc<BTreeSet<String>>,
    /// What is known of the repository, found out once.
    inspection: Arc<OnceLock<Inspection>>,
}

/// Who an invocation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The host looks at something.
    Question,
    /// A person asked for an operation.
    Operation(Hooks),
}

/// Whether hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hooks {
    On,
    Off,
}

impl Git {
    pub(crate) fn new(directory: &Path, timeout: Duration) -> Self {
        Git {
            directory: directory.to_owned(),
            variables: Vec::new(),
            deadline: Instant::now() + timeout,
            trusted: Arc::default(),
            inspection: Arc::default(),
        }
    }

    /// Git for a repository that the host made itself, and that has no
    /// configuration of others.
    pub(crate) fn of_host(git_dir: &Path, timeout: Duration) -> Self {
        let git = Git::new(git_dir, timeout).with("GIT_DIR", git_dir);
        git.knowing(Inspection::default())
    }

    /// The same, where code with these keys may run.
    pub(crate) fn trusting(mut self, trusted: Arc<BTreeSet<String>>) -> Self {
        self.trusted = trusted;
        self
    }

    /// The same with a new deadline.
    pub(crate) fn again(&self, timeout: Duration) -> Self {
        Git {
            deadline: Instant::now() + timeout,
            ..self.clone()
        }
    }

    /// The same in another directory of the same repository.
    pub(crate) fn within(&self, directory: &Path) -> Self {
        Git {
            directory: directory.to_owned(),
            ..self.clone()
        }
    }

    /// The same in another directory, which may be in another repository.
    pub(crate) fn at(&self, directory: &Path) -> Self {
        Git {
            inspection: Arc::default(),
            ..self.within(directory)
        }
    }

    /// The same with a variable of the environment.
    pub(crate) fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Returns the output of a command that has to succeed.
    pub(crate) fn ask<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run(arguments, &[])?.succeeded()
    }

    /// Returns the one line that a command prints.
    pub(crate) fn line<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let output = self.ask(arguments)?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Returns the one line that a command prints, if it succeeds and prints
    /// one.
    pub(crate) fn maybe<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Option<String>, GitError> {
        let answer = self.run(arguments, &[])?;
        let line = String::from_utf8_lossy(&answer.output).trim().to_owned();
        Ok(Some(line).filter(|line| answer.success && !line.is_empty()))
    }

    /// Runs a command for the host, which writes `input` to it.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(Purpose::Question, self.inspection()?)?;
        command.args(arguments);
        child::exchange(command, &self.directory, input, self.deadline)
    }

    /// Runs a command that finds out where the repository is. Such commands
    /// look at no files and run nothing, so they need not know what the
    /// repository would run.
    pub(crate) fn discover<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(Purpose::Question, &Inspection::default())?;
        command.arg("rev-parse").args(arguments);
        child::exchange(command, &self.directory, &[], self.deadline)
    }

    /// Runs an operation as a person would at a terminal, with hooks. All code
    /// of the repository has to be allowed.
    pub(crate) fn run_with_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let inspection = self.inspection()?;
        if let Some(code) = self.untrusted(inspection)? {
            return Err(GitError::NotAllowed(code.summary()));
        }
        let mut command = self.command(Purpose::Operation(Hooks::On), inspection)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Runs an operation for a person that writes no files of the working tree,
    /// without hooks.
    pub(crate) fn run_without_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(Purpose::Operation(Hooks::Off), self.inspection()?)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Runs an operation for a person, with hooks if they are allowed and
    /// without them if not.
    pub(crate) fn run_with_allowed_hooks<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<GitOutput, GitError> {
        self.check_settings_allowed()?;
        let inspection = self.inspection()?;
        let hooks = match self.untrusted(inspection)? {
            Some(_) => Hooks::Off,
            None => Hooks::On,
        };
        let mut command = self.command(Purpose::Operation(hooks), inspection)?;
        command.args(arguments);
        child::run_with_hooks(command, &self.directory, self.deadline)
    }

    /// Fails if settings of the repository name programs that were not allowed,
    /// such as filters. Without them, files that git writes would not be what
    /// the repository means them to be.
    pub(crate) fn check_settings_allowed(&self) -> Result<(), GitError> {
        match self.untrusted(self.inspection()?)? {
            Some(code) if !code.settings.is_empty() => Err(GitError::NotAllowed(code.summary())),
            _ => Ok(()),
        }
    }

    fn untrusted<'a>(
        &self,
        inspection: &'a Inspection,
    ) -> Result<Option<&'a RepositoryCode>, GitError> {
        let code = inspection.code()?;
        Ok(code.filter(|code| !code.is_allowed(&self.trusted)))
    }

    fn command(&self, purpose: Purpose, inspection: &Inspection) -> Result<Command, GitError> {
        let mut command = self.plain();
        match purpose {
            Purpose::Question => {
                for setting in QUIET {
                    command.args(["-c", setting]);
                }
                command
                    .env("GIT_OPTIONAL_LOCKS", "0")
                    .env("GIT_NO_LAZY_FETCH", "1")
                    .env("GIT_ALLOW_PROTOCOL", "")
                    .env("GIT_LITERAL_PATHSPECS", self.literal_pathspecs());
            }
            Purpose::Operation(hooks) => {
                if hooks == Hooks::Off {
                    command.args(["-c", NO_HOOKS]);
                }
                // Objects that a partial clone lacks may be fetched, by no
                // other programs than git's own.
                command.env("GIT_ALLOW_PROTOCOL", "https:http:ssh");
                for name in IDENTITY {
                    command.envs(std::env::var_os(name).map(|value| (name, value)));
                }
            }
        }
        // A question runs no hooks, so only settings matter to it.
        let matters = purpose != Purpose::Question || inspection.config.code().next().is_some();
        let is_allowed = matters && self.untrusted(inspection)?.is_none();
        let overrides = inspection.config.overrides(is_allowed);
        command.env("GIT_CONFIG_COUNT", overrides.len().to_string());
        for (index, (key, value)) in overrides.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{index}"), key)
                .env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        Ok(command)
    }

    /// Git with the reduced environment and the settings of every invocation.
    fn plain(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(shared_environment());
        for (name, value) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_AUTHOR_") || text.starts_with("GIT_COMMITTER_") {
                command.env(name, value);
            }
        }
        for setting in ALWAYS {
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

    /// Whether names are names and not patterns: yes, unless a caller set the
    /// variable.
    fn literal_pathspecs(&self) -> &OsStr {
        let mut variables = self.variables.iter().rev();
        let said = variables.find(|(name, _)| *name == "GIT_LITERAL_PATHSPECS");
        said.map_or("1".as_ref(), |(_, value)| value.as_os_str())
    }
}
