//! Clients of older versions, tested with the JSON that they send and expect.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_server::{Server, serve};
use agenthost_testkit::ScriptedAgent;
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, chat_uri, config};

/// Starts a host with a scripted agent.
pub(crate) async fn host(directory: &Path) -> Server {
    let mut config = config(directory);
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    serve(config).await.unwrap()
}

/// A client that sends and receives raw JSON.
pub(crate) struct JsonClient {
    raw: Raw,
    number: u64,
    /// All received messages that are not responses.
    pub(crate) heard: Vec<Value>,
}

impl JsonClient {
    pub(crate) async fn connect(server: &Server) -> Self {
        JsonClient {
            raw: Raw::connect(server).await,
            number: 0,
            heard: Vec::new(),
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.number += 1;
        let id = self.number;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.send(&request.to_string()).await;
        loop {
            let message = self.raw.receive().await.unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.heard.push(message);
        }
    }

    /// Dispatches an action and returns its `clientSeq`.
    pub(crate) async fn dispatch(&mut self, params: Value) -> u64 {
        self.number += 1;
        self.dispatch_as(params, self.number).await;
        self.number
    }

    /// Dispatches an action with this `clientSeq`.
    pub(crate) async fn dispatch_as(&mut self, mut params: Value, number: u64) {
        params["clientSeq"] = json!(number);
        let message = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.raw.send(&message.to_string()).await;
    }

    /// Waits for an action of this type and returns its envelope.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let message = self.raw.receive().await.unwrap();
            self.heard.push(message.clone());
            if message["method"] == "action" && message["params"]["action"]["type"] == kind {
                return message["params"].clone();
            }
        }
    }

    async fn is_closed(&mut self) -> bool {
        self.raw.receive().await.is_none()
    }
}

async fn offer(server: &Server, params: Value) -> (JsonClient, Result<Value, Value>) {
    let mut json_client = JsonClient::connect(server).await;
    let mut hello = json!({"clientId": "c"});
    let fields = hello.as_object_mut().unwrap();
    fields.extend(params.as_object().unwrap().clone());
    let answer = json_client.request("initialize", hello).await;
    (json_client, answer)
}

