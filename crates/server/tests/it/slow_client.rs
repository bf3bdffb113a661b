//! A client that does not read from its connection.

use agenthost_server::serve;
use futures_util::StreamExt;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::raw_messages::Raw;
use crate::test_server::{Mirror, approve, chat_uri, config, create_session, join, start_turn};

/// A client that never reads is disconnected and can resume. Other clients do not wait for it, and
/// its queue stays bounded.
#[tokio::test]
async fn a_client_that_never_reads_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.limits.outbox_bytes = 256 * 1024;
    let server = serve(config).await.unwrap();
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    let seen = mirror.seen;

    let mut slow = Raw::connect(&server).await;
    slow.request(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"slow"}}"#).await;
    let terminal = {
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
        start_turn(
            &a,
            "t1",
            "sleep 0.3; head -c 40000000 /dev/zero | tr '\\0' x",
        )
        .await;
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
        content["resource"].as_str().unwrap().to_owned()
    };
    let subscribe = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{{"channel":"{terminal}"}}}}"#
    );
    let snapshot = slow.request(&subscribe).await;
    assert!(snapshot["result"]["snapshot"].is_object(), "{snapshot}");
    // The slow client reads nothing until the turn is over.
    mirror.until_end().await;
    let mut closed = None;
    let mut heard = 0;
    while let Some(message) = slow.0.next().await {
        match message {
            Ok(Message::Text(_)) => heard += 1,
            Ok(Message::Close(frame)) => closed = frame,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    // Messages already sent are still in transit, but not forty megabytes.
    assert!(heard < 2_000, "{heard}");
    if let Some(frame) = closed {
        assert_eq!(u16::from(frame.code), 1013);
    }
    // It reconnects and gets a replay of the chat.
    let mut again = Raw::connect(&server).await;
    let answer = again
        .request(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{{"channel":"ahp-root://","clientId":"slow","lastSeenServerSeq":{seen},"subscriptions":["{}"]}}}}"#,
            chat_uri()
        ))
        .await;
    assert_eq!(answer["result"]["type"], "replay", "{answer}");
    assert_ne!(answer["result"]["actions"], Value::Array(Vec::new()));
    server.stop().await.unwrap();
}
