//! Files and directories that belong to one user, even in directories that other users can
//! write to.
//!
//! Another user of the machine may have created an entry at a path before this process
//! opens it: a symbolic link to a file of the victim, a file that the attacker keeps open,
//! or a FIFO. So no function of this module follows a symbolic link in the last component
//! of a path (except for directories, see [`create_directory`]), and none writes to a file
//! of another user. A refusal is an [`io::Error`] of the kind `PermissionDenied` that
//! carries an [`InsecureFile`].

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::Uid;

use crate::result::IgnoreResult;

/// Permission bits of the group and of other users.
const SHARED_BITS: u32 = 0o077;

/// Write permission of the group and of other users.
const SHARED_WRITE_BITS: u32 = 0o022;

/// Number of names that are tried for a temporary file. A name has 64 random bits, so even
/// the second attempt is improbable.
const MAX_NAME_ATTEMPTS: usize = 8;

/// The reason why a file or directory is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InsecureFile {
    /// The path has an entry of another kind, such as a symbolic link or a FIFO.
    #[error("it is not {expected}\nhint: remove it, or choose another path")]
    Kind {
        /// The expected kind of file.
        expected: &'static str,
    },
    /// The file belongs to another user.
    #[error(
        "it belongs to user {owner}, not to user {user}\nhint: choose a path that belongs to \
         user {user}"
    )]
    Owner {
        /// The user that it belongs to.
        owner: u32,
        /// The user that this process runs as.
        user: u32,
    },
    /// Other users have more access than they should.
    #[error("other users have access to it (mode {mode:03o})\nhint: run `chmod {wanted:o}` on it")]
    Mode {
        /// The permission bits that it has.
        mode: u32,
        /// The permission bits that it should have.
        wanted: u32,
    },
    /// The file has a second name, which may be that of another private file.
    #[error("it has {links} hard links\nhint: remove it, or choose another path")]
    Links {
        /// The number of its names.
        links: u64,
    },
}

impl From<InsecureFile> for io::Error {
    fn from(reason: InsecureFile) -> Self {
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// Writes a file with mode 0600, completely or not at all, and waits until it is on the
/// disk. An existing file at the path is replaced, not written to.
///
/// # Errors
///
/// If the file cannot be created in its directory or moved to its path.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_and_rename(path, contents, File::sync_all)
}

/// Writes a file like [`replace`], but does not wait for the disk: after a
/// power failure the file may be empty.
///
/// # Errors
///
/// If the file cannot be created in its directory or moved to its path.
pub fn replace_unsynced(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_and_rename(path, contents, |_| Ok(()))
}

/// Opens a file to append to, or creates it with mode 0600.
///
/// # Errors
///
/// If the path exists and is not a regular file of this user, if other users have access to
/// it, if it has a second name, or if the system refuses.
pub fn open_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true);
    let file = open_or_create(path, &mut options)?;
    // Another user may have created a hard link to a private file of this user.
    let links = file.metadata()?.nlink();
    if links > 1 {
        return Err(InsecureFile::Links { links }.into());
    }
    Ok(file)
}

/// Opens a file to read and write, or creates it with mode 0600.
///
/// # Errors
///
/// If the path exists and is not a regular file of this user, if other users have access to
/// it, or if the system refuses.
pub fn open_read_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    open_or_create(path, &mut options)
}

/// Reads a file that no other user can have written or read.
///
/// # Errors
///
/// If the path is not a regular file of this user, if other users have access to it, if it
/// is not UTF-8, or if the system refuses.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    let mut file = open_existing(path, &mut options)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Creates a directory with mode 0700 and its missing parents, or checks an existing one:
/// it has to belong to this user, and other users must not be able to write to it. If
/// others can read it, its mode is changed to 0700.
///
/// The path may be a symbolic link that belongs to this user or to root.
///
/// # Errors
///
/// If the directory belongs to another user, if others can write to it, or if the system
/// refuses.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let (directory, mode) = open_directory(path)?;
    if mode & SHARED_BITS != 0 {
        directory.set_permissions(Permissions::from_mode(mode & !SHARED_BITS))?;
    }
    Ok(())
}

