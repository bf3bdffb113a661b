//! Environment variables of sessions.

use agenthost_core::{SessionEnvironment, StoreWrite};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_store::{Durability, Store};

/// They survive a restart, are copied with a session, and are removed with it.
#[test]
fn an_environment_belongs_to_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two, none] = ["shell:/1", "shell:/2", "shell:/3"].map(Uri::from);
    let environment = SessionEnvironment::new([
        ("PATH".to_owned(), "/opt/\"a b\"/bin".to_owned()),
        ("VIRTUAL_ENV".to_owned(), "/venv".to_owned()),
    ]);
    let environment = environment.unwrap();
    let copied = |from: &Uri, to: &Uri| StoreWrite::SessionEnvironmentCopied {
        from: from.clone(),
        to: to.clone(),
    };
    let writes = [
        StoreWrite::SessionEnvironment {
            session: one.clone(),
            environment: environment.clone(),
        },
        copied(&one, &two),
        copied(&none, &none),
        StoreWrite::SessionRemoved(one.clone()),
    ];
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    store.append(&writes, Millis(0)).unwrap();
    drop(store);
    let store = Store::open(directory.path(), Durability::Process).unwrap();
    let read = |session: &Uri| store.session_environment(session).unwrap();
    assert_eq!(read(&two), environment);
    assert!(read(&one).is_empty() && read(&none).is_empty());
}

/// Nothing is converted or locked, so a diagnosis does not get in the way of a host.
#[test]
fn an_inspection_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(agenthost_store::inspect(directory.path()).unwrap(), None);
    let store = Store::open(directory.path(), Durability::Process).unwrap();
    let summary = agenthost_store::inspect(directory.path()).unwrap().unwrap();
    assert_eq!((summary.sessions, summary.needs_migration), (0, false));
    drop(store);
    let database = directory.path().join("agenthost.db");
    let old = rusqlite::Connection::open(&database).unwrap();
    old.pragma_update(None, "user_version", 7).unwrap();
    old.execute("DROP TABLE session_environments", []).unwrap();
    drop(old);
    let summary = agenthost_store::inspect(directory.path()).unwrap().unwrap();
    assert!(summary.needs_migration);
    let old = rusqlite::Connection::open(&database).unwrap();
    let version: i64 = old
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 7);
}
