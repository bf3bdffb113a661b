//! Why something is not known of files.

use std::io;

use agenthost_core::RequestFailure;
use agenthost_protocol::uri::Uri;

use crate::git::GitError;

/// Why something is not known of files, or could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    /// There is no git.
    #[error("git is not installed, and without it changes of files are not tracked")]
    NoGit,
    /// There is no folder.
    #[error("the folder of the session is not there")]
    NoFolder,
    /// A repository without files.
    #[error("the folder is inside of a git repository that has no files checked out")]
    BareRepository,
    /// It took too long.
    #[error("it took too long: there are too many files, or the disk is too slow")]
    TimedOut,
    /// There is too much of something.
    #[error("there is too much to track: {0}")]
    LimitExceeded(String),
    /// It was not tracked from the start, and why.
    #[error("{0}")]
    Untracked(String),
    /// Nothing was remembered.
    #[error("it is not known how the files were then")]
    NoCheckpoint,
    /// It is not where it could be done.
    #[error("{0}")]
    Refused(String),
    /// Somebody changed a file since.
    #[error("`{0}` has changed since; nothing was done")]
    FileChanged(Uri),
    /// Git says no.
    #[error("git: {0}")]
    Git(String),
    /// The system says no.
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
