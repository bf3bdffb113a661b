//! Clients that reconnect with one cursor per channel, as in AHP 1.1.

use std::collections::BTreeMap;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;
use agenthost_server::Server;
use serde_json::{Value, json};

use crate::legacy_clients::{JsonClient, host};
use crate::test_server::{
    Mirror, SESSION, approve, chat_uri, create_session, join, start, start_turn,
};

/// State of a client of 1.1: each channel with the last `serverSeq` that was applied to it.
#[derive(Default)]
pub(crate) struct Follower {
    pub(crate) channels: BTreeMap<String, (ChannelState, u64)>,
}

impl Follower {
    async fn join(server: &Server, name: &str) -> JsonClient {
        let mut json_client = JsonClient::connect(server).await;
        let hello = json!({
            "channel": "ahp-root://", "clientId": name, "protocolVersions": ["1.1.0", "1.0.0"],
        });
        let hello = json_client.request("initialize", hello).await.unwrap();
        assert_eq!(hello["protocolVersion"], "1.1.0");
        json_client
    }

    pub(crate) async fn subscribe(&mut self, json_client: &mut JsonClient, channel: &str) {
        // The host does not offer flow control windows, so it answers with an ordinary
        // subscription.
        let limits = json!({"receive": {"windowBytes": 65536}});
        let params = json!({"channel": channel, "flowControl": limits});
        let result = json_client.request("subscribe", params).await.unwrap();
        assert!(result.get("flowControl").is_none());
        self.start(&result["snapshot"]);
    }

    fn start(&mut self, snapshot: &Value) {
        let state = wire::from_str(&snapshot["state"].to_string()).unwrap();
        let channel = snapshot["resource"].as_str().unwrap().to_owned();
        let seq = snapshot["fromSeq"].as_u64().unwrap();
        self.channels.insert(channel, (state, seq));
    }

    pub(crate) fn apply(&mut self, envelope: &Value) {
        let channel = envelope["channel"].as_str().unwrap();
        let (state, cursor) = self.channels.get_mut(channel).unwrap();
        let seq = envelope["serverSeq"].as_u64().unwrap();
        assert!(seq > *cursor, "{seq} after {cursor}");
        *cursor = seq;
        let action: Action = wire::from_str(&envelope["action"].to_string()).unwrap();
        let outcome = state.reduce(&action);
        assert!(matches!(outcome, Outcome::Applied | Outcome::NoOp));
    }

    /// Returns the cursors of all channels.
    pub(crate) fn cursors(&self) -> Vec<Value> {
        let all = self.channels.iter();
        all.map(|(channel, (_, seq))| cursor(channel, *seq))
            .collect()
    }

    /// Reconnects on a new connection and returns the kinds of the outcomes.
    pub(crate) async fn recover(
        &mut self,
        server: &Server,
        client: &str,
        cursors: &[Value],
    ) -> (JsonClient, Vec<String>) {
        let mut json_client = JsonClient::connect(server).await;
        let params =
            json!({"channel": "ahp-root://", "clientId": client, "subscriptions": cursors});
        let result = json_client.request("reconnect", params).await.unwrap();
        let outcomes = result["channels"].as_array().unwrap();
        let named: Vec<_> = outcomes.iter().map(|outcome| &outcome["channel"]).collect();
        let asked: Vec<_> = cursors.iter().map(|cursor| &cursor["channel"]).collect();
        assert_eq!(named, asked);
        let mut kinds = Vec::new();
        for outcome in outcomes {
            let channel = outcome["channel"].as_str().unwrap();
            let kind = outcome["kind"].as_str().unwrap();
            match kind {
                "replay" => {
                    for envelope in outcome["actions"].as_array().unwrap() {
                        assert_eq!(envelope["channel"], channel);
                        self.apply(envelope);
                    }
                }
                "snapshot" => {
                    assert_eq!(outcome["snapshot"]["resource"], channel);
                    self.start(&outcome["snapshot"]);
                }
                _ => {
                    self.channels.remove(channel);
                }
            }
            kinds.push(kind.to_owned());
        }
        (json_client, kinds)
    }

    /// Asserts that all states equal the snapshots that another client gets.
    async fn check(&self, server: &Server) {
        let mut other = Self::join(server, "witness").await;
        let mut shown = Self::default();
        for (channel, (state, _)) in &self.channels {
            shown.subscribe(&mut other, channel).await;
            assert_eq!(comparable(&shown.channels[channel].0), comparable(state));
        }
    }
}

/// Returns a state without the fields that snapshots derive and no action contains (A-4, SYN-2).
pub(crate) fn comparable(state: &ChannelState) -> Value {
    let mut state = serde_json::to_value(state).unwrap();
    let fields = state.as_object_mut().unwrap();
    for derived in ["changes", "annotations", "status"] {
        fields.remove(derived);
    }
    state
}

pub(crate) fn cursor(channel: &str, seq: u64) -> Value {
    json!({"channel": channel, "lastSeenServerSeq": seq})
}

