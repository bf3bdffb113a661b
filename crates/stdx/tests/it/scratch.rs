use std::fs;
use std::mem::forget;
use std::os::unix::fs::symlink;

use agenthost_stdx::scratch::ScratchSpace;

#[test]
fn a_directory_is_removed_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchSpace::in_directory(&folder.path().join("tmp")).unwrap();
    let made = scratch.create_directory().unwrap();
    let path = made.path().to_owned();
    assert!(path.starts_with(folder.path()) && path.is_dir());
    drop(made);
    assert!(!path.exists());
}

#[test]
fn directories_of_a_killed_process_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tmp");
    let scratch = ScratchSpace::in_directory(&root).unwrap();
    let made = scratch.create_directory().unwrap();
    fs::write(made.path().join("file"), "").unwrap();
    forget(made);
    let scratch = ScratchSpace::in_directory(&root).unwrap();
    scratch.sweep().unwrap();
    assert_eq!(root.read_dir().unwrap().count(), 0);
}

#[test]
fn a_socket_directory_has_a_short_path_and_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("long".repeat(30));
    let scratch = ScratchSpace::in_directory(&root).unwrap();
    let made = scratch.create_socket_directory().unwrap();
    let path = made.path().to_owned();
    assert!(path.as_os_str().len() < 90, "{}", path.display());
    drop(made);
    assert!(!path.exists());
    assert_eq!(root.read_dir().unwrap().count(), 0);

    let left = scratch.create_socket_directory().unwrap();
    let path = left.path().to_owned();
    forget(left);
    scratch.sweep().unwrap();
    assert!(!path.exists());
    assert_eq!(root.read_dir().unwrap().count(), 0);
}

#[test]
fn sweeping_follows_no_link_to_other_directories() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tmp");
    let scratch = ScratchSpace::in_directory(&root).unwrap();
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    symlink(&other, root.join("link")).unwrap();
    scratch.sweep().unwrap();
    assert!(other.is_dir());
    assert_eq!(root.read_dir().unwrap().count(), 0);
}
