use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};

use agenthost_stdx::private_socket::bind;

use crate::give_away;

#[test]
fn a_socket_is_private_and_removed_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (listener, file) = bind(&path).unwrap();
    let metadata = path.symlink_metadata().unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let _client = UnixStream::connect(&path).unwrap();
    listener.accept().unwrap();
    let second = bind(&path).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    drop(file);
    assert!(!path.exists());
}

#[test]
fn a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    let (_listener, _file) = bind(&path).unwrap();
    UnixStream::connect(&path).unwrap();
}

#[test]
fn only_an_own_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "victim").unwrap();
    let stale = folder.path().join("stale");
    drop(UnixListener::bind(&stale).unwrap());
    let link = folder.path().join("link");
    for target in [&victim, &stale] {
        symlink(target, &link).unwrap();
        let refused = bind(&link).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        fs::remove_file(&link).unwrap();
    }
    let refused = bind(&victim).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
    if give_away(&stale) {
        let refused = bind(&stale).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
    assert!(stale.symlink_metadata().unwrap().file_type().is_socket());
}

#[test]
fn a_file_that_took_the_place_of_the_socket_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (_listener, file) = bind(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "other").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
}
