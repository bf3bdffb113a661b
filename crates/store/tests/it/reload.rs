//! Tests that stored data can be loaded again.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{Input, LoadExtent, StoreWrite};
use agenthost_protocol::ids::{ServerSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_store::Retention;

use crate::driver::{Driver, NOW, chat, session};

#[test]
fn a_restarted_host_continues_at_the_end_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    driver.stream("t1", "Hello");
    driver.agent(AgentEvent::TurnEnded {
        chat: chat(),
        turn: TurnId::from("t1"),
        error: None,
    });
    driver.check();
    let before = driver.store.load_host().unwrap();
    let text = driver.chat_text();
    drop(driver);

    let mut driver = Driver::open(directory.path());
    let after = driver.store.load_host().unwrap();
    assert_eq!(after.seq, before.seq);
    assert_eq!(after.sessions, before.sessions);
    assert_eq!(after.clients.len(), 1);
    assert_eq!(driver.chat_text(), text);
    // States are not loaded before they are needed.
    assert!(driver.host.state(&chat()).is_none());
    driver.connect(1);
    driver.request(1, "subscribe", chat().as_str(), "{}");
    assert!(driver.host.state(&chat()).is_some());
    driver.start_turn("t2");
    driver.check();
    assert!(driver.published.keys().all(|seq| *seq > before.seq));
}

/// REC-16, with a real log: streamed text is kept, and the turn is closed.
#[test]
fn a_running_turn_is_closed_with_its_streamed_text() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    driver.stream("t1", "precious");
    drop(driver);
    let mut driver = Driver::open(directory.path());
    driver.check();
    let text = driver.chat_text();
    assert!(
        text.contains("precious") && text.contains("hostStopped"),
        "{text}"
    );
    assert!(!text.contains("activeTurn"), "{text}");
}

/// REC-2, REC-5: a replay has exactly the published actions, as they were published.
#[test]
fn a_replay_equals_the_published_actions() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    for _ in 0..20 {
        driver.stream("t1", "x");
    }
    let seqs: Vec<_> = driver.published.keys().copied().collect();
    let (middle, last) = (seqs[seqs.len() / 2], *seqs.last().unwrap());
    let replayed =
        |after, until, channels: &[_]| driver.store.replay(after, until, channels).unwrap();

    let all: Vec<_> = driver.published.values().cloned().collect();
    let first = ServerSeq(seqs[0].0 - 1);
    assert_eq!(replayed(first, last, &[chat(), session()]), all);
    let later = driver.published.range(middle..).skip(1);
    let later: Vec<_> = later.map(|(_, text)| text.clone()).collect();
    assert_eq!(replayed(middle, last, &[session(), chat()]), later);
    assert!(replayed(last, last, &[chat()]).is_empty());
    let chat_only = replayed(first, last, &[chat()]);
    assert!(chat_only.len() < all.len());
    assert!(chat_only.iter().all(|text| text.contains(chat().as_str())));
}

#[test]
fn a_long_chat_is_restored_from_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    for _ in 0..1_200 {
        driver.stream("t1", "x");
    }
    driver.check();
    drop(driver);
    let mut driver = Driver::open(directory.path());
    driver.check();
    assert!(driver.chat_text().contains(&"x".repeat(1_200)));
}

/// Compaction removes old actions and keeps the states. Removed actions can't be replayed.
#[test]
fn compaction_removes_old_actions() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    for _ in 0..50 {
        driver.stream("t1", "x");
    }
    let last = driver.store.load_host().unwrap().seq;
    let all = Retention {
        actions: 1_000,
        age: Millis(1_000),
        bytes: 1_000_000,
    };
    assert_eq!(driver.store.compact(all, NOW).unwrap(), ServerSeq(0));
    let few = Retention { actions: 10, ..all };
    let start = driver.store.compact(few, NOW).unwrap();
    assert_eq!(start, ServerSeq(last.0 - 10));
    driver.check();
    let kept = driver.store.replay(start, last, &[chat()]).unwrap();
    assert_eq!(kept.len(), 10);
    assert!(
        driver
            .store
            .replay(ServerSeq(0), start, &[chat()])
            .unwrap()
            .is_empty()
    );
    driver.step(Input::LogCompacted { log_start: start });
    driver.stream("t1", "y");
    driver.check();
    // By age, all actions are removed.
    let young = Retention {
        actions: 1_000,
        age: Millis(0),
        bytes: 1_000_000,
    };
    let now = Millis(NOW.0 + 1);
    let start = driver.store.compact(young, now).unwrap();
    assert_eq!(start, driver.store.load_host().unwrap().seq);
    driver.check();
    drop(driver);
    let mut driver = Driver::open(directory.path());
    assert_eq!(driver.store.load_host().unwrap().log_start, start);
    driver.check();
    assert!(driver.chat_text().contains("xy"));
}

/// The size of the log stays within its limit, however much is streamed.
#[test]
fn the_log_is_bounded_in_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    let retention = Retention {
        actions: 1_000_000,
        age: Millis(1_000_000),
        bytes: 100_000,
    };
    let text = "x".repeat(5_000);
    for _ in 0..10 {
        driver.stream("t1", &text);
    }
    assert!(!driver.store.exceeds_retention(retention));
    let start = driver.store.compact(retention, NOW).unwrap();
    assert_eq!(start, ServerSeq(0));
    for _ in 0..20 {
        driver.stream("t1", &text);
    }
    assert!(driver.store.exceeds_retention(retention));
    let last = driver.store.load_host().unwrap().seq;
    let start = driver.store.compact(retention, NOW).unwrap();
    assert!(!driver.store.exceeds_retention(retention));
    let kept = driver
        .store
        .replay(start, last, &[chat(), session()])
        .unwrap();
    let bytes: usize = kept.iter().map(String::len).sum();
    assert!((90_000..=100_000).contains(&bytes), "{bytes}");
    driver.check();
}

#[test]
fn a_batch_is_stored_atomically() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    driver.stream("t1", "x");
    let text = driver.published.values().next_back().unwrap().clone();
    let mut last: agenthost_protocol::action::ActionEnvelope =
        agenthost_protocol::wire::from_str(&text).unwrap();
    let taken = std::sync::Arc::new(last.clone());
    last.server_seq = ServerSeq(last.server_seq.0 + 1);
    let before = driver.chat_text();
    // The second write fails, because its number is already used.
    let batch = [
        StoreWrite::Action(std::sync::Arc::new(last)),
        StoreWrite::Action(taken),
    ];
    assert!(driver.store.append(&batch, NOW).is_err());
    assert_eq!(driver.chat_text(), before);
    driver.check();
}

#[test]
fn disposing_a_session_deletes_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("t1");
    driver.request(1, "disposeSession", session().as_str(), "{}");
    assert!(
        driver
            .store
            .load(&chat(), LoadExtent::Whole)
            .unwrap()
            .is_none()
    );
    assert!(
        driver
            .store
            .load(&session(), LoadExtent::Whole)
            .unwrap()
            .is_none()
    );
    drop(driver);
    let mut driver = Driver::open(directory.path());
    let remembered = driver.store.load_host().unwrap();
    assert!(remembered.sessions.is_empty() && remembered.channels.is_empty());
    // The URI can be used again, and the new session has none of the earlier content.
    driver.connect(1);
    driver.request(1, "createSession", session().as_str(), "{}");
    assert!(!driver.chat_text().contains("t1"));
}
