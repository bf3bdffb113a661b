//! Files that clients and agents read and change.
//!
//! Every path is taken relative to a directory that was granted, and opened
//! from there step by step: neither `..` nor a symbolic link leads out, also
//! not one that is put there between a check and the opening (SEC-2). What a
//! file is, is asked of the open file.

mod manage;
mod place;
mod read;
mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agenthost_core::{Access, Answer, Failure, FileRequest, Root};
use agenthost_protocol::uri::Uri;

use crate::contents::Contents;
use crate::protected::ProtectedPaths;
use place::Place;
pub(crate) use read::encode;

/// Largest file that is read or written in one piece.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// Access to files. One for all who write, so that what two of them write to
/// the same file is written one after the other (RES-4).
#[derive(Debug, Default)]
pub struct Files {
    writing: Mutex<()>,
    contents: Option<Arc<Contents>>,
    protected: ProtectedPaths,
}

/// Where a file really is, and what it is, if it may be used.
pub(crate) fn find_place(
    roots: &[Root],
    protected: &ProtectedPaths,
    uri: &Uri,
    access: Access,
) -> Result<(PathBuf, cap_std::fs::Metadata), FileError> {
    let place = Place::find(roots, protected, uri, access)?;
    let failed = |error: std::io::Error| place.failed(access, &error);
    let metadata = place.dir.metadata(place.target()).map_err(failed)?;
    let inside = place.dir.canonicalize(place.target()).map_err(failed)?;
    let path = place.real(&inside).map_err(failed)?;
    Ok((path, metadata))
}

/// Why something could not be done with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is nothing on this machine.
    #[error("`{0}` is not a file on this machine")]
    Elsewhere(Uri),
    /// It is outside of what was granted.
    #[error("`{uri}` is outside of the folders that may be used here")]
    Denied {
        /// The file.
        uri: Uri,
        /// What was wanted.
        access: Access,
    },
    /// The system does not let us.
    #[error("the system denies access to `{0}`")]
    Forbidden(Uri),
    /// The host keeps it as it is.
    #[error("`{0}` is content that the host keeps as it is")]
    Fixed(Uri),
    /// There is no such file.
    #[error("there is nothing at `{0}`")]
    NotFound(Uri),
    /// There is something there.
    #[error("there is something at `{0}` already")]
    Exists(Uri),
    /// It is not as it was.
    #[error("`{0}` has changed in the meantime")]
    Changed(Uri),
    /// It is not what it has to be.
    #[error("`{uri}` is {found}, not {expected}")]
    Kind {
        /// The file.
        uri: Uri,
        /// What it is.
        found: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// A directory that is not empty.
    #[error("`{0}` is not empty")]
    NotEmpty(Uri),
    /// Too much for one message.
    #[error("`{uri}` has {size} bytes; at most {LARGEST} are handled in one piece")]
    TooLarge {
        /// The file.
        uri: Uri,
        /// How large it is, or would be.
        size: u64,
    },
    /// What was given makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// Something else went wrong.
    #[error("`{uri}`: {problem}")]
    Failed {
        /// The file.
        uri: Uri,
        /// What the system says.
        problem: String,
    },
}

impl Files {
    /// Files, and content that the host keeps.
    pub fn with_contents(contents: Arc<Contents>) -> Self {
        Files {
            contents: Some(contents),
            ..Files::default()
        }
    }

    /// Refuses some paths, whatever is granted.
    #[must_use]
    pub fn protecting(self, protected: ProtectedPaths) -> Self {
        Files { protected, ..self }
    }

    fn place(&self, roots: &[Root], uri: &Uri, access: Access) -> Result<Place, FileError> {
        Place::find(roots, &self.protected, uri, access)
    }

    /// Does something with files, where it may be done. Waits for the disk.
    ///
    /// # Errors
    ///
    /// Why it could not be done.
    pub fn carry_out(&self, roots: &[Root], request: &FileRequest) -> Result<Answer, Failure> {
        let contents = self.contents.as_ref();
        if let Some(done) = contents.and_then(|contents| contents.carry_out(request)) {
            return done.map_err(Failure::from);
        }
        let done = match request {
            FileRequest::Read(params) => self
                .read(roots, params)
                .map(|read| Answer::Read(Box::new(read))),
            FileRequest::List(params) => self.list(roots, params).map(Answer::List),
            FileRequest::Resolve(params) => self
                .resolve(roots, params)
                .map(|found| Answer::Resolve(Box::new(found))),
            FileRequest::Write(params) => self.write(roots, params).map(|()| Answer::Empty),
            FileRequest::Copy(params) => self.copy(roots, params).map(|()| Answer::Empty),
            FileRequest::Delete(params) => self.delete(roots, params).map(|()| Answer::Empty),
            FileRequest::Move(params) => self.r#move(roots, params).map(|()| Answer::Empty),
            FileRequest::MakeDirectory(params) => {
                self.make_directory(roots, params).map(|()| Answer::Empty)
            }
        };
        done.map_err(Failure::from)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let words = error.to_string();
        match error {
            FileError::Denied { uri, access } => Failure::NotGranted { uri, access },
            FileError::Forbidden(uri) => Failure::Forbidden(uri),
            FileError::Fixed(uri) => Failure::Fixed(uri),
            FileError::NotFound(uri) => Failure::UnknownChannel(uri),
            FileError::Exists(uri) => Failure::FileExists(uri),
            FileError::Changed(uri) => Failure::FileChanged(uri),
            FileError::Elsewhere(_)
            | FileError::Kind { .. }
            | FileError::NotEmpty(_)
            | FileError::TooLarge { .. }
            | FileError::Invalid(_) => Failure::InvalidParams(words),
            FileError::Failed { .. } => Failure::Failed(words),
        }
    }
}

impl FileError {
    /// What the system said about a file.
    pub(crate) fn from_io(uri: &Uri, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let uri = uri.clone();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::NotFound(uri),
            ErrorKind::AlreadyExists => FileError::Exists(uri),
            ErrorKind::DirectoryNotEmpty => FileError::NotEmpty(uri),
            ErrorKind::IsADirectory => FileError::Kind {
                uri,
                found: "a directory",
                expected: "a file",
            },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                FileError::Forbidden(uri)
            }
            kind => FileError::Failed {
                uri,
                problem: kind.to_string(),
            },
        }
    }
}
