//! Tests for writer epochs of real databases that lose their latest changes under clocks that jump:
//! the host may accept the sequence number of a client only if the client saw the history that is
//! in the log.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_core::{StoreWrite, WriterEpochs};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_store::{Durability, Store};

/// The write that issued each sequence number, according to the model.
type History = BTreeMap<u64, u64>;

/// A client with a client id of its own.
#[derive(Clone)]
struct SeenClient {
    last: u64,
    history: History,
    /// The epoch in which the client attached, as its record in that history has it.
    attached: u64,
}

fn open(directory: &Path, clock: u64) -> (Store, WriterEpochs, u64) {
    let mut store = Store::open(directory, Durability::Process).unwrap();
    let first = store.begin_epoch(clock, 0).unwrap();
    let epochs = store.load_host().unwrap().epochs;
    assert_eq!(epochs.current, first);
    (store, epochs, first.0)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn clients_of_another_history_are_recognized() {
    let (mut replays, mut snapshots, mut restores) = (0, 0, 0);
    for seed in 0..40 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let parent = tempfile::tempdir().unwrap();
        let (data, kept) = (parent.path().join("data"), parent.path().join("copy"));
        std::fs::create_dir(&data).unwrap();
        let (mut store, mut epochs, mut seq) = open(&data, 0);
        let mut history = History::new();
        // The epoch in which each client last attached, as the log has it.
        let mut records: BTreeMap<usize, u64> = BTreeMap::new();
        let mut backup: Option<(History, BTreeMap<usize, u64>)> = None;
        let mut clients: Vec<Option<SeenClient>> = vec![None; 4];
        let mut written = 0;
        for _ in 0..120 {
            match rng.u8(..10) {
                0..5 => {
                    seq += 1;
                    written += 1;
                    history.insert(seq, written);
                    let number = StoreWrite::SeqUsed(ServerSeq(seq));
                    store.append(&[number], Millis(0)).unwrap();
                }
                5 => {
                    drop(store);
                    if let Some((old, attached)) = backup.clone().filter(|_| rng.bool()) {
                        std::fs::remove_dir_all(&data).unwrap();
                        copy(&kept, &data);
                        (history, records) = (old, attached);
                        restores += 1;
                    } else if rng.bool() {
                        std::fs::remove_dir_all(&kept).unwrap_or_default();
                        copy(&data, &kept);
                        backup = Some((history.clone(), records.clone()));
                    }
                    // With small clock values, the numbers of epochs overlap.
                    (store, epochs, seq) = open(&data, rng.u64(0..60));
                }
                _ => {
                    let index = rng.usize(..clients.len());
                    if let Some(seen) = &clients[index] {
                        let attached = records.get(&index).copied();
                        let believed = attached.is_some_and(|attached| {
                            let (seen, attached) = (ServerSeq(seen.last), ServerSeq(attached));
                            epochs.may_have_seen(seen, attached, ServerSeq(seq))
                        });
                        let upto = |all: &History| -> History {
                            all.range(..=seen.last).map(|(a, b)| (*a, *b)).collect()
                        };
                        if believed {
                            assert_eq!(upto(&history), upto(&seen.history), "seed {seed}");
                            replays += 1;
                        } else {
                            snapshots += 1;
                        }
                    }
                    let attached = epochs.current.0;
                    records.insert(index, attached);
                    clients[index] = Some(SeenClient {
                        last: seq,
                        history: history.clone(),
                        attached,
                    });
                }
            }
        }
        assert!(
            clients
                .iter()
                .flatten()
                .all(|seen| seen.attached <= seen.last)
        );
    }
    // A rule that never accepts a number would pass the checks above, too.
    assert!(replays > 500 && snapshots > 20 && restores > 20);
}

#[test]
fn a_database_without_epochs_gets_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), Durability::Process).unwrap();
    // Written like a host without epochs did.
    store
        .append(&[StoreWrite::SeqUsed(ServerSeq(47))], Millis(0))
        .unwrap();
    drop(store);
    let (_, epochs, first) = open(directory.path(), 1_000_000);
    assert_eq!(first, 1_000_000);
    let seen = |seq: u64, attached: u64| {
        epochs.may_have_seen(ServerSeq(seq), ServerSeq(attached), ServerSeq(1_000_005))
    };
    assert!(seen(47, 0) && seen(0, 0), "the numbers that it had");
    assert!(!seen(48, 0) && !seen(999_999, 0), "between epochs");
    assert!(seen(1_000_003, 1_000_000));
    assert!(!seen(1_000_003, 0), "an epoch in which it was not attached");
    assert!(!seen(1_000_006, 1_000_000), "not given out yet");
}

#[test]
fn sequence_numbers_increase_with_a_stopped_clock() {
    let directory = tempfile::tempdir().unwrap();
    let mut last = 0;
    for _ in 0..5 {
        let (_, epochs, first) = open(directory.path(), 10);
        assert!(first > last, "{first} after {last}");
        assert_eq!(epochs.current.0, first);
        last = first;
    }
}
