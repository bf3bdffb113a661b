//! Unix sockets that only the user of this process can connect to.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::private_file::{InsecureFile, check_owner, random_sibling};
use crate::result::IgnoreMissing;

/// The file of a socket. Dropping it removes the file, unless its path has been taken by
/// another file.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

/// Listens at a path, on a socket that has mode 0600 from the start. A socket of this user
/// that no process listens on is replaced.
///
/// # Errors
///
/// If another process listens there (`AddrInUse`), if the path has an entry other than a
/// socket of this user, or if the system refuses.
pub fn bind(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    remove_stale(path)?;
    // Other users cannot search this directory, so no other user connects before the
    // permissions are set. Creating it fails if its name exists.
    let directory = random_sibling(path)?;
    DirBuilder::new().mode(0o700).create(&directory)?;
    let bound = bind_inside(&directory, path);
    let removed = std::fs::remove_dir_all(&directory);
    let bound = bound?;
    removed?;
    Ok(bound)
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| file_identity(&found) == self.identity) {
            std::fs::remove_file(&self.path).ignore_missing("failed to remove a socket");
        }
    }
}

fn bind_inside(directory: &Path, path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let inside = directory.join("s");
    let listener = UnixListener::bind(&inside)?;
    std::fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
    let identity = file_identity(&std::fs::symlink_metadata(&inside)?);
    // Unlike a rename, a link never replaces an existing file.
    std::fs::hard_link(&inside, path)?;
    let path = path.to_owned();
    Ok((listener, SocketFile { path, identity }))
}

/// Removes a socket that a process of this user left behind.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        let expected = "a socket";
        return Err(InsecureFile::Kind { expected }.into());
    }
    check_owner(&found)?;
    match UnixStream::connect(path) {
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}

fn file_identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
