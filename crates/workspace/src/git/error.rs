//! Errors of git invocations.

use std::io;

/// Why a git invocation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the `PATH`.
    #[error("git is not installed")]
    NotInstalled,
    /// The directory to run it in does not exist.
    #[error("the folder does not exist")]
    NoDirectory,
    /// It did not finish before its deadline.
    #[error("git took too long")]
    TimedOut,
    /// Its output is larger than the host buffers.
    #[error("the output of git is too large")]
    TooMuchOutput,
    /// The repository's own configuration can't be made safe.
    #[error("the configuration of the repository can't be used: {0}")]
    UnusableConfig(String),
    /// The operation would run programs of the repository without consent.
    #[error(
        "the repository would run code that was not allowed: {0}\n\
         hint: look at it and allow it with `agenthost customizations allow git` in its folder"
    )]
    NotAllowed(String),
    /// It exited with an error.
    #[error("git: {0}")]
    Failed(String),
    /// The operating system failed.
    #[error("{0}")]
    Io(String),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        GitError::Io(error.to_string())
    }
}
