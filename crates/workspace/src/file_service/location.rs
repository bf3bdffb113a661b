//! Resolves a URI to a granted directory and a path relative to it.

use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::uri::Uri;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};

use super::FileError;
use crate::file_uri::{path_of, uri_of};
use crate::protected_paths::ProtectedPaths;

/// `O_NONBLOCK`: opening a pipe must not wait for its other end.
const NONBLOCK: i32 = 0o4000;

/// A path within a granted directory.
pub(super) struct GrantedPath {
    pub(super) uri: Uri,
    pub(super) dir: Dir,
    /// Relative to the directory; empty for the directory itself.
    pub(super) path: PathBuf,
    /// Path of the directory as it was granted.
    root: PathBuf,
    protected: ProtectedPaths,
}

impl GrantedPath {
    /// Finds the granted directory that contains a URI.
    pub(super) fn resolve(
        roots: &[GrantedRoot],
        protected: &ProtectedPaths,
        uri: &Uri,
        access: FileAccess,
    ) -> Result<Self, FileError> {
        let path = path_of(uri).ok_or_else(|| FileError::NotLocal(uri.clone()))?;
        let denied = || FileError::NotGranted {
            uri: uri.clone(),
            access,
        };
        let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.components().all(plain) {
            return Err(denied());
        }
        let granted = roots.iter().filter(|root| root.access >= access);
        let granted: Vec<_> = granted.filter_map(|root| path_of(&root.uri)).collect();
        // The path may begin with the granted name of the root or with its real path.
        let real = granted
            .iter()
            .filter_map(|root| std::fs::canonicalize(root).ok());
        let mut all = granted.iter().cloned().chain(real);
        let Some(root) = all.find(|root| path.starts_with(root)) else {
            return Err(denied());
        };
        let inside = path.strip_prefix(&root).unwrap_or(&path);
        let granted_path = GrantedPath {
            protected: protected.clone(),
            ..Self::open(uri, &root, inside)?
        };
        if granted_path.is_protected() {
            Err(denied())
        } else {
            Ok(granted_path)
        }
    }

    /// Returns `true` if the path is protected, by its real path as far as it exists. A link to
    /// a protected path counts, too.
    fn is_protected(&self) -> bool {
        if self.protected.is_empty() {
            return false;
        }
        let named = self.real_path(&self.path);
        let named = named.is_ok_and(|path| self.protected.contains(&path));
        // A path that leads out of the directory is denied when it is opened.
        let known = self.target().ancestors().find_map(|known| {
            let real = self.dir.canonicalize(known).ok()?;
            let rest = self.target().strip_prefix(known).unwrap_or(Path::new(""));
            self.real_path(&real.join(rest)).ok()
        });
        named || known.is_some_and(|path| self.protected.contains(&path))
    }

    /// Returns `true` if a path relative to the directory is protected.
    pub(super) fn protects(&self, path: &Path) -> bool {
        let real = self.dir.canonicalize(path);
        let real = real.and_then(|real| self.real_path(&real));
        real.is_ok_and(|path| self.protected.contains(&path))
    }

    /// Denies moving or deleting a directory that contains protected paths.
    pub(super) fn check_movable(&self) -> Result<(), FileError> {
        if self.protected.is_empty() {
            return Ok(());
        }
        let denied = || FileError::NotGranted {
            uri: self.uri.clone(),
            access: FileAccess::Write,
        };
        // Move and delete affect the link itself, so only its parent is resolved.
        let (folder, name) = (self.path.parent(), self.path.file_name());
        let (Some(folder), Some(name)) = (folder, name) else {
            return Err(denied());
        };
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let failed = |error: std::io::Error| self.to_file_error(FileAccess::Write, &error);
        let folder = self.dir.canonicalize(folder).map_err(failed)?;
        let path = self.real_path(&folder).map_err(failed)?.join(name);
        if self.protected.touches(&path) {
            Err(denied())
        } else {
            Ok(())
        }
    }

    /// Opens the directory handle. A granted file is opened through its parent directory.
    fn open(uri: &Uri, root: &Path, inside: &Path) -> Result<Self, FileError> {
        let failed = |error: std::io::Error| FileError::from_io(uri, &error);
        let (root, path) = match (root.is_dir(), root.parent(), root.file_name()) {
            (false, Some(parent), Some(name)) if inside.as_os_str().is_empty() => {
                (parent.to_owned(), PathBuf::from(name))
            }
            _ => (root.to_owned(), inside.to_owned()),
        };
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(GrantedPath {
            uri: uri.clone(),
            dir,
            path,
            root,
            protected: ProtectedPaths::default(),
        })
    }

    /// Converts an I/O error. A path that leads out of the directory is not granted.
    pub(super) fn to_file_error(&self, access: FileAccess, error: &std::io::Error) -> FileError {
        let left =
            error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        // `EXDEV`, the error of `openat2` for a path that leaves the directory.
        let crossed = error.raw_os_error() == Some(18);
        if left || crossed {
            let uri = self.uri.clone();
            return FileError::NotGranted { uri, access };
        }
        FileError::from_io(&self.uri, error)
    }

    /// Returns the path for calls on the directory handle.
    pub(super) fn target(&self) -> &Path {
        if self.path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.path
        }
    }

    /// Opens a file for reading. Fails if the open file is not a regular one.
    pub(super) fn open_file(&self) -> Result<(File, Metadata), FileError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCK);
        let file = self.dir.open_with(self.target(), &options);
        let file = file.map_err(|error| self.to_file_error(FileAccess::Read, &error))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| self.to_file_error(FileAccess::Read, &error))?;
        self.check_is_file(&metadata)?;
        self.check_opened(&file)?;
        Ok((file, metadata))
    }

    /// Checks the real path of an open file, because a link may have replaced the file since
    /// its path was checked.
    fn check_opened(&self, file: &File) -> Result<(), FileError> {
        if self.protected.is_empty() {
            return Ok(());
        }
        let opened = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        match opened.is_ok_and(|path| self.protected.contains(&path)) {
            true => Err(FileError::NotGranted {
                uri: self.uri.clone(),
                access: FileAccess::Read,
            }),
            false => Ok(()),
        }
    }

    pub(super) fn check_is_file(&self, metadata: &Metadata) -> Result<(), FileError> {
        if metadata.is_file() {
            return Ok(());
        }
        Err(FileError::WrongKind {
            uri: self.uri.clone(),
            found: describe_kind(metadata),
            expected: "a file",
        })
    }

    /// Returns the real path of a path relative to the directory.
    pub(super) fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let root = std::fs::canonicalize(&self.root)?;
        let path = path.strip_prefix(".").unwrap_or(path);
        Ok(if path.as_os_str().is_empty() {
            root
        } else {
            root.join(path)
        })
    }

    /// Returns the URI of a path relative to the directory.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Uri> {
        uri_of(&self.root.join(path))
    }
}

/// Returns the file type as text for an error.
pub(super) fn describe_kind(metadata: &Metadata) -> &'static str {
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

/// Returns a tag that changes with the inode, the size or the modification time.
pub(super) fn etag(metadata: &Metadata) -> String {
    format!(
        "{}-{}-{}.{:09}",
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec()
    )
}