#[tokio::test]
async fn the_protocol_version_is_negotiated() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let with = |versions: Value| json!({"channel": "ahp-root://", "protocolVersions": versions});
    let agreed = [
        (json!(["1.0.0"]), "1.0.0"),
        (json!(["1.1.0", "1.0.0"]), "1.1.0"),
        (json!(["0.10.0"]), "0.10.0"),
        (json!(["0.4.0", "0.3.0"]), "0.4.0"),
        (json!(["0.5.0", "0.5.2", "0.5.1"]), "0.5.2"),
        (json!(["0.9.3", "7.0.0"]), "0.9.3"),
        (json!(["0.1.0", "0.2.0"]), "0.2.0"),
    ];
    for (offers, version) in agreed {
        let (_, answer) = offer(&server, with(offers.clone())).await;
        assert_eq!(answer.unwrap()["protocolVersion"], version, "{offers}");
    }
    let (_, first) = offer(&server, json!({"protocolVersion": 1})).await;
    assert_eq!(first.unwrap()["protocolVersion"], 1);
    let unknown = [json!(["0.1.0"]), json!(["2.0.0"]), json!([])];
    for offers in unknown {
        let (mut json_client, answer) = offer(&server, with(offers.clone())).await;
        let error = answer.unwrap_err();
        assert_eq!(error["code"], -32005, "{offers}");
        let spoken = error["data"]["supportedVersions"].as_array().unwrap();
        assert_eq!(spoken.len(), 12);
        assert_eq!(spoken[..3], ["^1.0.0", "^0.10.0", "^0.9.0"]);
        assert_eq!(spoken[11], "^0.2.0");
        assert!(json_client.is_closed().await);
    }
    let (_, malformed) = offer(&server, with(json!(["0.9.0", "0.9"]))).await;
    assert_eq!(malformed.unwrap_err()["code"], -32602);
    let (mut json_client, number) = offer(&server, json!({"protocolVersion": 2})).await;
    assert_eq!(number.unwrap_err()["code"], -32005);
    assert!(json_client.is_closed().await);
    let (_, no_list) = offer(&server, with(json!("1.0.0"))).await;
    assert_eq!(no_list.unwrap_err()["code"], -32602);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_0_9_client_works_and_reconnects() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["0.9.0"], "initialSubscriptions": ["ahp-root://"]});
    let (mut json_client, answer) = offer(&server, hello).await;
    assert_eq!(answer.unwrap()["snapshots"][0]["resource"], "ahp-root://");
    let create = json!({"channel": SESSION, "provider": "scripted"});
    json_client.request("createSession", create).await.unwrap();
    let chat = chat_uri();
    let snapshot = json_client
        .request("subscribe", json!({"channel": chat}))
        .await
        .unwrap();
    assert_eq!(snapshot["snapshot"]["state"].get("movable"), None);
    let seen = snapshot["snapshot"]["fromSeq"].as_u64().unwrap();
    let start = json!({
        "channel": chat,
        "action": {
            "type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-05T09:00:00Z",
            "message": {"text": "say hello", "origin": {"kind": "user"}},
        },
    });
    let number = json_client.dispatch(start).await;
    let echo = json_client.until("chat/turnStarted").await;
    assert_eq!(
        echo["origin"],
        json!({"clientId": "c", "clientSeq": number})
    );
    json_client.until("chat/turnComplete").await;
    let refused = json!({"channel": chat, "action": {"type": "chat/turnComplete", "turnId": "x"}});
    json_client.dispatch(refused).await;
    let echo = json_client.until("chat/turnComplete").await;
    assert!(echo["rejectionReason"].is_string());
    server.stop().await.unwrap();

    // The host remembers the client's version, which `reconnect` does not contain.
    let server = host(directory.path()).await;
    let mut json_client = JsonClient::connect(&server).await;
    let again = json!({
        "channel": "ahp-root://", "clientId": "c", "lastSeenServerSeq": seen, "subscriptions": [chat],
    });
    let replay = json_client.request("reconnect", again).await.unwrap();
    assert_eq!(replay["type"], "replay");
    let actions = replay["actions"].as_array().unwrap();
    let kinds = actions
        .iter()
        .map(|one| one["action"]["type"].as_str().unwrap());
    let kinds: Vec<_> = kinds.collect();
    assert!(kinds.contains(&"chat/turnStarted") && kinds.contains(&"chat/turnComplete"));
    let moved = "chat/isReadChanged";
    assert!(!kinds.contains(&moved), "0.9 has no {moved}");
    server.stop().await.unwrap();
}

/// A client that was away for longer than the grace period is only in the store. The host must
/// know its version before it reads the handshake, or the client receives no actions.
#[tokio::test]
async fn a_0_9_client_that_returns_after_its_grace_period_receives_actions() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    config.limits.grace_period = Duration::from_millis(1);
    let server = serve(config).await.unwrap();
    let _owner = first_and_last(&server).await;
    let mut watcher = follower(&server, "1.0.0").await;
    let mut away = follower(&server, "0.9.0").await;
    let active = json!({"clientId": "of 0.9.0", "tools": []});
    let active = json!({"type": "session/activeClientSet", "activeClient": active});
    away.dispatch(json!({"channel": SESSION, "action": active}))
        .await;
    let set = away.until("session/activeClientSet").await;
    let seen = set["serverSeq"].as_u64().unwrap();
    drop(away);
    watcher.until("session/activeClientRemoved").await;

    let mut back = JsonClient::connect(&server).await;
    let again = json!({
        "clientId": "of 0.9.0", "lastSeenServerSeq": seen, "subscriptions": [SESSION, chat_uri()],
    });
    let replay = back.request("reconnect", again).await.unwrap();
    assert_eq!(replay["type"], "replay");
    back.dispatch(start("t-back")).await;
    back.until("chat/turnStarted").await;
    back.until("chat/turnComplete").await;
    server.stop().await.unwrap();
}

