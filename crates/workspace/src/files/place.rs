//! Where a file is: a directory that was granted, and a path from there.

use std::path::{Component, Path, PathBuf};

use agenthost_core::{Access, Root};
use agenthost_protocol::uri::Uri;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};

use super::FileError;
use crate::address::{path_of, uri_of};

/// Opening a pipe must not wait for somebody at the other end.
const NONBLOCK: i32 = 0o4000;

/// A file in a directory that was granted.
pub(super) struct Place {
    pub(super) uri: Uri,
    pub(super) dir: Dir,
    /// From the directory; empty for the directory itself.
    pub(super) path: PathBuf,
    /// Where the directory is, as it was granted.
    root: PathBuf,
}

impl Place {
    /// Finds the granted directory that a URI is in.
    pub(super) fn find(roots: &[Root], uri: &Uri, access: Access) -> Result<Self, FileError> {
        let path = path_of(uri).ok_or_else(|| FileError::Elsewhere(uri.clone()))?;
        let denied = || FileError::Denied {
            uri: uri.clone(),
            access,
        };
        let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.components().all(plain) {
            return Err(denied());
        }
        let granted = roots.iter().filter(|root| root.access >= access);
        let granted: Vec<_> = granted.filter_map(|root| path_of(&root.uri)).collect();
        // By the name that was granted, or else by the one that it really has.
        let real = granted
            .iter()
            .filter_map(|root| std::fs::canonicalize(root).ok());
        let mut all = granted.iter().cloned().chain(real);
        match all.find(|root| path.starts_with(root)) {
            Some(root) => {
                let inside = path.strip_prefix(&root).unwrap_or(&path);
                Self::open(uri, &root, inside)
            }
            None => Err(denied()),
        }
    }

    /// A granted file stands for itself, in the directory that it is in.
    fn open(uri: &Uri, root: &Path, inside: &Path) -> Result<Self, FileError> {
        let failed = |error: std::io::Error| FileError::from_io(uri, &error);
        let (root, path) = match (root.is_dir(), root.parent(), root.file_name()) {
            (false, Some(parent), Some(name)) if inside.as_os_str().is_empty() => {
                (parent.to_owned(), PathBuf::from(name))
            }
            _ => (root.to_owned(), inside.to_owned()),
        };
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(Place {
            uri: uri.clone(),
            dir,
            path,
            root,
        })
    }

    /// What the system said about it. A path that leads out of the directory
    /// is one that was not granted.
    pub(super) fn failed(&self, access: Access, error: &std::io::Error) -> FileError {
        let left =
            error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        // The system's word for a path that leaves a directory.
        let crossed = error.raw_os_error() == Some(18);
        if left || crossed {
            let uri = self.uri.clone();
            return FileError::Denied { uri, access };
        }
        FileError::from_io(&self.uri, error)
    }

    /// The path to ask the directory for.
    pub(super) fn target(&self) -> &Path {
        if self.path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.path
        }
    }

    /// Opens a file to read, if it is one: asked of what was opened.
    pub(super) fn open_file(&self) -> Result<(File, Metadata), FileError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCK);
        let file = self.dir.open_with(self.target(), &options);
        let file = file.map_err(|error| self.failed(Access::Read, &error))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| self.failed(Access::Read, &error))?;
        self.expect_file(&metadata)?;
        Ok((file, metadata))
    }

    pub(super) fn expect_file(&self, metadata: &Metadata) -> Result<(), FileError> {
        if metadata.is_file() {
            return Ok(());
        }
        Err(FileError::Kind {
            uri: self.uri.clone(),
            found: kind(metadata),
            expected: "a file",
        })
    }

    /// Where a path from the directory really is.
    pub(super) fn real(&self, path: &Path) -> std::io::Result<PathBuf> {
        let root = std::fs::canonicalize(&self.root)?;
        let path = path.strip_prefix(".").unwrap_or(path);
        Ok(match path.as_os_str().is_empty() {
            true => root,
            false => root.join(path),
        })
    }

    /// Where a path from the directory is.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Uri> {
        uri_of(&self.root.join(path))
    }
}

/// What something is, in words.
pub(super) fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a directory"
    } else if metadata.is_symlink() {
        "a link"
    } else if metadata.is_file() {
        "a file"
    } else {
        "a device, a pipe or a socket"
    }
}

/// Changes whenever the content does.
pub(super) fn etag(metadata: &Metadata) -> String {
    format!(
        "{}-{}-{}.{:09}",
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec()
    )
}
