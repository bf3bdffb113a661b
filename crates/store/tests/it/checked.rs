//! The check of every row.

use std::os::unix::fs::PermissionsExt;

use agenthost_store::{RowKind, StoreError, check_database, copy_database};
use rusqlite::Connection;

use crate::driver::Driver;

fn damage(directory: &std::path::Path, sql: &str) {
    let connection = Connection::open(directory.join("agenthost.db")).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
}

fn ready(directory: &std::path::Path) -> Driver {
    let mut driver = Driver::ready(directory);
    for turn in ["t1", "t2"] {
        driver.start_turn(turn);
        driver.stream(turn, "x");
        driver.agent(agenthost_core::agent::AgentEvent::TurnEnded {
            chat: crate::driver::chat(),
            turn: turn.into(),
            error: None,
        });
    }
    let (chat, seq) = (crate::driver::chat(), driver.host.seq());
    let loaded = driver.host.loaded(&chat).unwrap().clone();
    driver.store.snapshot(&chat, &loaded, seq).unwrap();
    driver
}

/// The files of a data directory do not change, whether a host runs or not.
#[test]
fn a_check_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let driver = ready(directory.path());
    let report = check_database(directory.path(), &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(report.sessions, 1);
    drop(driver);
    let list = || {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                (path.clone(), std::fs::read(path).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    let before = list();
    let report = check_database(directory.path(), &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
    assert!(list() == before, "files have changed");
}

/// Each kind of damage is found, with the session that it affects.
#[test]
fn damage_is_named() {
    let cases = [
        (
            "UPDATE sessions SET summary = '{}'",
            RowKind::Session,
            "ahp-session:/s1",
        ),
        (
            "UPDATE channels SET state = '[]' WHERE channel = 'ahp-session:/s1'",
            RowKind::Channel,
            "ahp-session:/s1",
        ),
        (
            "UPDATE turns SET content = '{' WHERE turn = 't2'",
            RowKind::Turn,
            "turn t2",
        ),
        (
            "DELETE FROM turns WHERE turn = 't1'",
            RowKind::Turn,
            "turn t2",
        ),
        (
            "UPDATE log SET envelope = replace(envelope, '\"serverSeq\"', '\"serverSex\"')
             WHERE seq = (SELECT max(seq) FROM log)",
            RowKind::Action,
            "action ",
        ),
        ("UPDATE clients SET record = '{}'", RowKind::Client, "a"),
        (
            "UPDATE numbers SET value = 1 WHERE name = 'log_bytes'",
            RowKind::Number,
            "log_bytes",
        ),
        (
            "UPDATE numbers SET value = 1 WHERE name = 'seq'",
            RowKind::Action,
            "action ",
        ),
        (
            "UPDATE epochs SET last = 0 WHERE last IS NULL",
            RowKind::Number,
            "epochs",
        ),
    ];
    for (sql, kind, name) in cases {
        let directory = tempfile::tempdir().unwrap();
        drop(ready(directory.path()));
        damage(directory.path(), sql);
        let report = check_database(directory.path(), &mut |_| {}).unwrap();
        let found = report.problems.iter().find(|problem| problem.kind == kind);
        let found = found.unwrap_or_else(|| panic!("{sql}: {:?}", report.problems));
        assert!(found.name.starts_with(name), "{sql}: {found:?}");
    }
}

/// A page that was overwritten is found by the check of the file.
#[test]
fn damaged_pages_are_found() {
    let directory = tempfile::tempdir().unwrap();
    drop(ready(directory.path()));
    let database = directory.path().join("agenthost.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let last = bytes.len() - 4_096;
    bytes[last..].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    match check_database(directory.path(), &mut |_| {}) {
        Ok(report) => assert!(!report.problems.is_empty()),
        Err(error) => assert!(matches!(error, StoreError::Database(_)), "{error}"),
    }
}

/// A copy has the state after one batch, and can be checked and opened on its own.
#[test]
fn a_copy_of_a_running_host_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = ready(directory.path());
    let copy = tempfile::tempdir().unwrap();
    copy_database(directory.path(), &copy.path().join("agenthost.db")).unwrap();
    let mode = copy.path().join("agenthost.db").metadata().unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    driver.start_turn("t3");
    let report = check_database(copy.path(), &mut |_| {}).unwrap();
    assert_eq!((report.problems.as_slice(), report.sessions), (&[][..], 1));
    std::fs::write(copy.path().join("agenthost.made"), "").unwrap();
    let mut copied = Driver::open(copy.path());
    copied.check_stored();
}
