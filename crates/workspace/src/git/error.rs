//! Errors of git invocations.

use std::io;

/// The error of a git invocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no `git` in `PATH`.
    #[error("git is not installed")]
    NotInstalled,
    /// The working directory does not exist.
    #[error("the folder does not exist")]
    NoDirectory,
    /// git did not finish before its deadline.
    #[error("git did not finish before its timeout")]
    TimedOut,
    /// The output exceeds the host's buffer.
    #[error("the output of git is too large")]
    TooMuchOutput,
    /// The configuration of the repository can't be made safe.
    #[error("the configuration of the repository can't be used: {0}")]
    UnusableConfig(String),
    /// The operation would run code of the repository that was not allowed.
    #[error(
        "the repository would run code that is not trusted: {0}\nhint: review it and allow it \
         with `agenthost customizations allow git` in its folder"
    )]
    NotAllowed(String),
    /// git exited with an error.
    #[error("git: {0}")]
    Failed(String),
    /// The operating system returned an error.
    #[error("{0}")]
    Io(String),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        GitError::Io(error.to_string())
    }
}
