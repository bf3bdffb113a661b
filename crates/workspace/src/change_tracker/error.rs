//! Errors of the change tracker.

use std::io;

use agenthost_core::RequestFailure;
use agenthost_protocol::uri::Uri;

use crate::git::GitError;

/// The error of a checkpoint, diff, operation or worktree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    /// git is not installed.
    #[error("git is not installed, so changes of files are not tracked")]
    NoGit,
    /// The session has no existing folder.
    #[error("the folder of the session does not exist")]
    NoFolder,
    /// The repository is bare and has no working tree.
    #[error("the folder is inside of a git repository that has no files checked out")]
    BareRepository,
    /// git did not finish before the timeout.
    #[error("it took too long: there are too many files, or the disk is too slow")]
    TimedOut,
    /// A limit was exceeded, for example the number of files.
    #[error("there is too much to track: {0}")]
    LimitExceeded(String),
    /// The session is not tracked from its start, with the reason.
    #[error("{0}")]
    Untracked(String),
    /// The checkpoint does not exist.
    #[error("there is no checkpoint of the files")]
    NoCheckpoint,
    /// The operation is not possible in the current state, with the reason.
    #[error("{0}")]
    Refused(String),
    /// A file was changed after the checkpoint.
    #[error("`{0}` has changed since; nothing was done")]
    FileChanged(Uri),
    /// git failed, with its error message.
    #[error("git: {0}")]
    Git(String),
    /// The file system returned an error.
    #[error("{0}")]
    Io(String),
}

impl From<io::Error> for ChangesError {
    fn from(error: io::Error) -> Self {
        ChangesError::Io(error.to_string())
    }
}

impl From<GitError> for ChangesError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NotInstalled => ChangesError::NoGit,
            GitError::NoDirectory => ChangesError::NoFolder,
            GitError::TimedOut => ChangesError::TimedOut,
            GitError::TooMuchOutput => ChangesError::LimitExceeded("output of git".to_owned()),
            error @ (GitError::NotAllowed(_) | GitError::UnusableConfig(_)) => {
                ChangesError::Refused(error.to_string())
            }
            GitError::Failed(words) => ChangesError::Git(words),
            GitError::Io(words) => ChangesError::Io(words),
        }
    }
}

impl From<ChangesError> for RequestFailure {
    fn from(error: ChangesError) -> Self {
        match error {
            ChangesError::FileChanged(uri) => RequestFailure::FileChanged(uri),
            error => RequestFailure::Internal(error.to_string()),
        }
    }
}