/// Connects a client of 0.1 that is subscribed to a session, and one of 1.0 that acts in it.
async fn first_and_last(server: &Server) -> (JsonClient, JsonClient) {
    let hello =
        json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "last"});
    let (mut last, _) = offer(server, hello).await;
    last.request("createSession", json!({"channel": SESSION}))
        .await
        .unwrap();
    last.request("subscribe", json!({"channel": chat_uri()}))
        .await
        .unwrap();
    let (mut first, _) = offer(server, json!({"protocolVersion": 1, "clientId": "first"})).await;
    first
        .request("subscribe", json!({"resource": SESSION}))
        .await
        .unwrap();
    (first, last)
}

fn start(turn: &str) -> Value {
    let message = json!({"text": "say hello", "origin": {"kind": "user"}});
    let action = json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z", "message": message});
    json!({"channel": chat_uri(), "action": action})
}

#[tokio::test]
async fn a_0_1_client_stays_subscribed_to_a_session_after_leaving_its_chat() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (mut first, mut last) = first_and_last(&server).await;
    first
        .request("subscribe", json!({"resource": chat_uri()}))
        .await
        .unwrap();
    let leave =
        json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"resource": chat_uri()}});
    first.raw.send(&leave.to_string()).await;
    // The response proves that the host has processed the `unsubscribe`.
    first.request("listSessions", json!({})).await.unwrap();
    last.dispatch(start("t1")).await;
    first.until("session/turnComplete").await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn unknown_actions_are_rejected_in_their_original_encoding() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (mut first, _last) = first_and_last(&server).await;
    let strange = [
        json!({"type": "session/activeClientToolsChanged", "session": SESSION, "tools": []}),
        json!({"type": "bogus/x", "session": SESSION}),
        json!({"type": "session/agentChanged", "session": SESSION}),
        json!({"type": "session/modelChanged", "session": SESSION}),
        json!({"type": "chat/titleChanged", "session": SESSION, "title": "x"}),
        json!({"type": "session/modelChanged", "session": "agenthost:/root", "model": {"id": "m"}}),
        json!({"type": "session/titleChanged", "session": "root:/", "title": "x"}),
    ];
    for action in strange {
        let number = first.dispatch(json!({"action": action})).await;
        let kind = action["type"].as_str().unwrap();
        let refused = first.until(kind).await;
        assert!(refused["rejectionReason"].is_string(), "{refused}");
        assert_eq!(refused["action"], action);
        assert_eq!(refused["origin"]["clientSeq"], number);
    }
    let changes = json!({"resource": format!("{SESSION}/changeset/session")});
    let refused = first.request("subscribe", changes).await;
    assert_eq!(refused.unwrap_err()["code"], -32008);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn an_inactive_client_that_deactivates_receives_the_active_one() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (mut first, mut last) = first_and_last(&server).await;
    let active = json!({"type": "session/activeClientSet", "activeClient": {"clientId": "last", "tools": []}});
    last.dispatch(json!({"channel": SESSION, "action": active}))
        .await;
    first.until("session/activeClientChanged").await;
    let gone = json!({"type": "session/activeClientChanged", "session": SESSION});
    let number = first.dispatch(json!({"action": gone})).await;
    let heard = first.until("session/activeClientChanged").await;
    assert_eq!(heard["origin"]["clientSeq"], number);
    assert_eq!(heard["action"]["activeClient"]["clientId"], "last");
    server.stop().await.unwrap();
}

