//! Clients written from the specifications of 0.1 to 0.4 alone, without any client library.

use agenthost_server::Server;
use serde_json::{Value, json};

use crate::legacy_clients::{JsonClient, host};
use crate::test_server::chat_uri;

const SESSION: &str = "ahp-session:/s1";

/// Differences between the encodings of versions.
#[derive(Clone, Copy)]
struct ReleaseEncoding {
    version: &'static str,
    /// Whether messages contain their channel.
    channels: bool,
    /// Whether a conversation has its own channel.
    chats: bool,
    /// Name of the field with a user's message.
    message: &'static str,
}

const FIRST: ReleaseEncoding = ReleaseEncoding {
    version: "0.1.0",
    channels: false,
    chats: false,
    message: "userMessage",
};

const SECOND: ReleaseEncoding = ReleaseEncoding {
    version: "0.2.0",
    channels: true,
    ..FIRST
};

const THIRD: ReleaseEncoding = ReleaseEncoding {
    version: "0.3.0",
    message: "message",
    ..SECOND
};

const FOURTH: ReleaseEncoding = ReleaseEncoding {
    version: "0.4.0",
    chats: true,
    ..THIRD
};

/// A client that is subscribed to one conversation.
struct SpecificationClient {
    wording: ReleaseEncoding,
    json_client: JsonClient,
}

impl SpecificationClient {
    async fn join(server: &Server, wording: ReleaseEncoding, name: &str) -> Self {
        let mut json_client = JsonClient::connect(server).await;
        let hello = if wording.channels {
            json!({"channel": "ahp-root://", "protocolVersions": [wording.version], "clientId": name, "initialSubscriptions": ["ahp-root://"]})
        } else {
            json!({"protocolVersion": 1, "clientId": name, "initialSubscriptions": ["agenthost:/root"]})
        };
        let welcome = json_client.request("initialize", hello).await.unwrap();
        let root = &welcome["snapshots"][0];
        assert_eq!(root["state"]["agents"][0]["provider"], "scripted");
        let (version, address) = match wording.channels {
            true => (json!(wording.version), "ahp-root://"),
            false => (json!(1), "agenthost:/root"),
        };
        assert_eq!(welcome["protocolVersion"], version);
        assert_eq!(root["resource"], address);
        SpecificationClient {
            wording,
            json_client,
        }
    }

    fn conversation_channel(&self) -> String {
        match self.wording.chats {
            true => chat_uri(),
            false => SESSION.to_owned(),
        }
    }

    /// Adds the channel to parameters, in the field that the version defines.
    fn with_channel(&self, channel: &str, old: &str, more: Value) -> Value {
        let mut params = more;
        let field = if self.wording.channels {
            "channel"
        } else {
            old
        };
        params[field] = json!(channel);
        params
    }

    async fn create(&mut self) {
        let params = self.with_channel(SESSION, "session", json!({"provider": "scripted"}));
        let created = self
            .json_client
            .request("createSession", params)
            .await
            .unwrap();
        assert_eq!(created, Value::Null);
    }

    async fn subscribe(&mut self) -> Value {
        let channel = self.conversation_channel();
        let params = self.with_channel(&channel, "resource", json!({}));
        let result = self.json_client.request("subscribe", params).await.unwrap();
        result["snapshot"].clone()
    }

    /// Returns the type of a conversation action in this version.
    fn kind(&self, name: &str) -> String {
        let prefix = if self.wording.chats {
            "chat"
        } else {
            "session"
        };
        format!("{prefix}/{name}")
    }

    async fn dispatch(&mut self, name: &str, fields: Value) -> u64 {
        let mut action = fields;
        action["type"] = json!(self.kind(name));
        let channel = self.conversation_channel();
        let params = match self.wording.channels {
            true => json!({"channel": channel, "action": action}),
            false => {
                action["session"] = json!(channel);
                json!({"action": action})
            }
        };
        self.json_client.dispatch(params).await
    }

    async fn send(&mut self, turn: &str, text: &str) -> u64 {
        let mut message = json!({"text": text});
        if self.wording.message == "message" {
            message["origin"] = json!({"kind": "user"});
        }
        let fields = json!({"turnId": turn, self.wording.message: message});
        self.dispatch("turnStarted", fields).await
    }

    /// Waits for an action of the conversation and checks its channel.
    async fn until(&mut self, name: &str) -> Value {
        let kind = self.kind(name);
        let envelope = self.json_client.until(&kind).await;
        let channel = json!(self.conversation_channel());
        match self.wording.channels {
            true => assert_eq!(envelope["channel"], channel),
            false => {
                assert_eq!(envelope.get("channel"), None);
                assert_eq!(envelope["action"]["session"], channel);
            }
        }
        envelope
    }
}

