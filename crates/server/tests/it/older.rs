//! Clients of older versions, tested with the JSON that they send and expect.

use std::path::Path;
use std::sync::Arc;

use agenthost_server::{Server, serve};
use agenthost_testkit::ScriptedAgent;
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::room::{SESSION, chat_uri, config};

/// Starts a host with a scripted agent.
pub(crate) async fn host(directory: &Path) -> Server {
    let mut config = config(directory);
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    serve(config).await.unwrap()
}

/// A client that sends and receives raw JSON.
pub(crate) struct Words {
    raw: Raw,
    number: u64,
    /// All received messages that are not responses.
    pub(crate) heard: Vec<Value>,
}

impl Words {
    pub(crate) async fn connect(server: &Server) -> Self {
        Words {
            raw: Raw::connect(server).await,
            number: 0,
            heard: Vec::new(),
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.number += 1;
        let id = self.number;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.say(&request.to_string()).await;
        loop {
            let message = self.raw.hear().await.unwrap();
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
        self.raw.say(&message.to_string()).await;
    }

    /// Waits for an action of this type and returns its envelope.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let message = self.raw.hear().await.unwrap();
            self.heard.push(message.clone());
            if message["method"] == "action" && message["params"]["action"]["type"] == kind {
                return message["params"].clone();
            }
        }
    }

    async fn is_closed(&mut self) -> bool {
        self.raw.hear().await.is_none()
    }
}

async fn offer(server: &Server, params: Value) -> (Words, Result<Value, Value>) {
    let mut words = Words::connect(server).await;
    let mut hello = json!({"clientId": "c"});
    let fields = hello.as_object_mut().unwrap();
    fields.extend(params.as_object().unwrap().clone());
    let answer = words.ask("initialize", hello).await;
    (words, answer)
}

#[tokio::test]
async fn versions_are_agreed_on() {
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
        let (mut words, answer) = offer(&server, with(offers.clone())).await;
        let error = answer.unwrap_err();
        assert_eq!(error["code"], -32005, "{offers}");
        let spoken = error["data"]["supportedVersions"].as_array().unwrap();
        assert_eq!(spoken.len(), 12);
        assert_eq!(spoken[..3], ["^1.0.0", "^0.10.0", "^0.9.0"]);
        assert_eq!(spoken[11], "^0.2.0");
        assert!(words.is_closed().await);
    }
    let (_, malformed) = offer(&server, with(json!(["0.9.0", "0.9"]))).await;
    assert_eq!(malformed.unwrap_err()["code"], -32602);
    let (mut words, number) = offer(&server, json!({"protocolVersion": 2})).await;
    assert_eq!(number.unwrap_err()["code"], -32005);
    assert!(words.is_closed().await);
    let (_, no_list) = offer(&server, with(json!("1.0.0"))).await;
    assert_eq!(no_list.unwrap_err()["code"], -32602);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_of_0_9_works_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["0.9.0"], "initialSubscriptions": ["ahp-root://"]});
    let (mut words, answer) = offer(&server, hello).await;
    assert_eq!(answer.unwrap()["snapshots"][0]["resource"], "ahp-root://");
    let create = json!({"channel": SESSION, "provider": "scripted"});
    words.ask("createSession", create).await.unwrap();
    let chat = chat_uri();
    let snapshot = words
        .ask("subscribe", json!({"channel": chat}))
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
    let number = words.dispatch(start).await;
    let echo = words.until("chat/turnStarted").await;
    assert_eq!(
        echo["origin"],
        json!({"clientId": "c", "clientSeq": number})
    );
    words.until("chat/turnComplete").await;
    let refused = json!({"channel": chat, "action": {"type": "chat/turnComplete", "turnId": "x"}});
    words.dispatch(refused).await;
    let echo = words.until("chat/turnComplete").await;
    assert!(echo["rejectionReason"].is_string());
    server.stop().await.unwrap();

    // The host remembers the client's version, which `reconnect` does not contain.
    let server = host(directory.path()).await;
    let mut words = Words::connect(&server).await;
    let again = json!({
        "channel": "ahp-root://", "clientId": "c", "lastSeenServerSeq": seen, "subscriptions": [chat],
    });
    let replay = words.ask("reconnect", again).await.unwrap();
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