/// Connects a client of a version that is subscribed to the session and its chat.
async fn follower(server: &Server, version: &str) -> JsonClient {
    let hello = json!({"channel": "ahp-root://", "protocolVersions": [version], "clientId": format!("of {version}")});
    let (mut json_client, _) = offer(server, hello).await;
    for channel in [SESSION, &chat_uri()] {
        json_client
            .request("subscribe", json!({"channel": channel}))
            .await
            .unwrap();
    }
    json_client
}

/// Up to 0.6 a tool call delta must have `content`: it is empty if only the invocation message
/// changes.
#[tokio::test]
async fn a_tool_call_delta_has_the_fields_of_the_client_version() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (mut first, mut last) = first_and_last(&server).await;
    let mut others = Vec::new();
    for version in ["0.4.0", "0.5.2", "0.6.0", "0.7.0"] {
        others.push((version, follower(&server, version).await));
    }
    let mut turn = start("t1");
    turn["action"]["message"]["text"] = json!(
        "chat/toolCallStart {\"toolCallId\": \"c\", \"toolName\": \"t\", \"displayName\": \"T\"}\n\
         chat/toolCallDelta {\"toolCallId\": \"c\", \"invocationMessage\": \"Reading\"}\nhang"
    );
    last.dispatch(turn).await;
    for (version, json_client) in &mut others {
        let heard = json_client.until("chat/toolCallDelta").await;
        let content = (*version != "0.7.0").then(|| json!(""));
        assert_eq!(
            heard["action"].get("content"),
            content.as_ref(),
            "{version}"
        );
        assert_eq!(heard["action"]["invocationMessage"], "Reading");
    }
    let heard = first.until("session/toolCallDelta").await;
    assert_eq!(heard["action"]["content"], "");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn invalid_actions_are_rejected_without_side_effects() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, _last) = first_and_last(&server).await;
    for version in ["0.2.0", "0.4.0", "0.9.0", "1.0.0"] {
        let mut json_client = follower(&server, version).await;
        for action in [json!([]), json!(null), json!("x"), json!(7)] {
            json_client
                .dispatch(json!({"channel": SESSION, "action": action}))
                .await;
            json_client
                .request("listSessions", json!({"channel": "ahp-root://"}))
                .await
                .unwrap();
            let refused = json_client.heard.pop().unwrap();
            let reason = refused["params"]["rejectionReason"].as_str().unwrap();
            assert!(
                reason.contains("expected an object"),
                "{version}: {refused}"
            );
            assert_eq!(refused["params"]["action"], action);
        }
    }
    server.stop().await.unwrap();
}

/// Rejection reasons use the terms of the client's version.
#[tokio::test]
async fn rejection_reasons_use_the_terms_of_the_client_version() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, _last) = first_and_last(&server).await;
    let mut json_client = follower(&server, "0.4.0").await;
    let action = json!({"type": "session/activeClientChanged", "activeClient": null});
    json_client
        .dispatch(json!({"channel": chat_uri(), "action": action}))
        .await;
    let refused = json_client.until("session/activeClientChanged").await;
    assert_eq!(
        refused["rejectionReason"],
        "`session/activeClientChanged` does not belong on this channel"
    );
    server.stop().await.unwrap();
}

#[tokio::test]
async fn reconnect_of_an_unknown_client_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut json_client = JsonClient::connect(&server).await;
    let params = json!({"clientId": "nobody", "lastSeenServerSeq": 3, "subscriptions": []});
    let error = json_client.request("reconnect", params).await.unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("initialize"), "{error}");
    // A client can't create a session with the URI of the root channel.
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["0.9.0"], "clientId": "x"});
    json_client.request("initialize", hello).await.unwrap();
    for root in ["agenthost:/root", "root:/"] {
        let refused = json_client
            .request("createSession", json!({"channel": root}))
            .await;
        assert_eq!(refused.unwrap_err()["code"], -32602, "{root}");
    }
    server.stop().await.unwrap();
}

