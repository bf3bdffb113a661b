//! Requests of the host to its clients: the official client, and clients that answer incorrectly.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_server::{Server, serve};
use agenthost_testkit::ScriptedAgent;
use ahp::Client;
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{Mirror, SESSION, chat_uri, config, create_session, dispatch, join};

async fn start(directory: &Path, agent: &ScriptedAgent) -> Server {
    let mut config = config(directory);
    config.agents = vec![Arc::new(agent.clone())];
    serve(config).await.unwrap()
}

/// Returns a turn whose message has an attachment that only the client can read.
fn turn(id: &str) -> Value {
    let attachment = json!({"type": "resource", "label": "x", "uri": "virtual:/x"});
    let message =
        json!({"text": "say hi", "origin": {"kind": "user"}, "attachments": [attachment]});
    json!({
        "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z",
        "message": message,
    })
}

/// Returns the agent's last `AddAttachment` command.
fn attached(agent: &ScriptedAgent) -> String {
    let heard = agent.received_commands();
    let last = heard
        .iter()
        .rev()
        .find(|line| line.starts_with("AddAttachment"));
    last.unwrap_or_else(|| panic!("{heard:?}")).clone()
}

async fn run_turn(client: &Client, mirror: &mut Mirror, id: &str) {
    dispatch(client, turn(id)).await;
    mirror.until_end().await;
}

/// RPC-12, RPC-14, RES-1: the official client refuses a request or answers it with a resource.
#[tokio::test]
async fn the_official_client_answers_host_requests() {
    let directory = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::default();
    let server = start(directory.path(), &agent).await;
    let client = join(&server, "one").await;
    create_session(&client).await;
    let mut mirror = Mirror::open(&client).await;

    // The turn must end well before the timeout of the request.
    let unserved = run_turn(&client, &mut mirror, "t1");
    let unserved = tokio::time::timeout(Duration::from_secs(8), unserved);
    unserved.await.unwrap();
    let heard = attached(&agent);
    assert!(heard.contains("does not serve"), "{heard}");

    client.set_server_request_handler(|method, params| async move {
        assert_eq!(method, "resourceRead");
        assert_eq!(
            params,
            json!({"channel": "ahp-root://", "uri": "virtual:/x"})
        );
        Ok(json!({"data": "hello", "encoding": "utf-8", "contentType": "text/plain"}))
    });
    run_turn(&client, &mut mirror, "t2").await;
    let heard = attached(&agent);
    assert!(heard.contains("bytes: 5"), "{heard}");
    server.stop().await.unwrap();
}

/// The host treats malformed responses as failures and never replies to a response. Unexpected
/// responses change nothing.
#[tokio::test]
async fn malformed_responses_are_failures() {
    let directory = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::default();
    let server = start(directory.path(), &agent).await;
    let mut raw = Raw::connect(&server).await;
    let hello = json!({"channel": "ahp-root://", "clientId": "a", "protocolVersions": ["1.0.0"]});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    raw.request(&hello.to_string()).await;
    let create = json!({"jsonrpc": "2.0", "id": 2, "method": "createSession", "params": {"channel": SESSION}});
    raw.request(&create.to_string()).await;
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 3, "method": "subscribe", "params": {"channel": SESSION}});
    let mut heard = raw.request(&subscribe.to_string()).await;
    while heard["result"]["snapshot"]["state"]["lifecycle"] != "ready"
        && heard["params"]["action"]["type"] != "session/ready"
    {
        heard = raw.receive().await.unwrap();
    }
    let subscribe = json!({"jsonrpc": "2.0", "id": 4, "method": "subscribe", "params": {"channel": chat_uri()}});
    raw.send(&subscribe.to_string()).await;
    for answer in [
        r#""result": {"data": []}"#,
        r#""result": 1, "error": {"code": 1, "message": "both"}"#,
        r#""error": "nothing""#,
    ] {
        let params = json!({"channel": chat_uri(), "clientSeq": 1, "action": turn(&answer.replace('"', ""))});
        let start = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        raw.send(&start.to_string()).await;
        let asked = loop {
            let heard = raw.receive().await.unwrap();
            if heard["method"] == "resourceRead" {
                break heard;
            }
        };
        raw.send(r#"{"jsonrpc": "2.0", "id": 99, "result": {}}"#)
            .await;
        let answer = format!(r#"{{"jsonrpc": "2.0", "id": {}, {answer}}}"#, asked["id"]);
        raw.send(&answer).await;
        raw.send(r#"{"jsonrpc": "2.0", "id": "p", "method": "ping"}"#)
            .await;
        let (mut answered, mut over) = (false, false);
        while !(answered && over) {
            let heard = raw.receive().await.unwrap();
            assert!(heard.get("error").is_none(), "{heard}");
            answered |= heard["id"] == "p";
            over |= heard["params"]["action"]["type"] == "chat/turnComplete";
        }
        let heard = attached(&agent);
        assert!(heard.contains("Unreadable"), "{heard}");
    }
    server.stop().await.unwrap();
}
