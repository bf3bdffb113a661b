//! Temporary directories that are removed also if their process is killed.
//!
//! [`tempfile`] removes a directory when its owner is dropped, which a killed
//! process never does. A [`ScratchSpace`] makes all of them below one directory, and
//! the next process that uses this directory empties it first.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::private_file::{check_owner, create_directory};
use crate::result::IgnoreMissing;

/// How names of temporary directories begin.
const DIRECTORY_PREFIX: &str = "agenthost-";

/// Longest path of a directory that has a socket in it, in bytes: the path of
/// a socket has at most 107, and some are for its name.
const MAX_SOCKET_DIRECTORY_BYTES: usize = 90;

/// Makes temporary directories with mode 0700. By default they are in the
/// temporary directory of the system, where nothing empties them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScratchSpace {
    root: Option<Arc<Path>>,
}

/// A temporary directory. Dropping it removes it.
#[derive(Debug)]
pub struct ScratchDirectory {
    directory: TempDir,
    /// The link that leads the next process to a directory that is elsewhere.
    link: Option<PathBuf>,
}

impl ScratchSpace {
    /// Makes temporary directories in a directory, which is created if need
    /// be.
    ///
    /// # Errors
    ///
    /// If the directory cannot be created, or other users can write to it.
    pub fn in_directory(root: &Path) -> io::Result<Self> {
        create_directory(root)?;
        let root = Some(root.into());
        Ok(ScratchSpace { root })
    }

    /// Removes everything that earlier processes left. The caller makes sure
    /// that no other process uses the directory at the same time.
    ///
    /// # Errors
    ///
    /// The first of all, if something could not be removed. The rest is removed
    /// all the same.
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

    /// Makes a temporary directory.
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

    /// Makes a temporary directory whose path is short enough for sockets: in
    /// the temporary directory of the system if it has to be.
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
    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            // The next process removes it otherwise.
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

/// Removes a directory that is elsewhere, if it is still the one that was made.
/// Another user may have made one of the same name since.
fn remove_linked(directory: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(directory) else {
        return Ok(());
    };
    let name = directory.file_name().and_then(|name| name.to_str());
    let ours = name.is_some_and(|name| name.starts_with(DIRECTORY_PREFIX))
        && metadata.is_dir()
        && check_owner(&metadata).is_ok();
    match ours {
        true => std::fs::remove_dir_all(directory),
        false => Ok(()),
    }
}