/// Connects a client of 0.1 that is subscribed to a session, and one of 1.0 that acts in it.
async fn first_and_last(server: &Server) -> (Words, Words) {
    let hello =
        json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "last"});
    let (mut last, _) = offer(server, hello).await;
    last.ask("createSession", json!({"channel": SESSION}))
        .await
        .unwrap();
    last.ask("subscribe", json!({"channel": chat_uri()}))
        .await
        .unwrap();
    let (mut first, _) = offer(server, json!({"protocolVersion": 1, "clientId": "first"})).await;
    first
        .ask("subscribe", json!({"resource": SESSION}))
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
async fn a_session_goes_on_when_its_chat_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (mut first, mut last) = first_and_last(&server).await;
    first
        .ask("subscribe", json!({"resource": chat_uri()}))
        .await
        .unwrap();
    let leave =
        json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"resource": chat_uri()}});
    first.raw.say(&leave.to_string()).await;
    // The response proves that the host has processed the `unsubscribe`.
    first.ask("listSessions", json!({})).await.unwrap();
    last.dispatch(start("t1")).await;
    first.until("session/turnComplete").await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_version_has_no_word_for_is_refused_as_it_was_said() {
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
    let refused = first.ask("subscribe", changes).await;
    assert_eq!(refused.unwrap_err()["code"], -32008);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn who_was_not_active_and_leaves_hears_who_is() {
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
async fn follower(server: &Server, version: &str) -> Words {
    let hello = json!({"channel": "ahp-root://", "protocolVersions": [version], "clientId": format!("of {version}")});
    let (mut words, _) = offer(server, hello).await;
    for channel in [SESSION, &chat_uri()] {
        words
            .ask("subscribe", json!({"channel": channel}))
            .await
            .unwrap();
    }
    words
}

/// Up to 0.6 a tool call delta must have `content`: it is empty if only the invocation message
/// changes.
#[tokio::test]
async fn a_piece_of_a_call_says_what_its_version_wants() {
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
    for (version, words) in &mut others {
        let heard = words.until("chat/toolCallDelta").await;
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
async fn what_is_no_action_is_refused_and_costs_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, _last) = first_and_last(&server).await;
    for version in ["0.2.0", "0.4.0", "0.9.0", "1.0.0"] {
        let mut words = follower(&server, version).await;
        for action in [json!([]), json!(null), json!("x"), json!(7)] {
            words
                .dispatch(json!({"channel": SESSION, "action": action}))
                .await;
            words
                .ask("listSessions", json!({"channel": "ahp-root://"}))
                .await
                .unwrap();
            let refused = words.heard.pop().unwrap();
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
async fn reasons_are_in_the_client_s_own_words() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let (_first, _last) = first_and_last(&server).await;
    let mut words = follower(&server, "0.4.0").await;
    let action = json!({"type": "session/activeClientChanged", "activeClient": null});
    words
        .dispatch(json!({"channel": chat_uri(), "action": action}))
        .await;
    let refused = words.until("session/activeClientChanged").await;
    assert_eq!(
        refused["rejectionReason"],
        "`session/activeClientChanged` does not belong on this channel"
    );
    server.stop().await.unwrap();
}

#[tokio::test]
async fn who_comes_back_and_is_not_known_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut words = Words::connect(&server).await;
    let params = json!({"clientId": "nobody", "lastSeenServerSeq": 3, "subscriptions": []});
    let error = words.ask("reconnect", params).await.unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("initialize"), "{error}");
    // A client can't create a session with the URI of the root channel.
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["0.9.0"], "clientId": "x"});
    words.ask("initialize", hello).await.unwrap();
    for root in ["agenthost:/root", "root:/"] {
        let refused = words.ask("createSession", json!({"channel": root})).await;
        assert_eq!(refused.unwrap_err()["code"], -32602, "{root}");
    }
    server.stop().await.unwrap();
}

/// A client that was updated may keep its id. If its `reconnect` does not fit the remembered
/// version, it has to initialize.
#[tokio::test]
async fn who_comes_back_in_other_words_has_to_say_hello() {
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
        let mut words = Words::connect(&server).await;
        let refused = words.ask("reconnect", greeting.clone()).await;
        assert_eq!(refused.unwrap_err()["code"], -32008, "{greeting}");
        let hello = json!({"protocolVersion": 1, "clientId": "first"});
        words.ask("initialize", hello).await.unwrap();
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
        let (words, hello) = offer(&server, hello).await;
        let seen = hello.unwrap()["serverSeq"].clone();
        drop(words);
        let mut words = Words::connect(&server).await;
        let again = json!({
            "clientId": version, "lastSeenServerSeq": seen, "subscriptions": ["ahp-root://", SESSION],
        });
        let missed = words.ask("reconnect", again).await.unwrap();
        let nothing = json!({"type": "replay", "actions": [], "missing": []});
        assert_eq!(missed, nothing, "{version}");
        // An unknown client gets the error that makes it initialize.
        let mut words = Words::connect(&server).await;
        let again = json!({"clientId": "x", "lastSeenServerSeq": seen, "subscriptions": []});
        let error = words.ask("reconnect", again).await.unwrap_err();
        assert_eq!(error["code"], -32008, "{version}");
    }
    server.stop().await.unwrap();
}

/// Up to 0.8 a resumed turn is encoded as a truncation and a new start. A client that has not
/// loaded the preceding turn gets that turn first, because the truncation refers to it.
#[tokio::test]
async fn a_turn_goes_on_for_who_sees_nothing_before_it() {
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
    let seen = old.ask("subscribe", latest).await.unwrap();
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
