//! Sessions that were removed from the list.

use agenthost_core::{MAX_REMOVED_SESSIONS, RemovedSession, StoreWrite};
use agenthost_protocol::ids::{ProviderId, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_store::{Durability, Store};

fn removed(number: usize) -> RemovedSession {
    RemovedSession {
        session: Uri::from(format!("shell:/{number}")),
        provider: ProviderId::from("shell"),
        // Two with each number: several sessions can go without an action.
        seq: ServerSeq(number as u64 / 2),
    }
}

#[test]
fn the_latest_removed_sessions_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    let all: Vec<_> = (0..MAX_REMOVED_SESSIONS * 2).map(removed).collect();
    let writes: Vec<_> = all
        .iter()
        .cloned()
        .map(StoreWrite::SessionUnlisted)
        .collect();
    store.append(&writes, Millis(0)).unwrap();
    drop(store);
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    let kept = store.load_host().unwrap().removed_sessions;
    assert!(kept.len() <= MAX_REMOVED_SESSIONS && kept.len() >= MAX_REMOVED_SESSIONS - 1);
    assert_eq!(kept, all[all.len() - kept.len()..]);
}
