//! Data directories restored from a copy: no client gets a replay of a different history (REC-3,
//! REC-4, SEQ-2).

use std::fs;
use std::path::Path;

use ahp_types::actions::StateAction;
use ahp_types::commands::ReconnectResult;
use ahp_types::state::SnapshotState;

use crate::test_server::{
    Mirror, approve, chat_uri, comparable_chat, connect, create_session, join, start, start_turn,
};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&path, &target),
            kind if kind.is_file() => drop(fs::copy(path, target).unwrap()),
            // Sockets are not copied: they belong to a running host.
            _ => {}
        }
    }
}

fn restore(copy_of: &Path, directory: &Path) {
    fs::remove_dir_all(directory).unwrap();
    copy(copy_of, directory);
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
}

async fn turn(client: &ahp::Client, mirror: &mut Mirror, id: &str) {
    start_turn(client, id, &format!("echo {id}")).await;
    let asked = |action: &StateAction| matches!(action, StateAction::ChatToolCallReady(_));
    mirror.until(asked).await;
    approve(client, id, "once").await;
    mirror.until_end().await;
}

#[tokio::test]
async fn a_restored_copy_replays_no_other_history() {
    let parent = tempfile::tempdir().unwrap();
    let (directory, backup) = (parent.path().join("data"), parent.path().join("copy"));
    let server = start(&directory).await;
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    turn(&a, &mut mirror, "t1").await;
    let at_backup = mirror.seen;
    server.stop().await.unwrap();
    copy(&directory, &backup);

    // What the client sees from here on is lost when the copy is restored.
    let server = start(&directory).await;
    let a = join(&server, "a").await;
    let mut lost = Mirror::open(&a).await;
    turn(&a, &mut lost, "t2").await;
    server.stop().await.unwrap();
    restore(&backup, &directory);

    // A different history, longer than the lost one.
    let server = start(&directory).await;
    let b = join(&server, "b").await;
    let mut other = Mirror::open(&b).await;
    for id in ["t3", "t4", "t5"] {
        turn(&b, &mut other, id).await;
    }
    assert!(other.seen > lost.seen, "{} after {}", other.seen, lost.seen);

    let a = connect(&server).await;
    let missed = a.reconnect("a".to_owned(), lost.seen, vec![chat_uri()]);
    let ReconnectResult::Snapshot(result) = missed.await.unwrap() else {
        panic!("a replay of another history");
    };
    let SnapshotState::Chat(chat) = &result.snapshots[0].state else {
        panic!("expected a chat");
    };
    assert_eq!(comparable_chat(chat), other.json());

    // A client that was last connected before the copy was made gets a replay: the log has
    // everything that it missed.
    let c = connect(&server).await;
    let missed = c.reconnect("a".to_owned(), at_backup, vec![chat_uri()]);
    let ReconnectResult::Replay(replay) = missed.await.unwrap() else {
        panic!("expected a replay");
    };
    for envelope in &replay.actions {
        mirror.apply(&envelope.action, envelope.server_seq as i64);
    }
    assert_eq!(mirror.json(), other.json());
    server.stop().await.unwrap();
}
