//! File access for clients and agents.
//!
//! Every path is resolved relative to a granted directory and opened from its handle, component
//! by component. Neither `..` nor a symbolic link leads out of it, not even a link that is
//! created between a check and the open call (SEC-2). The type of a file is determined from the
//! open file.

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

/// Maximum size of a file that is read or written in one message.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// File access with a lock that serializes all writes, so that two writes to the same file do
/// not interleave (RES-4).
#[derive(Debug, Default)]
pub struct FileService {
    write_lock: Mutex<()>,
    protected: ProtectedPaths,
}

/// Returns the real path and the metadata of a file, if access is granted.
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

/// The error of a file request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The URI is not a file on this machine.
    #[error("`{0}` is not a file on this machine")]
    NotLocal(Uri),
    /// The file is outside of the granted directories.
    #[error("`{uri}` is outside of the granted folders")]
    NotGranted {
        /// URI of the requested file.
        uri: Uri,
        /// Access that the request needs.
        access: FileAccess,
    },
    /// The system denies access.
    #[error("the system denies access to `{0}`")]
    Forbidden(Uri),
    /// The URI is stored content, which can't be changed.
    #[error("`{0}` is stored content, which is read-only")]
    Immutable(Uri),
    /// The file does not exist.
    #[error("`{0}` does not exist")]
    NotFound(Uri),
    /// The file exists already.
    #[error("`{0}` already exists")]
    Exists(Uri),
    /// The file was changed after the client read it.
    #[error("`{0}` has changed in the meantime")]
    Changed(Uri),
    /// The file has another type than required.
    #[error("`{uri}` is {found}, not {expected}")]
    WrongKind {
        /// URI of the requested file.
        uri: Uri,
        /// The type that it has.
        found: &'static str,
        /// The type that is required.
        expected: &'static str,
    },
    /// The directory is not empty.
    #[error("`{0}` is not empty")]
    NotEmpty(Uri),
    /// The file exceeds [`MAX_FILE_BYTES`].
    #[error("`{uri}` has {size} bytes; at most {MAX_FILE_BYTES} can be read or written")]
    TooLarge {
        /// URI of the requested file.
        uri: Uri,
        /// Its current or future size.
        size: u64,
    },
    /// The parameters are invalid.
    #[error("{0}")]
    Invalid(String),
    /// The system returned another error.
    #[error("`{uri}`: {problem}")]
    Failed {
        /// URI of the requested file.
        uri: Uri,
        /// Error message of the system.
        problem: String,
    },
}

impl FileService {
    /// Denies access to paths, whatever roots are granted.
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

    /// Executes a file request within the granted roots. Blocks on disk I/O.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted or the request fails.
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
    /// Converts an I/O error for a file.
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