fn turn(id: &str, text: &str) -> Value {
    json!({"channel": chat_uri(), "action": {
        "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    }})
}

#[tokio::test]
async fn each_channel_is_recovered_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut json_client = Follower::join(&server, "a").await;
    let create = json!({"channel": SESSION, "provider": "scripted"});
    json_client.request("createSession", create).await.unwrap();
    let mut client = Follower::default();
    let chat = chat_uri();
    for channel in ["ahp-root://", SESSION, &chat] {
        client.subscribe(&mut json_client, channel).await;
    }
    drop(json_client);

    let mut other = Follower::join(&server, "b").await;
    other
        .request("subscribe", json!({"channel": chat}))
        .await
        .unwrap();
    other.dispatch(turn("t1", "say hello")).await;
    other.until("chat/turnComplete").await;
    let mut cursors = client.cursors();
    cursors.insert(1, cursor("ahp-session:/gone", 7));
    let (mut json_client, kinds) = client.recover(&server, "a", &cursors).await;
    assert_eq!(kinds, ["replay", "missing", "replay", "replay"]);
    // The subscriptions are live from here on, and no action is sent twice.
    other.dispatch(turn("t2", "say again")).await;
    json_client.until("chat/turnComplete").await;
    // The host sends the turn's remaining actions before it answers the ping.
    json_client.request("ping", json!({})).await.unwrap();
    for message in &json_client.heard {
        if message["method"] == "action" {
            client.apply(&message["params"]);
        }
    }
    client.check(&server).await;
    drop((json_client, other));
    server.stop().await.unwrap();

    // After a restart the log has every action, except for a channel without a baseline.
    let server = host(directory.path()).await;
    let mut cursors = client.cursors();
    let rooted = cursors.iter_mut().find(|one| one["channel"] == SESSION);
    rooted.unwrap()["lastSeenServerSeq"] = json!(0);
    let (json_client, kinds) = client.recover(&server, "a", &cursors).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "snapshot").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| *kind == "replay").count(), 2);
    client.check(&server).await;
    drop(json_client);

    // A `serverSeq` from the future can't be resumed from.
    let cursors = [cursor(&chat, 9_007_199_254_740_000), cursor(SESSION, 1)];
    let (_, kinds) = client.recover(&server, "a", &cursors).await;
    assert_eq!(kinds, ["snapshot", "snapshot"]);
    server.stop().await.unwrap();
}

/// REC-2: a replay that is too large for one result is replaced with a snapshot of its channel. The
/// other channels are still replayed.
#[tokio::test]
async fn an_oversized_replay_is_replaced_with_a_snapshot_of_its_channel() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let official = join(&server, "official").await;
    create_session(&official).await;
    let mut json_client = Follower::join(&server, "a").await;
    let mut client = Follower::default();
    let chat = chat_uri();
    client.subscribe(&mut json_client, &chat).await;
    let mut mirror = Mirror::open(&official).await;
    start_turn(
        &official,
        "t1",
        "read line; head -c 12000000 /dev/zero | tr '\\0' x",
    )
    .await;
    json_client.until("chat/toolCallReady").await;
    approve(&official, "t1", "once").await;
    let changed = json_client.until("chat/toolCallContentChanged").await;
    let content = changed["action"]["content"].as_array().unwrap();
    let terminal = content.iter().find_map(|one| one["resource"].as_str());
    let terminal = terminal.unwrap().to_owned();
    client.subscribe(&mut json_client, &terminal).await;
    let cursors = [
        cursor(&terminal, client.channels[&terminal].1),
        cursor(&chat, client.channels[&chat].1),
    ];
    let enter = json!({"type": "terminal/input", "data": "\n"});
    json_client
        .dispatch(json!({"channel": terminal, "action": enter}))
        .await;
    json_client.request("ping", json!({})).await.unwrap();
    drop(json_client);
    mirror.until_end().await;

    let (_words, kinds) = client.recover(&server, "a", &cursors).await;
    assert_eq!(kinds, ["snapshot", "replay"]);
    let (state, _) = client.channels.remove(&chat).unwrap();
    let ChannelState::Chat(state) = state else {
        panic!("expected a chat");
    };
    assert!(state.active_turn.is_none() && state.turns.len() == 1);
    // The terminal has exited, so its state is final.
    client.check(&server).await;
    server.stop().await.unwrap();
}

/// A client that used an older version and reconnects with cursors has been updated. Its new
/// version is unknown, so the host answers `-32008`, which makes every client initialize.
#[tokio::test]
async fn cursors_of_a_client_with_an_older_version_need_initialize() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    for version in ["0.9.0", "0.5.1", "0.3.0"] {
        let mut json_client = JsonClient::connect(&server).await;
        let hello =
            json!({"channel": "ahp-root://", "clientId": version, "protocolVersions": [version]});
        json_client.request("initialize", hello).await.unwrap();
        let mut json_client = JsonClient::connect(&server).await;
        let params = json!({"clientId": version, "subscriptions": [cursor("ahp-root://", 1)]});
        let refused = json_client.request("reconnect", params.clone()).await;
        assert_eq!(refused.unwrap_err()["code"], -32008, "{version}");
        let hello =
            json!({"channel": "ahp-root://", "clientId": version, "protocolVersions": ["1.1.0"]});
        json_client.request("initialize", hello).await.unwrap();
        let mut json_client = JsonClient::connect(&server).await;
        let result = json_client.request("reconnect", params).await.unwrap();
        assert_eq!(result["channels"][0]["kind"], "snapshot");
    }
    server.stop().await.unwrap();
}
