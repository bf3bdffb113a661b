//! Space on a file system: why a write fails, and space that is kept in reserve.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};

use crate::result::IgnoreResult;

/// Number of bytes that [`find_problem`] tries to allocate. SQLite grows its files by less.
const PROBE_BYTES: u64 = 1024 * 1024;

/// Unit in which the system counts the space of a file, in bytes.
const BLOCK_BYTES: u64 = 512;

/// The reason why nothing can be written to a file system. It goes away when a user makes space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageProblem {
    /// The file system has no space left.
    #[error("the disk is full")]
    Full,
    /// The user has reached a quota of the file system.
    #[error("the disk quota is used up")]
    Quota,
    /// The file system is mounted read-only, possibly after an error of the disk.
    #[error("the file system is read-only")]
    ReadOnly,
}

impl StorageProblem {
    /// Returns how a user can solve the problem.
    pub fn hint(self) -> &'static str {
        match self {
            StorageProblem::Full | StorageProblem::Quota => "make space on its file system",
            StorageProblem::ReadOnly => "mount its file system for writing",
        }
    }

    /// Returns the problem that an error of the operating system reports, if it reports one.
    pub fn of(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::StorageFull => Some(StorageProblem::Full),
            io::ErrorKind::QuotaExceeded => Some(StorageProblem::Quota),
            io::ErrorKind::ReadOnlyFilesystem => Some(StorageProblem::ReadOnly),
            _ => None,
        }
    }
}

/// Returns the bytes that a file, or all files in a directory, use on the disk. Symbolic links are
/// not followed. What is missing, or is removed meanwhile, uses nothing.
///
/// # Errors
///
/// If a directory can't be read.
pub fn tree_bytes(path: &Path) -> io::Result<u64> {
    let Some(metadata) = allow_missing(path.symlink_metadata())? else {
        return Ok(0);
    };
    let mut bytes = metadata.blocks() * BLOCK_BYTES;
    if metadata.is_dir()
        && let Some(entries) = allow_missing(std::fs::read_dir(path))?
    {
        for entry in entries {
            bytes += tree_bytes(&entry?.path())?;
        }
    }
    Ok(bytes)
}

fn allow_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a file with mode 0600 and allocates its space on the disk. If that fails, there is
/// no file.
///
/// # Errors
///
/// If the file exists, if there is no space for it, or if the system refuses.
pub fn allocate_file(path: &Path, bytes: u64) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let file = options.open(path)?;
    allocate(&file, bytes).inspect_err(|_| {
        std::fs::remove_file(path).ignore_secondary();
    })
}

/// Returns the reason why nothing can be written to a directory, if there is one. It tries to
/// allocate an unnamed file there, because only the system knows all quotas.
///
/// # Errors
///
/// If the directory can't be written for another reason.
pub fn find_problem(directory: &Path) -> io::Result<Option<StorageProblem>> {
    let probed = tempfile::tempfile_in(directory).and_then(|file| allocate(&file, PROBE_BYTES));
    match probed {
        Ok(()) => Ok(None),
        Err(error) => match StorageProblem::of(&error) {
            Some(problem) => Ok(Some(problem)),
            None => Err(error),
        },
    }
}

/// Returns `true` if the file system of a path is mounted read-only.
pub fn is_read_only(path: &Path) -> bool {
    statvfs(path).is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY))
}

/// Returns the number of bytes that this user can still write to the file system of a path,
/// without regard to quotas.
///
/// # Errors
///
/// If the path does not exist, or if the system refuses.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    let blocks = found.blocks_available() as u64;
    Ok(blocks.saturating_mul(found.fragment_size()))
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let bytes = i64::try_from(bytes).map_err(io::Error::other)?;
    Ok(nix::fcntl::posix_fallocate(file, 0, bytes)?)
}

/// Writes the file, because there is no portable call that allocates space.
#[cfg(not(target_os = "linux"))]
fn allocate(mut file: &File, bytes: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), bytes), &mut file)?;
    file.sync_all()
}
