//! Temporary directories that are removed even if their process is killed.
//!
//! [`tempfile`] removes a directory when its owner is dropped, which does not happen in a
//! killed process. A [`ScratchSpace`] creates all of them below one directory, and the next
//! process that uses this directory empties it first.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::private_file::{check_owner, create_directory};
use crate::result::IgnoreMissing;

/// Prefix of the names of temporary directories.
const DIRECTORY_PREFIX: &str = "agenthost-";

/// Maximum length of the path of a directory for sockets, in bytes. The path of a socket
/// has at most 107 bytes, and the rest is for the name of the socket.
const MAX_SOCKET_DIRECTORY_BYTES: usize = 90;

/// Creates temporary directories with mode 0700. By default they are in the temporary
/// directory of the system, which is not swept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScratchSpace {
    root: Option<Arc<Path>>,
}

/// A temporary directory that is removed when this value is dropped.
#[derive(Debug)]
pub struct ScratchDirectory {
    directory: TempDir,
    /// A symbolic link in the scratch root to a directory elsewhere, so that the next
    /// process can remove it.
    link: Option<PathBuf>,
}

impl ScratchSpace {
    /// Uses `root` for temporary directories, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// If the directory cannot be created, or if other users can write to it.
    pub fn in_directory(root: &Path) -> io::Result<Self> {
        create_directory(root)?;
        let root = Some(root.into());
        Ok(ScratchSpace { root })
    }

    /// Removes all directories of earlier processes. The caller makes sure that no other
    /// process uses the scratch root at the same time.
    ///
    /// # Errors
    ///
    /// The first error, if an entry could not be removed. The other entries are removed all
    /// the same.
    pub fn sweep(&self) -> io::Result<()> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        let mut result = Ok(());
        for entry in root.read_dir()? {
            let removed = entry.and_then(|entry| remove_entry(&entry.path()));
            result = result.and(removed);
        }
        result
    }

    /// Creates a temporary directory.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn create_directory(&self) -> io::Result<ScratchDirectory> {
        let directory = match &self.root {
            Some(root) => directory_builder().tempdir_in(root)?,
            None => directory_builder().tempdir()?,
        };
        let link = None;
        Ok(ScratchDirectory { directory, link })
    }

    /// Creates a temporary directory whose path is short enough for sockets. If the scratch
    /// root is too long for that, the directory is in the temporary directory of the
    /// system.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn create_socket_directory(&self) -> io::Result<ScratchDirectory> {
        let made = self.create_directory()?;
        let length = made.path().as_os_str().len();
        if self.root.is_none() || length <= MAX_SOCKET_DIRECTORY_BYTES {
            return Ok(made);
        }
        let directory = directory_builder().tempdir()?;
        let link = made.path().with_extension("link");
        symlink(directory.path(), &link)?;
        let link = Some(link);
        Ok(ScratchDirectory { directory, link })
    }
}

impl ScratchDirectory {
    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            // If this fails, the sweep of the next process removes the link.
            std::fs::remove_file(link)
                .ignore_missing("failed to remove the link of a temporary directory");
        }
    }
}

fn directory_builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(DIRECTORY_PREFIX)
        .permissions(Permissions::from_mode(0o700));
    builder
}

fn remove_entry(path: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        return std::fs::remove_dir_all(path);
    }
    if metadata.is_symlink() {
        remove_linked(&std::fs::read_link(path)?)?;
    }
    std::fs::remove_file(path)
}

/// Removes a linked directory, if it is still the one that was created. Another user may
/// have created a directory with the same name since.
fn remove_linked(directory: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(directory) else {
        return Ok(());
    };
    let name = directory.file_name().and_then(|name| name.to_str());
    let ours = name.is_some_and(|name| name.starts_with(DIRECTORY_PREFIX))
        && metadata.is_dir()
        && check_owner(&metadata).is_ok();
    if ours {
        std::fs::remove_dir_all(directory)
    } else {
        Ok(())
    }
}
