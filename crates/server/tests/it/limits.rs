//! Clients that exceed limits, and clients that accept delayed messages.

use std::time::{Duration, Instant};

use agenthost_server::{ServerConfig, serve};
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{Mirror, approve, chat_uri, create_session, join, start, start_turn};

fn initialize(name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
        "channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": name,
    }})
    .to_string()
}

/// SEC-8: a client that floods the host is slowed down, and no other client is.
#[tokio::test]
async fn a_client_that_floods_is_slowed_down() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    config.limits.messages_per_second = 100;
    config.limits.in_flight = 4;
    let server = serve(config).await.unwrap();
    let mut flood = Raw::connect(&server).await;
    flood.request(&initialize("flood")).await;
    let begun = Instant::now();
    for id in 0..250 {
        flood
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
            .await;
    }
    // Another client gets its responses meanwhile.
    let mut other = Raw::connect(&server).await;
    for id in 0..20 {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(other.request(&ping).await["id"], id);
    }
    let meanwhile = begun.elapsed();
    // All requests are answered in order, but not all at once.
    for id in 0..250 {
        assert_eq!(flood.receive().await.unwrap()["id"], id);
    }
    let elapsed = begun.elapsed();
    assert!(elapsed > Duration::from_millis(1_300), "{elapsed:?}");
    assert!(meanwhile < elapsed / 2, "{meanwhile:?} of {elapsed:?}");
    server.stop().await.unwrap();
}

/// SUB-11 to SUB-14: a client that accepts delays gets fewer messages, in order, and the same
/// state.
#[tokio::test]
async fn a_client_that_accepts_latency_gets_merged_messages() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    let (mut eager, mut patient) = (Raw::connect(&server).await, Raw::connect(&server).await);
    eager.request(&initialize("eager")).await;
    patient.request(&initialize("patient")).await;
    start_turn(&a, "t0", "true").await;
    mirror
        .until(|action| {
            matches!(
                action,
                ahp_types::actions::StateAction::ChatToolCallReady(_)
            )
        })
        .await;
    approve(&a, "t0", "session").await;
    mirror.until_end().await;

    let lines = "sleep 0.4; for i in $(seq 300); do echo $i; sleep 0.002; done";
    start_turn(&a, "t1", lines).await;
    mirror
        .until(|action| {
            matches!(
                action,
                ahp_types::actions::StateAction::ChatToolCallContentChanged(_)
            )
        })
        .await;
    let chat = mirror.json();
    let content = &chat["activeTurn"]["responseParts"][0]["toolCall"]["content"][0];
    let terminal = content["resource"].as_str().unwrap();
    let subscribe = |delivery: Value| {
        json!({"jsonrpc": "2.0", "id": 2, "method": "subscribe", "params": {
            "channel": terminal, "delivery": delivery,
        }})
        .to_string()
    };
    let chat = json!({"jsonrpc": "2.0", "id": 3, "method": "subscribe", "params": {"channel": chat_uri()}});
    for (client, delivery) in [
        (&mut eager, json!({"maxLatencyMs": 0})),
        (&mut patient, json!({"maxLatencyMs": 100})),
    ] {
        let snapshot = client.request(&subscribe(delivery)).await;
        assert!(snapshot["result"]["snapshot"].is_object(), "{snapshot}");
        client.send(&chat.to_string()).await;
    }
    let mut counts = Vec::new();
    for client in [&mut eager, &mut patient] {
        let (mut text, mut messages, mut last, mut exited) = (String::new(), 0, 0, false);
        loop {
            let message = client.receive().await.unwrap();
            let params = &message["params"];
            let Some(seq) = params["serverSeq"].as_u64() else {
                continue;
            };
            assert!(seq > last, "{seq} after {last}");
            last = seq;
            let action = &params["action"];
            match action["type"].as_str().unwrap() {
                "terminal/data" => {
                    assert!(!exited);
                    messages += 1;
                    text.push_str(action["data"].as_str().unwrap());
                }
                "terminal/exited" => exited = true,
                "chat/turnComplete" => break,
                _ => {}
            }
        }
        let expected: String = (1..=300).map(|n| format!("{n}\r\n")).collect();
        assert_eq!(text, expected);
        counts.push(messages);
    }
    let [eager, patient] = counts[..] else {
        panic!("two clients");
    };
    assert!(patient * 3 < eager, "{patient} messages instead of {eager}");
    server.stop().await.unwrap();
}

/// REC-2: a replay that is too large for one result is replaced with snapshots.
#[tokio::test]
async fn an_oversized_replay_is_replaced_with_snapshots() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    let seen = mirror.seen;
    start_turn(&a, "t1", "head -c 12000000 /dev/zero | tr '\\0' x").await;
    mirror
        .until(|action| {
            matches!(
                action,
                ahp_types::actions::StateAction::ChatToolCallReady(_)
            )
        })
        .await;
    approve(&a, "t1", "once").await;
    mirror.until_end().await;
    let chat = mirror.json();
    let content = &chat["turns"][0]["responseParts"][0]["toolCall"]["content"][1];
    let terminal = content["resource"].as_str().unwrap();
    let reconnect = |channels: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {
            "channel": "ahp-root://", "clientId": "a", "lastSeenServerSeq": seen, "subscriptions": channels,
        }})
        .to_string()
    };
    let mut raw = Raw::connect(&server).await;
    let answer = raw.request(&reconnect(json!([chat_uri()]))).await;
    assert_eq!(answer["result"]["type"], "replay");
    let mut raw = Raw::connect(&server).await;
    let answer = raw.request(&reconnect(json!([chat_uri(), terminal]))).await;
    assert_eq!(answer["result"]["type"], "snapshot");
    let snapshots = answer["result"]["snapshots"].as_array().unwrap();
    assert_eq!(snapshots.len(), 2);
    assert!(answer.to_string().len() < 2_000_000);
    server.stop().await.unwrap();
}

/// A large message of one client does not close the connections of the subscribers that receive it.
#[tokio::test]
async fn large_messages_of_one_client_do_not_disconnect_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    config.limits.outbox_bytes = 512 * 1024;
    // The host waits for a client that reads, even if this machine is busy.
    config.limits.max_slow_client_pause = Duration::from_secs(60);
    let server = serve(config).await.unwrap();
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut loud = Raw::connect(&server).await;
    loud.request(&initialize("loud")).await;
    let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "subscribe", "params": {"channel": chat_uri()}});
    let mut readers = Vec::new();
    for name in ["r1", "r2", "r3"] {
        let mut reader = Raw::connect(&server).await;
        reader.request(&initialize(name)).await;
        reader.request(&subscribe.to_string()).await;
        readers.push(tokio::spawn(async move {
            let mut drafts = 0;
            while drafts < 6 {
                let message = reader.receive().await.expect("cut off");
                drafts += usize::from(message["params"]["action"]["type"] == "chat/draftChanged");
            }
        }));
    }
    for _ in 0..3 {
        for length in [600_000, 10] {
            let draft = json!({"text": "x".repeat(length), "origin": {"kind": "user"}});
            let action = json!({"type": "chat/draftChanged", "draft": draft});
            let dispatch = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
                "channel": chat_uri(), "clientSeq": 1, "action": action,
            }});
            loud.send(&dispatch.to_string()).await;
        }
    }
    for reader in readers {
        reader.await.unwrap();
    }
    server.stop().await.unwrap();
}
