//! Tests for directories that are in use, and databases that can't be read.

use std::os::unix::fs::PermissionsExt;

use agenthost_store::{Durability, Store, StoreError};

use crate::driver::Driver;

#[test]
fn a_directory_in_use_is_an_error_with_the_process_id() {
    let directory = tempfile::tempdir().unwrap();
    let first = Driver::ready(directory.path());
    let error = Store::open(directory.path(), Durability::Process).unwrap_err();
    let expected = format!(
        "data directory `{}` is in use by process {}\nhint: `agenthost stop` ends that host; \
         `agenthost attach` joins its sessions",
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

/// A new data directory is hidden from git, because it may be inside a project. A directory that
/// has other files is not: a project must not be hidden.
#[test]
fn a_new_data_directory_is_ignored_by_git() {
    let ours = tempfile::tempdir().unwrap();
    drop(Store::open(ours.path(), Durability::Process).unwrap());
    let ignored = std::fs::read_to_string(ours.path().join(".gitignore")).unwrap();
    assert_eq!(ignored, "*\n");
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("main.c"), "").unwrap();
    drop(Store::open(shared.path(), Durability::Process).unwrap());
    assert!(!shared.path().join(".gitignore").exists());
}

/// A damaged database is copied and left in place; the host never silently starts with a new one.
#[test]
fn a_damaged_database_is_copied_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let garbage = b"this is not a database, and never was one".repeat(100);
    std::fs::write(&database, &garbage).unwrap();
    // Only the first attempt makes a copy, so that repeated attempts do not fill the disk.
    for _ in 1..=2 {
        let error = Store::open(directory.path(), Durability::Process).unwrap_err();
        let StoreError::Damaged { copy, .. } = &error else {
            panic!("expected damage: {error}");
        };
        assert!(copy.ends_with("agenthost.db.damaged-1"), "{copy:?}");
        assert_eq!(std::fs::read(copy).unwrap(), garbage);
        assert_eq!(std::fs::read(&database).unwrap(), garbage);
        assert!(error.to_string().contains("hint: a copy is at"), "{error}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_rejected_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Store::open(directory.path(), Durability::Process).unwrap_err();
    assert_eq!(
        error.to_string(),
        "database version 99 is too new: this agenthost reads up to version 9\n\
         hint: use a newer agenthost"
    );
}

/// A row that can't be read is reported, and the rest is loaded.
#[test]
fn an_unreadable_row_is_reported_by_name() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute("UPDATE sessions SET summary = '{\"provider\": 42}'", [])
        .unwrap();
    connection
        .execute(
            "UPDATE channels SET state = '{}' WHERE channel <> 'ahp-root://'",
            [],
        )
        .unwrap();
    drop(connection);
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    let remembered = store.load_host().unwrap();
    assert_eq!(
        remembered.unreadable,
        [
            "the summary of ahp-session:/s1 in the log can't be read: provider: expected a string, found 42"
        ]
    );
    assert_eq!(remembered.clients.len(), 1);
    let lost = store.load(&crate::driver::session(), agenthost_core::LoadExtent::Tail);
    assert!(matches!(lost, Err(StoreError::Unreadable { .. })));
}

/// Pages that are overwritten are detected when they are read, not before.
#[test]
fn damaged_pages_are_detected_when_they_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    for turn in 0..200 {
        driver.start_turn(&format!("t{turn}"));
        driver.agent(agenthost_core::agent::AgentEvent::TurnEnded {
            chat: crate::driver::chat(),
            turn: format!("t{turn}").into(),
            error: None,
        });
    }
    drop(driver);
    let database = directory.path().join("agenthost.db");
    let mut bytes = std::fs::read(&database).unwrap();
    for byte in bytes.iter_mut().skip(4096) {
        *byte = 0xa5;
    }
    std::fs::write(&database, bytes).unwrap();
    let opened = Store::open(directory.path(), Durability::Process);
    let error = match opened {
        Ok(mut store) => store.load_host().unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(directory.path().join("agenthost.db.damaged-1").exists());
}

/// A missing database is an error; the host never silently starts with a new one.
#[test]
fn a_missing_database_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    drop(Driver::ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let mode = database.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&database, "").unwrap();
    for _ in 0..2 {
        let error = Store::open(directory.path(), Durability::Process).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        drop(std::fs::remove_file(&database));
    }
    std::fs::remove_file(directory.path().join("agenthost.made")).unwrap();
    drop(Store::open(directory.path(), Durability::Process).unwrap());
}

/// SQLite's write-ahead log is checkpointed, so that it does not grow without limit.
#[test]
fn the_write_ahead_log_is_checkpointed() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    let wal = directory.path().join("agenthost.db-wal");
    let mut largest = 0;
    for round in 0..10 {
        driver.start_turn(&format!("t{round}"));
        for _ in 0..100 {
            driver.stream(&format!("t{round}"), "x");
        }
        driver.agent(agenthost_core::agent::AgentEvent::TurnEnded {
            chat: crate::driver::chat(),
            turn: format!("t{round}").into(),
            error: None,
        });
        driver.store.run_idle_maintenance();
        // Gives the checkpoint thread time while the store is idle.
        std::thread::sleep(std::time::Duration::from_millis(300));
        largest = largest.max(wal.metadata().unwrap().len());
    }
    // Each round takes about two megabytes; without checkpoints, it would be twenty.
    assert!(largest < 8_000_000, "{largest}");
}
