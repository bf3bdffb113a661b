//! Directories that are in use, and databases that can't be read.

use std::os::unix::fs::PermissionsExt;

use agenthost_store::{Durability, Store, StoreError};

use crate::driver::Driver;

#[test]
fn a_second_host_is_told_who_has_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let first = Driver::ready(directory.path());
    let error = Store::open(directory.path(), Durability::Process).unwrap_err();
    let expected = format!(
        "data directory `{}` is in use by process {}",
        directory.path().display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    drop(first);
    assert!(Store::open(directory.path(), Durability::Power).is_ok());
}

#[test]
fn the_directory_is_private() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    drop(Store::open(&directory, Durability::Process).unwrap());
    let mode = directory.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Never a silent fresh start: the data is set aside, and left where it is.
#[test]
fn a_damaged_database_is_set_aside_and_said_so() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let garbage = b"this is not a database, and never was one".repeat(100);
    std::fs::write(&database, &garbage).unwrap();
    for attempt in 1..=2 {
        let error = Store::open(directory.path(), Durability::Process).unwrap_err();
        let StoreError::Damaged { copy, .. } = &error else {
            panic!("expected damage: {error}");
        };
        assert!(
            copy.ends_with(format!("agenthost.db.damaged-{attempt}")),
            "{copy:?}"
        );
        assert_eq!(std::fs::read(copy).unwrap(), garbage);
        assert_eq!(std::fs::read(&database).unwrap(), garbage);
        assert!(error.to_string().contains("hint: a copy is at"), "{error}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Store::open(directory.path(), Durability::Process).unwrap_err();
    assert_eq!(
        error.to_string(),
        "database has version 99, and this version reads up to 2: use a newer agenthost"
    );
}

#[test]
fn a_row_that_can_not_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute("UPDATE sessions SET summary = '{\"provider\": 42}'", [])
        .unwrap();
    drop(connection);
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    assert_eq!(
        store.remembered().unwrap_err().to_string(),
        "the summary of ahp-session:/s1 in the log can't be read: provider: expected a string, found 42"
    );
}