/// Runs everything that the first specifications describe for a client.
async fn check_every_event(wording: ReleaseEncoding) {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut reader = SpecificationClient::join(&server, wording, "reader").await;
    reader.create().await;
    let root = reader.with_channel("ahp-root://", "unused", json!({}));
    let listed = reader
        .json_client
        .request("listSessions", root)
        .await
        .unwrap();
    let summary = &listed["items"][0];
    assert_eq!(summary["resource"], SESSION);
    assert!(summary["createdAt"].is_i64() && summary["modifiedAt"].is_i64());

    let snapshot = reader.subscribe().await;
    assert_eq!(snapshot["resource"], reader.conversation_channel());
    assert_eq!(snapshot["state"]["turns"], json!([]));
    if !wording.chats {
        assert_eq!(snapshot["state"]["summary"]["resource"], SESSION);
    }
    let seen = snapshot["fromSeq"].as_u64().unwrap();

    // A turn with a tool call that requires approval, and a form.
    let script = "say hello\ncall c read ask\nwait\n+ done c\nform q {\"message\": \"Who?\", \"questions\": [{\"kind\": \"text\", \"id\": \"name\", \"message\": \"Name?\", \"required\": true}]}\nwait\n+ say thanks";
    let number = reader.send("t1", script).await;
    let started = reader.until("turnStarted").await;
    assert_eq!(
        started["origin"],
        json!({"clientId": "reader", "clientSeq": number})
    );
    assert_eq!(started["action"][wording.message]["text"], script);
    reader.until("toolCallReady").await;
    let yes =
        json!({"turnId": "t1", "toolCallId": "c", "approved": true, "confirmed": "user-action"});
    reader.dispatch("toolCallConfirmed", yes).await;
    reader.until("toolCallComplete").await;
    let request = reader.until("inputRequested").await["action"]["request"].clone();
    assert_eq!(request["questions"][0]["id"], "name");
    let name = json!({"state": "submitted", "value": {"kind": "text", "value": "Ada"}});
    let answers =
        json!({"requestId": request["id"], "response": "accept", "answers": {"name": name}});
    reader.dispatch("inputCompleted", answers).await;
    reader.until("inputCompleted").await;
    reader.until("turnComplete").await;

    // A turn that is cancelled, and one that fails.
    reader.send("t2", "hang").await;
    reader.until("turnStarted").await;
    reader
        .dispatch("turnCancelled", json!({"turnId": "t2"}))
        .await;
    reader.until("turnCancelled").await;
    reader.send("t3", "resumable").await;
    let error = reader.until("error").await;
    assert!(error["action"]["error"]["message"].is_string(), "{error}");

    // An invalid action is rejected and returned as it was sent.
    let number = reader
        .dispatch("turnComplete", json!({"turnId": "t9"}))
        .await;
    let refused = reader.until("turnComplete").await;
    assert!(refused["rejectionReason"].is_string());
    assert_eq!(refused["origin"]["clientSeq"], number);

    let turns = reader.subscribe().await["state"]["turns"].clone();
    let states: Vec<_> = turns
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["state"])
        .collect();
    assert_eq!(states, ["complete", "cancelled", "error"]);
    assert!(turns[2]["error"]["message"].is_string());
    server.stop().await.unwrap();

    // The client reconnects after a restart: it gets a replay or a snapshot.
    let server = host(directory.path()).await;
    for (seen, kind) in [(seen, "replay"), (0, "snapshot")] {
        let mut json_client = JsonClient::connect(&server).await;
        let again = json!({
            "clientId": "reader", "lastSeenServerSeq": seen, "subscriptions": [reader.conversation_channel()],
        });
        let again = match wording.channels {
            true => reader.with_channel("ahp-root://", "", again),
            false => again,
        };
        let missed = json_client.request("reconnect", again).await.unwrap();
        assert_eq!(missed["type"], kind, "{missed}");
        match kind {
            "replay" => {
                let actions = missed["actions"].as_array().unwrap();
                let kinds: Vec<_> = actions.iter().map(|one| &one["action"]["type"]).collect();
                for name in [
                    "turnStarted",
                    "toolCallConfirmed",
                    "inputCompleted",
                    "error",
                ] {
                    assert!(
                        kinds.contains(&&json!(reader.kind(name))),
                        "{name} in {kinds:?}"
                    );
                }
            }
            _ => {
                assert_eq!(missed["snapshots"].as_array().unwrap().len(), 1);
                assert_eq!(missed["snapshots"][0]["state"]["turns"], turns);
            }
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_0_1_client_receives_every_event() {
    check_every_event(FIRST).await;
}

#[tokio::test]
async fn a_0_2_client_receives_every_event() {
    check_every_event(SECOND).await;
}

#[tokio::test]
async fn a_0_3_client_receives_every_event() {
    check_every_event(THIRD).await;
}

#[tokio::test]
async fn a_0_4_client_receives_every_event() {
    check_every_event(FOURTH).await;
}
