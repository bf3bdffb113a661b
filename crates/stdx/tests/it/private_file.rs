use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use agenthost_stdx::private_file::{
    InsecureFile, create_directory, open_append, read_to_string, replace,
};

use crate::give_away;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn make_fifo(path: &Path) {
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
    nix::unistd::mkfifo(path, mode).unwrap();
}

fn refusal<T>(result: io::Result<T>) -> InsecureFile {
    let Err(error) = result else {
        panic!("it was not refused");
    };
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    let reason = error.get_ref().and_then(|reason| reason.downcast_ref());
    let reason: Option<&InsecureFile> = reason;
    reason.unwrap_or_else(|| panic!("{error}")).clone()
}

const NOT_A_FILE: InsecureFile = InsecureFile::Kind {
    expected: "a regular file",
};

#[test]
fn a_planted_link_is_replaced_and_its_target_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (target, victim) = (folder.path().join("ready"), folder.path().join("victim"));
    fs::write(&victim, "victim").unwrap();
    symlink(&victim, &target).unwrap();
    replace(&target, b"secret").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
    assert!(target.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
    assert_eq!(mode(&target), 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Another user who keeps the file open, or has it under another name, does not
/// see what is written later.
#[test]
fn a_file_that_others_can_read_is_replaced_not_reused() {
    let folder = tempfile::tempdir().unwrap();
    let (target, kept) = (folder.path().join("ready"), folder.path().join("kept"));
    fs::write(&target, "old").unwrap();
    chmod(&target, 0o666);
    give_away(&target);
    fs::hard_link(&target, &kept).unwrap();
    replace(&target, b"secret").unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "old");
    assert_eq!(mode(&target), 0o600);
    let user = nix::unistd::Uid::effective().as_raw();
    assert_eq!(fs::metadata(&target).unwrap().uid(), user);
}

#[test]
fn a_fifo_neither_blocks_nor_receives_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    make_fifo(&fifo);
    assert_eq!(refusal(open_append(&fifo)), NOT_A_FILE);
    assert_eq!(refusal(read_to_string(&fifo)), NOT_A_FILE);
    replace(&fifo, b"secret").unwrap();
    assert!(fifo.symlink_metadata().unwrap().is_file());
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("directory");
    fs::create_dir(&target).unwrap();
    replace(&target, b"secret").unwrap_err();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn only_a_private_regular_file_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    open_append(&log).unwrap().write_all(b"1").unwrap();
    open_append(&log).unwrap().write_all(b"2").unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "12");
    assert_eq!(mode(&log), 0o600);

    let link = folder.path().join("link");
    symlink(&log, &link).unwrap();
    assert_eq!(refusal(open_append(&link)), NOT_A_FILE);
    let dangling = folder.path().join("dangling");
    symlink(folder.path().join("new"), &dangling).unwrap();
    assert_eq!(refusal(open_append(&dangling)), NOT_A_FILE);
    assert!(!folder.path().join("new").exists());

    fs::hard_link(&log, folder.path().join("second")).unwrap();
    let links = InsecureFile::Links { links: 2 };
    assert_eq!(refusal(open_append(&log)), links);
    fs::remove_file(folder.path().join("second")).unwrap();

    for shared in [0o640, 0o604, 0o620, 0o666] {
        chmod(&log, shared);
        let wanted = 0o600;
        let reason = InsecureFile::Mode {
            mode: shared,
            wanted,
        };
        assert_eq!(refusal(open_append(&log)), reason);
        assert_eq!(refusal(read_to_string(&log)), reason);
    }
    assert_eq!(fs::read_to_string(&log).unwrap(), "12");
}

#[test]
fn a_file_of_another_user_is_neither_read_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    fs::write(&log, "theirs").unwrap();
    chmod(&log, 0o600);
    if !give_away(&log) {
        return;
    }
    let (owner, user) = (65_534, 0);
    let reason = InsecureFile::Owner { owner, user };
    assert_eq!(refusal(open_append(&log)), reason);
    assert_eq!(refusal(read_to_string(&log)), reason);
}

#[test]
fn a_directory_is_private_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("deep/data");
    create_directory(&data).unwrap();
    assert_eq!(mode(&data), 0o700);
    chmod(&data, 0o755);
    create_directory(&data).unwrap();
    assert_eq!(mode(&data), 0o700, "its owner alone decides who reads it");
    for shared in [0o777, 0o770, 0o702] {
        chmod(&data, shared);
        let wanted = 0o700;
        let reason = InsecureFile::Mode {
            mode: shared,
            wanted,
        };
        assert_eq!(refusal(create_directory(&data)), reason);
    }
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, link) = (folder.path().join("data"), folder.path().join("link"));
    create_directory(&data).unwrap();
    symlink(&data, &link).unwrap();
    create_directory(&link).unwrap();
    if !give_away(&link) {
        return;
    }
    let (owner, user) = (65_534, 0);
    let reason = InsecureFile::Owner { owner, user };
    assert_eq!(refusal(create_directory(&link)), reason, "a planted link");
    assert!(give_away(&data));
    assert_eq!(refusal(create_directory(&data)), reason);
}
