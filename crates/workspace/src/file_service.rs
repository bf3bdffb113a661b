//! Files that clients and agents read and change.
//!
//! Every path is taken relative to a directory that was granted, and opened
//! from there step by step: neither `..` nor a symbolic link leads out, also
//! not one that is put there between a check and the opening (SEC-2). What a
//! file is, is asked of the open file.

pub(crate) mod location;
mod manage;
mod read;
mod write;

use std::path::PathBuf;
use std::sync::Mutex;

use agenthost_core::{FileAccess, FileRequest, GrantedRoot, RequestFailure, ResponseBody};
use agenthost_protocol::uri::Uri;

use crate::protected_paths::ProtectedPaths;
use location::GrantedPath;
pub(crate) use read::encode_content;

/// Largest file that is read or written in one piece.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Access to files. One for all who write, so that what two of them write to
/// the same file is written one after the other (RES-4).
#[derive(Debug, Default)]
pub struct FileService {
    write_lock: Mutex<()>,
    protected: ProtectedPaths,
}

/// Where a file really is, and what it is, if it may be used.
pub(crate) fn resolve_granted_path(
    roots: &[GrantedRoot],
    protected: &ProtectedPaths,
    uri: &Uri,
    access: FileAccess,
) -> Result<(PathBuf, cap_std::fs::Metadata), FileError> {
    let granted_path = GrantedPath::resolve(roots, protected, uri, access)?;
    let failed = |error: std::io::Error| granted_path.to_file_error(access, &error);
    let metadata = granted_path
        .dir
        .metadata(granted_path.target())
        .map_err(failed)?;
    let inside = granted_path
        .dir
        .canonicalize(granted_path.target())
        .map_err(failed)?;
    let path = granted_path.real_path(&inside).map_err(failed)?;
    Ok((path, metadata))
}

/// Why something could not be done with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is nothing on this machine.
    #[error("`{0}` is not a file on this machine")]
    NotLocal(Uri),
    /// It is outside of what was granted.
    #[error("`{uri}` is outside of the folders that may be used here")]
    NotGranted {
        /// The file.
        uri: Uri,
        /// What was wanted.
        access: FileAccess,
    },
    /// The system does not let us.
    #[error("the system denies access to `{0}`")]
    Forbidden(Uri),
    /// The host keeps it as it is.
    #[error("`{0}` is content that the host keeps as it is")]
    Immutable(Uri),
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
    WrongKind {
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
    #[error("`{uri}` has {size} bytes; at most {MAX_FILE_BYTES} are handled in one piece")]
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

impl FileService {
    /// Refuses some paths, whatever is granted.
    #[must_use]
    pub fn with_protected_paths(self, protected: ProtectedPaths) -> Self {
        FileService { protected, ..self }
    }

    fn granted_path(
        &self,
        roots: &[GrantedRoot],
        uri: &Uri,
        access: FileAccess,
    ) -> Result<GrantedPath, FileError> {
        GrantedPath::resolve(roots, &self.protected, uri, access)
    }

    /// Does something with files, where it may be done. Waits for the disk.
    ///
    /// # Errors
    ///
    /// Why it could not be done.
    pub fn execute(
        &self,
        roots: &[GrantedRoot],
        request: &FileRequest,
    ) -> Result<ResponseBody, RequestFailure> {
        let done = match request {
            FileRequest::Read(params) => self
                .read(roots, params)
                .map(|read| ResponseBody::ResourceRead(Box::new(read))),
            FileRequest::List(params) => self.list(roots, params).map(ResponseBody::ResourceList),
            FileRequest::Resolve(params) => self
                .resolve(roots, params)
                .map(|found| ResponseBody::ResourceResolve(Box::new(found))),
            FileRequest::Write(params) => self.write(roots, params).map(|()| ResponseBody::Empty),
            FileRequest::Copy(params) => self.copy(roots, params).map(|()| ResponseBody::Empty),
            FileRequest::Delete(params) => self.delete(roots, params).map(|()| ResponseBody::Empty),
            FileRequest::Move(params) => self.r#move(roots, params).map(|()| ResponseBody::Empty),
            FileRequest::MakeDirectory(params) => self
                .make_directory(roots, params)
                .map(|()| ResponseBody::Empty),
        };
        done.map_err(RequestFailure::from)
    }
}

impl From<FileError> for RequestFailure {
    fn from(error: FileError) -> Self {
        let words = error.to_string();
        match error {
            FileError::NotGranted { uri, access } => RequestFailure::NotGranted { uri, access },
            FileError::Forbidden(uri) => RequestFailure::AccessDenied(uri),
            FileError::Immutable(uri) => RequestFailure::ImmutableContent(uri),
            FileError::NotFound(uri) => RequestFailure::UnknownChannel(uri),
            FileError::Exists(uri) => RequestFailure::FileExists(uri),
            FileError::Changed(uri) => RequestFailure::FileChanged(uri),
            FileError::NotLocal(_)
            | FileError::WrongKind { .. }
            | FileError::NotEmpty(_)
            | FileError::TooLarge { .. }
            | FileError::Invalid(_) => RequestFailure::InvalidParams(words),
            FileError::Failed { .. } => RequestFailure::Internal(words),
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
            ErrorKind::IsADirectory => FileError::WrongKind {
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
