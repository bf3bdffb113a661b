//! Tests for long chats, whose turns are stored and loaded in parts.

use std::path::Path;

use agenthost_core::LoadExtent;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use rusqlite::Connection;

use crate::driver::{Driver, chat, session};

fn turns(driver: &mut Driver, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let turn = format!("t{number}");
        driver.start_turn(&turn);
        for _ in 0..10 {
            driver.stream(&turn, "x");
        }
        driver.agent(AgentEvent::TurnEnded {
            chat: chat(),
            turn: TurnId::from(turn),
            error: None,
        });
    }
}

fn database(directory: &Path) -> Connection {
    let path = directory.join("agenthost.db");
    let database = Connection::open(&path).unwrap();
    // The mode that the host creates its database with.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, private).unwrap();
    database
}

#[test]
fn the_tail_of_a_long_chat_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    turns(&mut driver, 0..200);
    driver.check();
    let whole = driver
        .store
        .load(&chat(), LoadExtent::Whole)
        .unwrap()
        .unwrap();
    let tail = driver
        .store
        .load(&chat(), LoadExtent::Tail)
        .unwrap()
        .unwrap();
    let (ChannelState::Chat(whole), ChannelState::Chat(shown)) = (&whole.state, &tail.state) else {
        panic!("expected chats");
    };
    assert_eq!(whole.turns.len(), 200);
    assert!(shown.turns.len() < 100, "{}", shown.turns.len());
    let ids: Vec<_> = whole.turns.items().map(|turn| turn.id.clone()).collect();
    let (earlier, later) = ids.split_at(tail.evicted_turns.len());
    assert_eq!(tail.evicted_turns, earlier);
    assert!(shown.turns.items().map(|turn| &turn.id).eq(later));

    // Continues from the tail after a restart, through more snapshots.
    drop(driver);
    let mut driver = Driver::open(directory.path());
    driver.connect(1);
    turns(&mut driver, 200..280);
    assert!(
        !driver
            .host
            .loaded(&chat())
            .unwrap()
            .evicted_turns
            .is_empty()
    );
    driver.request(1, "subscribe", chat().as_str(), "{}");
    driver.check();
    let text = driver.chat_text();
    for number in 0..280 {
        assert!(
            text.contains(&format!("\"t{number}\"")),
            "t{number} is gone"
        );
    }
}

/// A snapshot writes only new turns, not the whole chat again.
#[test]
fn a_turn_is_written_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    turns(&mut driver, 0..100);
    // Marks a row without changing its turn. Writing the row again would remove the mark.
    let mark = "UPDATE turns SET content = content || ' ' WHERE position = 0";
    assert_eq!(database(directory.path()).execute(mark, []).unwrap(), 1);
    turns(&mut driver, 100..200);
    let count = "SELECT count(*) FROM turns WHERE content LIKE '% '";
    let marked: i64 = database(directory.path())
        .query_row(count, [], |row| row.get(0))
        .unwrap();
    assert_eq!(marked, 1);
    driver.check();
}

/// Turns that were cut off stay removed, whether or not a snapshot has been written since.
#[test]
fn truncating_a_chat_removes_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    turns(&mut driver, 0..120);
    driver.dispatch(&chat(), r#"{"type":"chat/truncated","turnId":"t20"}"#);
    driver.check();
    drop(driver);
    // Before the next snapshot, the rows still have the turns that the log cuts off.
    let mut driver = Driver::open(directory.path());
    let tail = driver
        .store
        .load(&chat(), LoadExtent::Tail)
        .unwrap()
        .unwrap();
    let ChannelState::Chat(shown) = &tail.state else {
        panic!("expected a chat");
    };
    assert_eq!(tail.evicted_turns.len() + shown.turns.len(), 21);
    driver.connect(1);
    turns(&mut driver, 500..600);
    driver.request(1, "subscribe", chat().as_str(), "{}");
    driver.check();
    let rows: i64 = database(directory.path())
        .query_row("SELECT count(*) FROM turns", [], |row| row.get(0))
        .unwrap();
    assert!(rows <= 121, "{rows}");
    assert!(!driver.chat_text().contains("\"t21\""));
    driver.request(1, "disposeSession", session().as_str(), "{}");
    let rows: i64 = database(directory.path())
        .query_row("SELECT count(*) FROM turns", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 0);
}

/// A database of the first version, with turns inside the states, is migrated.
#[test]
fn a_database_of_the_first_version_is_migrated() {
    let first = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(first.path());
    turns(&mut driver, 0..60);
    let text = driver.chat_text();
    let remembered = driver.store.load_host().unwrap();
    let old = tempfile::tempdir().unwrap();
    let database = database(old.path());
    database
        .execute_batch(include_str!("version-1.sql"))
        .unwrap();
    let seq = i64::try_from(remembered.seq.0).unwrap();
    database
        .execute("UPDATE numbers SET value = ?1 WHERE name = 'seq'", [seq])
        .unwrap();
    for channel in [Uri::from("ahp-root://"), session(), chat()] {
        let loaded = driver
            .store
            .load(&channel, LoadExtent::Whole)
            .unwrap()
            .unwrap();
        let state = serde_json::to_string(&loaded.state).unwrap();
        let owner = (channel != Uri::from("ahp-root://")).then(|| session().to_string());
        database
            .execute(
                "INSERT INTO channels VALUES (?1, ?2, 0, ?3, ?4)",
                (channel.as_str(), owner, seq, state),
            )
            .unwrap();
    }
    for summary in &remembered.sessions {
        let row = (
            summary.resource.as_str(),
            serde_json::to_string(summary).unwrap(),
        );
        database
            .execute("INSERT INTO sessions VALUES (?1, ?2)", row)
            .unwrap();
    }
    drop(database);

    let mut driver = Driver::open(old.path());
    assert_eq!(driver.chat_text(), text);
    driver.connect(1);
    turns(&mut driver, 60..120);
    driver.request(1, "subscribe", chat().as_str(), "{}");
    driver.check();
}