/// A client that was updated may keep its id. If its `reconnect` does not fit the remembered
/// version, it has to initialize.
#[tokio::test]
async fn reconnect_in_another_version_requires_initialize() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (first, last) = first_and_last(&server).await;
    drop((first, last));
    let back = json!({"clientId": "first", "lastSeenServerSeq": 0, "subscriptions": [SESSION]});
    let mut named = back.clone();
    named["channel"] = json!("ahp-root://");
    // Not every client sends `channel`, but all use a root URI that 0.1 does not have.
    let mut rooted = back;
    rooted["subscriptions"] = json!([SESSION, "ahp-root://"]);
    for greeting in [named, rooted] {
        let mut json_client = JsonClient::connect(&server).await;
        let refused = json_client.request("reconnect", greeting.clone()).await;
        assert_eq!(refused.unwrap_err()["code"], -32008, "{greeting}");
        let hello = json!({"protocolVersion": 1, "clientId": "first"});
        json_client.request("initialize", hello).await.unwrap();
    }
    server.stop().await.unwrap();
}

/// Released versions of VS Code send `reconnect` without a `channel`, whichever version was
/// negotiated: `{"clientId":"…","lastSeenServerSeq":N,"subscriptions":["…"]}`.
#[tokio::test]
async fn reconnect_needs_no_channel_in_any_version() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, _last) = first_and_last(&server).await;
    let versions = [
        "1.1.0", "1.0.0", "0.10.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1", "0.5.0",
        "0.4.0", "0.3.0", "0.2.0",
    ];
    for version in versions {
        let hello = json!({
            "channel": "ahp-root://", "protocolVersions": [version], "clientId": version,
            "initialSubscriptions": ["ahp-root://", SESSION],
        });
        let (json_client, hello) = offer(&server, hello).await;
        let seen = hello.unwrap()["serverSeq"].clone();
        drop(json_client);
        let mut json_client = JsonClient::connect(&server).await;
        let again = json!({
            "clientId": version, "lastSeenServerSeq": seen, "subscriptions": ["ahp-root://", SESSION],
        });
        let missed = json_client.request("reconnect", again).await.unwrap();
        let nothing = json!({"type": "replay", "actions": [], "missing": []});
        assert_eq!(missed, nothing, "{version}");
        // An unknown client gets the error that makes it initialize.
        let mut json_client = JsonClient::connect(&server).await;
        let again = json!({"clientId": "x", "lastSeenServerSeq": seen, "subscriptions": []});
        let error = json_client.request("reconnect", again).await.unwrap_err();
        assert_eq!(error["code"], -32008, "{version}");
    }
    server.stop().await.unwrap();
}

/// Up to 0.8 a resumed turn is encoded as a truncation and a new start. A client that has not
/// loaded the preceding turn gets that turn first, because the truncation refers to it.
#[tokio::test]
async fn a_resumed_turn_is_sent_with_its_unloaded_predecessor() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, mut last) = first_and_last(&server).await;
    for turn in ["t1", "t2"] {
        last.dispatch(start(turn)).await;
        last.until("chat/turnComplete").await;
    }
    let mut failing = start("t3");
    failing["action"]["message"]["text"] = json!("say one\nresumable\nsay two");
    last.dispatch(failing).await;
    last.until("chat/error").await;
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["0.8.0"], "clientId": "old"});
    let (mut old, _) = offer(&server, hello).await;
    let latest = json!({"channel": chat_uri(), "view": {"turns": 1}});
    let seen = old.request("subscribe", latest).await.unwrap();
    assert_eq!(seen["snapshot"]["state"]["turns"][0]["id"], "t3");
    let resume = json!({"type": "chat/turnResume", "turnId": "t3"});
    last.dispatch(json!({"channel": chat_uri(), "action": resume}))
        .await;
    let shown = old.until("chat/turnsLoaded").await;
    assert_eq!(shown["action"]["turns"][0]["id"], "t2");
    let cut = old.until("chat/truncated").await;
    assert_eq!(cut["action"]["turnId"], "t2");
    old.until("chat/turnComplete").await;
    server.stop().await.unwrap();
}
