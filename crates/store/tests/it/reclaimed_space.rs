//! The space of removed sessions.

use std::path::Path;

use agenthost_core::Input;
use agenthost_protocol::ids::ServerSeq;
use agenthost_store::{Durability, MaintenanceState, Store, check_database, measure_database};
use rusqlite::Connection;

use crate::driver::{Driver, chat, session};

const LARGE: usize = 4_000_000;

fn database_bytes(directory: &Path) -> u64 {
    directory.join("agenthost.db").metadata().unwrap().len()
}

/// Runs the maintenance until nothing is left, as an idle host does.
fn maintain(store: &mut Store) {
    while store.run_idle_maintenance().unwrap() == MaintenanceState::Pending {}
}

/// Returns a host with a session that has several megabytes of output.
fn large_session(directory: &Path) -> Driver {
    let mut driver = Driver::ready(directory);
    driver.start_turn("t1");
    for _ in 0..4 {
        driver.stream("t1", &"x".repeat(LARGE / 4));
    }
    driver
}

#[test]
fn the_actions_of_a_removed_session_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = large_session(directory.path());
    let before = measure_database(directory.path()).unwrap();
    assert!(before.sessions[&session()].log_bytes > LARGE as u64);
    let seq = driver.host.seq();
    driver.request(1, "disposeSession", session().as_str(), "{}");
    // The effects of the same batch may still read the log.
    let channels = [session(), chat()];
    let replay = |driver: &Driver| {
        let all = driver.store.replay(ServerSeq(0), seq, &channels);
        all.unwrap().len()
    };
    assert!(replay(&driver) > 4);
    driver.store.delete_removed_actions().unwrap();
    assert_eq!(replay(&driver), 0);
    let after = measure_database(directory.path()).unwrap();
    assert!(
        after.sessions.is_empty() && after.other_log_bytes < 10_000,
        "{after:?}"
    );
    let report = check_database(directory.path(), &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
}

#[test]
fn the_file_becomes_smaller() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = large_session(directory.path());
    driver.request(1, "disposeSession", session().as_str(), "{}");
    maintain(&mut driver.store);
    drop(driver);
    // Closing the database copies the write-ahead log.
    assert!(
        database_bytes(directory.path()) < 2_000_000,
        "{}",
        database_bytes(directory.path())
    );
}

/// A host that was killed after a removal deletes the actions at its next start.
#[test]
fn the_next_start_deletes_what_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = large_session(directory.path());
    driver.request(1, "disposeSession", session().as_str(), "{}");
    drop(driver);
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    maintain(&mut store);
    let usage = measure_database(directory.path()).unwrap();
    assert!(usage.other_log_bytes < 10_000, "{usage:?}");
}

/// A new session with the address of a removed one keeps its actions.
#[test]
fn a_later_session_with_the_same_uri_is_not_affected() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = large_session(directory.path());
    driver.request(1, "disposeSession", session().as_str(), "{}");
    driver.request(1, "createSession", session().as_str(), "{}");
    driver.agent(agenthost_core::agent::AgentEvent::Opened { tools: Vec::new() });
    driver.request(1, "subscribe", session().as_str(), "{}");
    driver.request(1, "subscribe", chat().as_str(), "{}");
    driver.start_turn("t2");
    driver.stream("t2", "later");
    maintain(&mut driver.store);
    driver.step(Input::EvictionDue);
    driver.check();
    let report = check_database(directory.path(), &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
    let usage = measure_database(directory.path()).unwrap();
    let bytes = usage.sessions[&session()].log_bytes;
    assert!(bytes > 100 && bytes < 10_000, "{bytes}");
}

/// A database of an earlier release is converted once, so that its pages can be given back.
#[test]
fn an_earlier_database_is_converted() {
    let directory = tempfile::tempdir().unwrap();
    drop(large_session(directory.path()));
    let database = directory.path().join("agenthost.db");
    let connection = Connection::open(&database).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = 0; VACUUM")
        .unwrap();
    drop(connection);
    let mut driver = Driver::open(directory.path());
    driver.connect(1);
    driver.request(1, "disposeSession", session().as_str(), "{}");
    maintain(&mut driver.store);
    drop(driver);
    assert!(database_bytes(directory.path()) < 2_000_000);
}
