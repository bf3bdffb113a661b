//! A database that can't grow.

use agenthost_core::Input;
use agenthost_stdx::disk_space::StorageProblem;
use agenthost_store::{StoreError, check_database};

use crate::driver::{Driver, NOW, session};

fn is_no_space<T>(result: Result<T, StoreError>) -> bool {
    let problem = StorageProblem::Full;
    matches!(result, Err(StoreError::NoSpace { problem: found, .. }) if found == problem)
}

/// A batch that does not fit is not stored at all, and can be stored later. What was stored before
/// can be read meanwhile.
#[test]
fn a_batch_without_space_is_stored_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    let before = driver.store.load_host().unwrap().seq;
    driver.store.set_max_pages(1).unwrap();
    let writes = driver.writes_of_stream("t1", &"x".repeat(100_000));
    for _ in 0..3 {
        assert!(is_no_space(driver.store.append(&writes, NOW)));
    }
    let stored = driver.store.load_host().unwrap();
    assert_eq!(stored.seq, before);
    let report = check_database(directory.path(), &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
    driver.store.set_max_pages(u32::MAX - 1).unwrap();
    driver.store.append(&writes, NOW).unwrap();
    assert!(driver.store.load_host().unwrap().seq > before);
    driver.check();
}

/// Snapshots and compaction fail without an effect, too.
#[test]
fn maintenance_without_space_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    driver.stream("t1", &"x".repeat(100_000));
    driver.store.set_max_pages(1).unwrap();
    let seq = driver.host.seq();
    let chat = crate::driver::chat();
    let loaded = driver.host.loaded(&chat).unwrap().clone();
    assert!(is_no_space(driver.store.snapshot(&chat, &loaded, seq)));
    driver.check();
    driver.store.set_max_pages(u32::MAX - 1).unwrap();
    driver.store.snapshot(&chat, &loaded, seq).unwrap();
    driver.step(Input::EvictionDue);
    driver.check();
    assert!(driver.host.has_channel(&session()));
}

/// The reserve exists once, with its size, and can be released and restored.
#[test]
fn the_reserve_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let driver = Driver::ready(directory.path());
    let reserve = directory.path().join("reserve");
    assert!(!reserve.exists() && !driver.store.release_reserve().unwrap());
    driver.store.restore_reserve().unwrap();
    driver.store.restore_reserve().unwrap();
    assert_eq!(reserve.metadata().unwrap().len(), 8 * 1024 * 1024);
    assert!(driver.store.release_reserve().unwrap() && !reserve.exists());
}
