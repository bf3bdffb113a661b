//! The records of clients that left long ago.

use std::collections::BTreeSet;

use agenthost_core::{Principal, StoreWrite};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::number::Millis;

use crate::driver::{Driver, NOW};

fn id(number: usize) -> ClientId {
    ClientId::from(format!("client-{number}"))
}

/// Stores a number of clients of two principals, each released a millisecond after the one before.
fn release(driver: &mut Driver, count: usize) {
    let (_, record) = driver.store.load_host().unwrap().clients.pop().unwrap();
    let mut writes = Vec::new();
    for number in 0..count {
        let mut record = record.clone();
        let owner = if number % 2 == 0 {
            "owner"
        } else {
            "device:phone"
        };
        record.principal = Principal(owner.to_owned());
        let at = Millis(NOW.0 + i64::try_from(number).unwrap());
        writes.push(StoreWrite::Client(id(number), Box::new(record)));
        writes.push(StoreWrite::ClientReleased(id(number), at));
    }
    driver.store.append(&writes, NOW).unwrap();
}

fn remembered(driver: &Driver, count: usize) -> Vec<usize> {
    let is_remembered = |number: &usize| driver.store.load_client(&id(*number)).unwrap().is_some();
    (0..count).filter(is_remembered).collect()
}

/// Released clients are not loaded with the host: however many there are, it starts with those
/// that were present.
#[test]
fn released_clients_are_loaded_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    release(&mut driver, 1_000);
    drop(driver);
    let mut driver = Driver::open(directory.path());
    assert_eq!(driver.store.load_host().unwrap().clients.len(), 1);
    let found = driver.store.load_client(&id(999)).unwrap().unwrap();
    assert_eq!(found.left_at, Millis(NOW.0 + 999));
    assert_eq!(found.record.principal, Principal("device:phone".to_owned()));
    // A present client is not a released one.
    assert!(driver.store.load_client(&"a".into()).unwrap().is_none());
}

#[test]
fn clients_are_pruned_by_age_and_number() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    release(&mut driver, 10);
    let pruned = |left_until, max_clients| StoreWrite::ClientsPruned {
        left_until,
        max_clients,
    };
    let until = Millis(NOW.0 + 2);
    driver.store.append(&[pruned(until, 100)], NOW).unwrap();
    assert_eq!(remembered(&driver, 10), [3, 4, 5, 6, 7, 8, 9]);
    driver.store.append(&[pruned(until, 2)], NOW).unwrap();
    assert_eq!(remembered(&driver, 10), [8, 9]);
    assert_eq!(driver.store.load_host().unwrap().clients.len(), 1);
}

/// A damaged record does not keep others from being deleted.
#[test]
fn clients_of_revoked_devices_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    release(&mut driver, 4);
    let database = directory.path().join("agenthost.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let damage = "UPDATE clients SET record = '{' WHERE client = 'client-0'";
    connection.execute(damage, []).unwrap();
    let phone = Principal("device:phone".to_owned());
    let known = BTreeSet::from([phone.clone()]);
    driver.store.retain_principals("device:", &known).unwrap();
    assert!(driver.store.load_client(&id(1)).unwrap().is_some());
    let none = BTreeSet::new();
    driver.store.retain_principals("device:", &none).unwrap();
    assert!(driver.store.load_client(&id(1)).unwrap().is_none());
    assert!(driver.store.load_client(&id(2)).unwrap().is_some());
    let forgotten = StoreWrite::PrincipalForgotten(Principal("owner".to_owned()));
    driver.store.append(&[forgotten], NOW).unwrap();
    assert!(driver.store.load_client(&id(2)).unwrap().is_none());
}
