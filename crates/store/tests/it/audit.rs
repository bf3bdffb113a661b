//! The audit log: its order, its limits, and how tampering is found.

use std::path::Path;

use agenthost_core::{AuditActor, AuditEntry, AuditKind, Principal, StoreWrite};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_store::{
    AuditFilter, AuditProblem, AuditRecord, Durability, Store, read_audit, verify_audit,
};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

fn entry(number: i64) -> StoreWrite {
    let actor = AuditActor::Peer {
        principal: Principal("device:1".to_owned()),
        device: Some("phone".to_owned()),
        client: None,
        program: None,
    };
    StoreWrite::Audit(Box::new(AuditEntry {
        kind: AuditKind::ToolCallDecided,
        actor,
        session: Some(Uri::from(format!("shell:/{}", number % 2))),
        details: Object::from_iter([("call".to_owned(), Json::from(number))]),
    }))
}

fn store_entries(directory: &Path, count: i64) {
    let mut store = Store::open(directory, Durability::Process).unwrap();
    for number in 1..=count {
        store.append(&[entry(number)], Millis(number)).unwrap();
    }
}

fn read(directory: &Path, filter: &AuditFilter) -> Vec<AuditRecord> {
    let mut records = Vec::new();
    read_audit(directory, filter, |record| records.push(record)).unwrap();
    records
}

/// Changes the database behind the back of the store, and returns the problems that are found.
fn tamper(change: impl FnOnce(&Connection)) -> Vec<AuditProblem> {
    let directory = tempfile::tempdir().unwrap();
    store_entries(directory.path(), 9);
    let connection = Connection::open(directory.path().join("agenthost.db")).unwrap();
    change(&connection);
    drop(connection);
    verify_audit(directory.path()).unwrap().problems
}