/// Checks that a directory belongs to this user and that other users cannot write to it.
///
/// # Errors
///
/// If the directory belongs to another user, if others can write to it, or if the system
/// refuses.
pub fn check_directory(path: &Path) -> io::Result<()> {
    open_directory(path).map(drop)
}

/// Returns an error unless a file belongs to the user of this process.
pub(crate) fn check_owner(metadata: &Metadata) -> io::Result<()> {
    let user = Uid::effective().as_raw();
    if metadata.uid() != user {
        let owner = metadata.uid();
        return Err(InsecureFile::Owner { owner, user }.into());
    }
    Ok(())
}

/// Returns a path in the same directory that is hard to guess. It is short, because the
/// length of a socket's path is limited.
pub(crate) fn random_sibling(path: &Path) -> io::Result<PathBuf> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(path.with_file_name(format!(".{:x}", u64::from_ne_bytes(bytes))))
}

/// Opens and checks a directory. Returns it with its permission bits.
fn open_directory(path: &Path) -> io::Result<(File, u32)> {
    let link = std::fs::symlink_metadata(path)?;
    if link.is_symlink() && !Uid::from_raw(link.uid()).is_root() {
        check_owner(&link)?;
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlag::O_DIRECTORY.bits() | OFlag::O_NONBLOCK.bits());
    let directory = options.open(path)?;
    let metadata = directory.metadata()?;
    check_owner(&metadata)?;
    let mode = metadata.mode() & 0o777;
    if mode & SHARED_WRITE_BITS != 0 {
        return Err(InsecureFile::Mode {
            mode,
            wanted: 0o700,
        }
        .into());
    }
    Ok((directory, mode))
}

fn write_and_rename(
    path: &Path,
    contents: &[u8],
    sync: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (temporary, mut file) = create_sibling(path)?;
    let written = file
        .write_all(contents)
        .and_then(|()| sync(&file))
        .and_then(|()| std::fs::rename(&temporary, path));
    written.inspect_err(|_| {
        std::fs::remove_file(&temporary).ignore_secondary();
    })
}

fn create_sibling(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut attempts = MAX_NAME_ATTEMPTS;
    loop {
        attempts -= 1;
        let temporary = random_sibling(path)?;
        let mut options = OpenOptions::new();
        match create_new(&temporary, options.write(true)) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Creates a file with mode 0600. `O_EXCL` fails on a symbolic link, too, so none is
/// followed.
fn create_new(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options
        .create_new(true)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits());
    options.open(path)
}

fn open_or_create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match create_new(path, &mut options.clone()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_existing(path, options),
        created => created,
    }
}

/// Opens an existing file of this user. The checks apply to the open file, which cannot be
/// exchanged afterwards. `O_NONBLOCK` prevents that opening a FIFO waits for its other end.
fn open_existing(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    const EXPECTED: InsecureFile = InsecureFile::Kind {
        expected: "a regular file",
    };
    options.custom_flags(OFlag::O_NOFOLLOW.bits() | OFlag::O_NONBLOCK.bits());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) => {
            let errno = error.raw_os_error().map(Errno::from_raw);
            // `ELOOP`: a symbolic link. `ENXIO`: a FIFO without a reader, or a socket.
            // `EISDIR`: a directory.
            return Err(match errno {
                Some(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR) => EXPECTED.into(),
                _ => error,
            });
        }
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(EXPECTED.into());
    }
    check_owner(&metadata)?;
    let mode = metadata.mode() & 0o777;
    if mode & SHARED_BITS != 0 {
        return Err(InsecureFile::Mode {
            mode,
            wanted: 0o600,
        }
        .into());
    }
    Ok(file)
}
