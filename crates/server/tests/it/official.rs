//! The official `ahp` 1.0.0 client: every operation, with the shell agent.

use ahp::SubscriptionEvent;
use ahp_types::actions::StateAction;
use ahp_types::commands::ReconnectResult;
use ahp_types::state::SnapshotState;
use serde_json::json;

use crate::test_server::{
    Mirror, approve, chat_uri, comparable_chat, connect, create_session, dispatch, join, start,
    start_turn,
};

fn is_approval_request(action: &StateAction) -> bool {
    matches!(action, StateAction::ChatToolCallReady(_))
}

#[tokio::test]
async fn three_clients_see_one_turn_and_another_approves_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let (a, b, c) = (
        join(&server, "a").await,
        join(&server, "b").await,
        join(&server, "c").await,
    );
    a.ping().await.unwrap();
    create_session(&a).await;
    let mut mirrors = [
        Mirror::open(&a).await,
        Mirror::open(&b).await,
        Mirror::open(&c).await,
    ];
    start_turn(&a, "t1", "echo hello; exit 3").await;
    mirrors[1].until(is_approval_request).await;
    approve(&b, "t1", "once").await;
    for mirror in &mut mirrors {
        mirror.until_end().await;
    }
    let [first, second, third] = &mirrors;
    assert_eq!(first.json(), second.json());
    assert_eq!(first.json(), third.json());
    let part = &first.json()["turns"][0]["responseParts"][0]["toolCall"];
    assert_eq!(part["status"], "completed");
    assert_eq!(part["success"], false);
    assert_eq!(part["content"][0]["text"], "hello\n");
    assert_eq!(part["content"][1]["result"]["exitCode"], 3);
    // The terminal of the completed turn can still be subscribed to.
    let terminal = part["content"][1]["resource"].as_str().unwrap().to_owned();
    let (result, _) = c.subscribe(terminal).await.unwrap();
    let SnapshotState::Terminal(terminal) = result.snapshot.unwrap().state else {
        panic!("expected a terminal");
    };
    let terminal = serde_json::to_value(terminal).unwrap();
    assert_eq!(terminal["content"][0]["output"], "hello\r\n");
    assert_eq!(
        terminal["lifecycle"],
        json!({"status": "exited", "exitCode": 3})
    );
    // A new snapshot equals the mirror.
    let fresh = Mirror::open(&c).await;
    assert_eq!(fresh.json(), first.json());
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_turn_is_cancelled_by_another_client() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let (a, b) = (join(&server, "a").await, join(&server, "b").await);
    create_session(&a).await;
    let (mut first, mut second) = (Mirror::open(&a).await, Mirror::open(&b).await);
    start_turn(&a, "t1", "sleep 1000").await;
    first.until(is_approval_request).await;
    approve(&a, "t1", "once").await;
    second
        .until(|action| matches!(action, StateAction::ChatToolCallContentChanged(_)))
        .await;
    dispatch(
        &b,
        json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 0}),
    )
    .await;
    first.until_end().await;
    second.until_end().await;
    assert_eq!(first.json(), second.json());
    assert_eq!(first.json()["turns"][0]["state"], "cancelled");
    server.stop().await.unwrap();
}

/// Missed actions are replayed exactly, by the same host and after a restart.
#[tokio::test]
async fn a_client_resumes_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let (a, b) = (join(&server, "a").await, join(&server, "b").await);
    create_session(&a).await;
    let mut first = Mirror::open(&a).await;
    let mut second = Mirror::open(&b).await;
    a.shutdown().await;
    start_turn(&b, "t1", "echo one").await;
    second.until(is_approval_request).await;
    approve(&b, "t1", "session").await;
    second.until_end().await;

    let a = connect(&server).await;
    let mut first = {
        let missed = a
            .reconnect("a".to_owned(), first.seen, vec![chat_uri()])
            .await
            .unwrap();
        let ReconnectResult::Replay(replay) = missed else {
            panic!("expected a replay");
        };
        assert!(replay.missing.is_empty());
        for envelope in &replay.actions {
            first.apply(&envelope.action, envelope.server_seq as i64);
        }
        first.resume(&a).await
    };
    assert_eq!(first.json(), second.json());
    start_turn(&b, "t2", "echo two").await;
    second.until_end().await;
    first.until_end().await;
    assert_eq!(first.json(), second.json());

    // To clients, this looks like a host that was killed during a turn.
    start_turn(&b, "t3", "echo streamed; sleep 1000").await;
    second
        .until(|action| matches!(action, StateAction::ChatToolCallContentChanged(_)))
        .await;
    server.stop().await.unwrap();
    let server = start(directory.path()).await;
    let b = connect(&server).await;
    let gone = "ahp-chat:/gone".to_owned();
    let wanted = vec![chat_uri(), gone.clone()];
    let missed = b
        .reconnect("b".to_owned(), second.seen, wanted)
        .await
        .unwrap();
    let ReconnectResult::Replay(replay) = missed else {
        panic!("expected a replay");
    };
    assert_eq!(replay.missing, [gone]);
    for envelope in &replay.actions {
        second.apply(&envelope.action, envelope.server_seq as i64);
    }
    let turn = &second.json()["turns"][2];
    assert_eq!(turn["id"], "t3");
    assert_eq!(turn["state"], "error");
    let fresh = Mirror::open(&b).await;
    assert_eq!(fresh.json(), second.json());
    // The resumed client can run another turn.
    let mut second = second.resume(&b).await;
    start_turn(&b, "t4", "help").await;
    second.until_end().await;
    // A `serverSeq` from another history gets snapshots.
    let c = connect(&server).await;
    let far = c
        .reconnect("b".to_owned(), 1_000_000, vec![chat_uri()])
        .await
        .unwrap();
    let ReconnectResult::Snapshot(result) = far else {
        panic!("expected snapshots");
    };
    let SnapshotState::Chat(chat) = &result.snapshots[0].state else {
        panic!("expected a chat");
    };
    assert_eq!(comparable_chat(chat), second.json());
    server.stop().await.unwrap();
}

/// DSP-2, DSP-10: a rejected action changes nothing, and only its sender is notified.
#[tokio::test]
async fn a_rejection_is_sent_only_to_the_dispatching_client() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let (a, b) = (join(&server, "a").await, join(&server, "b").await);
    create_session(&a).await;
    let mut first = Mirror::open(&a).await;
    let (_, mut events) = b.subscribe(chat_uri()).await.unwrap();
    dispatch(
        &b,
        json!({"type": "chat/truncated", "turnId": "no such turn"}),
    )
    .await;
    let Some(SubscriptionEvent::Action(refused)) = events.recv().await else {
        panic!("expected an action");
    };
    assert_eq!(
        refused.rejection_reason.as_deref(),
        Some("there is no turn `no such turn`")
    );
    assert_eq!(refused.origin.unwrap().client_id, "b");
    // The other client receives the next accepted action, but not the rejected one.
    start_turn(&b, "t1", "help").await;
    let next = first.next().await;
    assert!(matches!(next, StateAction::ChatTurnStarted(_)), "{next:?}");
    first.until_end().await;
    assert_eq!(first.json(), Mirror::open(&b).await.json());
    server.stop().await.unwrap();
}