/// Computes the hash of a row, as anyone who knows the format can.
fn hash_of(connection: &Connection, number: i64) -> String {
    let query = "SELECT previous, number, at, kind, coalesce(session, ''), actor, details
        FROM audit WHERE number = ?1";
    let fields: Vec<String> = connection
        .query_row(query, [number], |row| {
            let number: i64 = row.get(1)?;
            let at: i64 = row.get(2)?;
            Ok(vec![
                "agenthost audit 1".to_owned(),
                row.get(0)?,
                number.to_string(),
                at.to_string(),
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
            ])
        })
        .unwrap();
    let mut digest = Sha256::new();
    for field in fields {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field);
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn entries_are_numbered_filtered_and_intact() {
    let directory = tempfile::tempdir().unwrap();
    store_entries(directory.path(), 4);
    let all = read(directory.path(), &AuditFilter::default());
    let numbers: Vec<_> = all
        .iter()
        .map(|record| (record.number, record.at.0))
        .collect();
    assert_eq!(numbers, [(1, 1), (2, 2), (3, 3), (4, 4)]);
    let first = &all[0];
    assert_eq!(first.kind, "toolCall.decided");
    assert_eq!(first.actor["device"], "phone");
    assert_eq!(first.details["call"], 1);
    let session = Some(Uri::from("shell:/0"));
    let since = Some(Millis(3));
    let filter = AuditFilter { session, since };
    let filtered = read(directory.path(), &filter);
    assert_eq!(filtered, [all[3].clone()]);
    let report = verify_audit(directory.path()).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!((report.entries, report.first, report.last), (4, 1, 4));
    assert_eq!(report.hash, all[3].hash);
}

/// An entry is stored in the transaction of its batch, or not at all.
#[test]
fn a_batch_without_space_has_no_entry() {
    let directory = tempfile::tempdir().unwrap();
    store_entries(directory.path(), 1);
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    store.set_max_pages(1).unwrap();
    let mut writes: Vec<_> = (2..500).map(entry).collect();
    assert!(store.append(&writes, Millis(0)).is_err());
    store.set_max_pages(u32::MAX - 1).unwrap();
    writes.truncate(1);
    store.append(&writes, Millis(0)).unwrap();
    let report = verify_audit(directory.path()).unwrap();
    assert_eq!((report.last, report.problems), (2, Vec::new()));
}

#[test]
fn an_altered_entry_is_named() {
    for column in [
        "at", "kind", "session", "actor", "details", "previous", "hash",
    ] {
        let problems = tamper(|connection| {
            let update = format!("UPDATE audit SET {column} = '7' WHERE number = 4");
            assert_eq!(connection.execute(&update, []).unwrap(), 1, "{column}");
        });
        assert_eq!(problems, [AuditProblem::Altered { number: 4 }], "{column}");
    }
    let last = tamper(|connection| {
        let update = "UPDATE audit SET details = '{}' WHERE number = 9";
        connection.execute(update, []).unwrap();
    });
    assert_eq!(last, [AuditProblem::Altered { number: 9 }]);
}

/// The hash of the altered entry fits, but the next entry is linked to another one.
#[test]
fn an_altered_entry_with_a_new_hash_is_named() {
    for number in [1, 4, 9] {
        let problems = tamper(|connection| {
            let update = "UPDATE audit SET details = '{}' WHERE number = ?1";
            connection.execute(update, [number]).unwrap();
            let hash = hash_of(connection, number);
            let update = "UPDATE audit SET hash = ?1 WHERE number = ?2";
            connection
                .execute(update, rusqlite::params![hash, number])
                .unwrap();
        });
        assert_eq!(problems, [AuditProblem::Altered { number }]);
    }
}

#[test]
fn removed_entries_are_named() {
    for (condition, first, last) in [
        ("number = 1", 1, 1),
        ("number BETWEEN 4 AND 6", 4, 6),
        ("number >= 8", 8, 9),
        ("number > 0", 1, 9),
    ] {
        let problems = tamper(|connection| {
            let delete = format!("DELETE FROM audit WHERE {condition}");
            connection.execute(&delete, []).unwrap();
        });
        assert_eq!(problems, [AuditProblem::Removed { first, last }]);
    }
}

/// An entry after the last one continues the chain, but was not appended by the host.
#[test]
fn an_inserted_entry_is_named() {
    let problems = tamper(|connection| {
        let insert = "INSERT INTO audit
            SELECT 10, at, kind, session, actor, details, hash, '' FROM audit WHERE number = 9";
        connection.execute(insert, []).unwrap();
        let hash = hash_of(connection, 10);
        let update = "UPDATE audit SET hash = ?1 WHERE number = 10";
        connection.execute(update, [hash]).unwrap();
    });
    assert_eq!(problems, [AuditProblem::Inserted { number: 10 }]);
    let problems = tamper(|connection| {
        let insert = "INSERT INTO audit
            SELECT 0, at, kind, session, actor, details, previous, hash FROM audit WHERE number = 9";
        connection.execute(insert, []).unwrap();
    });
    assert_eq!(problems, [AuditProblem::Inserted { number: 0 }]);
}

/// An entry in place of another one, with the later entries as they were.
#[test]
fn a_replaced_entry_is_named() {
    let problems = tamper(|connection| {
        connection
            .execute("DELETE FROM audit WHERE number = 5", [])
            .unwrap();
        let insert = "INSERT INTO audit
            SELECT 5, at, kind, session, actor, '{}', hash, '' FROM audit WHERE number = 4";
        connection.execute(insert, []).unwrap();
        let hash = hash_of(connection, 5);
        let update = "UPDATE audit SET hash = ?1 WHERE number = 5";
        connection.execute(update, [hash]).unwrap();
    });
    assert_eq!(problems, [AuditProblem::Altered { number: 5 }]);
}

/// The oldest entries are removed, and the rest is still linked to them.
#[test]
fn the_log_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    for batch in 0..54 {
        let writes: Vec<_> = (0..1_000)
            .map(|number| entry(batch * 1_000 + number))
            .collect();
        store.append(&writes, Millis(batch)).unwrap();
    }
    let report = verify_audit(directory.path()).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(report.last, 54_000);
    assert!(
        report.entries <= 51_000 && report.entries >= 50_000,
        "{report:?}"
    );
    assert_eq!(
        report.first,
        report.last - i64::try_from(report.entries).unwrap() + 1
    );
}
