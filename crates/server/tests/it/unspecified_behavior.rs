//! Behavior of released clients that AHP 1.0 does not specify, tested in every older version.

use agenthost_core::resource::uris::default_chat_uri;
use agenthost_protocol::uri::Uri;
use agenthost_server::Server;
use serde_json::{Value, json};

use crate::legacy_clients::{JsonClient, host};

const VERSIONS: [&str; 11] = [
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8.0",
    "0.9.0",
];

/// A client of an older version, with the encoding of that version.
struct LegacyClient {
    version: &'static str,
    json_client: JsonClient,
}

impl LegacyClient {
    async fn join(server: &Server, version: &'static str) -> Self {
        let mut json_client = JsonClient::connect(server).await;
        let client = format!("of {version}");
        let hello = match version {
            "0.1.0" => json!({"protocolVersion": 1, "clientId": client}),
            _ => {
                json!({"channel": "ahp-root://", "protocolVersions": [version], "clientId": client})
            }
        };
        json_client.request("initialize", hello).await.unwrap();
        LegacyClient {
            version,
            json_client,
        }
    }

    fn has_channels(&self) -> bool {
        self.version != "0.1.0"
    }

    fn has_chats(&self) -> bool {
        !["0.1.0", "0.2.0", "0.3.0"].contains(&self.version)
    }

    fn with_channel(&self, channel: &str, old: &str, mut params: Value) -> Value {
        let field = if self.has_channels() { "channel" } else { old };
        params[field] = json!(channel);
        params
    }

    /// Returns the channel of a session's conversation.
    fn conversation_channel(&self, session: &str) -> String {
        match self.has_chats() {
            true => default_chat_uri(&Uri::from(session)).to_string(),
            false => session.to_owned(),
        }
    }

    fn kind(&self, name: &str) -> String {
        let prefix = if self.has_chats() { "chat" } else { "session" };
        format!("{prefix}/{name}")
    }

    fn turn(&self, session: &str, text: &str) -> Value {
        let mut message = json!({"text": text});
        let field = match self.version {
            "0.1.0" | "0.2.0" => "userMessage",
            _ => {
                message["origin"] = json!({"kind": "user"});
                "message"
            }
        };
        let mut action = json!({
            "type": self.kind("turnStarted"), "turnId": "t1",
            "startedAt": "2026-01-05T09:00:00Z", field: message,
        });
        let channel = self.conversation_channel(session);
        if self.has_channels() {
            return json!({"channel": channel, "action": action});
        }
        action["session"] = json!(channel);
        json!({"action": action})
    }

    async fn subscribe(&mut self, channel: &str) -> Value {
        let params = self.with_channel(channel, "resource", json!({}));
        self.json_client.request("subscribe", params).await.unwrap()
    }
}

/// A client creates a session whose URI has the agent's id as its scheme and whose configuration
/// the agent does not support, and starts a turn before the session is ready.
#[tokio::test]
async fn a_client_can_use_a_session_before_it_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    for version in VERSIONS {
        let mut old = LegacyClient::join(&server, version).await;
        let session = format!("scripted:/of-{version}");
        let config =
            json!({"isolation": "folder", "autoApprove": "default", "mode": "interactive"});
        let create = json!({"provider": "scripted", "config": config});
        let create = old.with_channel(&session, "session", create);
        let created = old.json_client.request("createSession", create).await;
        assert_eq!(created, Ok(Value::Null), "{version}");
        let channel = old.conversation_channel(&session);
        old.subscribe(&channel).await;
        let turn = old.turn(&session, "say hello");
        let number = old.json_client.dispatch(turn).await;
        let started = old.json_client.until(&old.kind("turnStarted")).await;
        assert_eq!(started.get("rejectionReason"), None, "{version}: {started}");
        assert_eq!(started["origin"]["clientSeq"], number, "{version}");
        old.json_client.until(&old.kind("turnComplete")).await;
    }
    server.stop().await.unwrap();
}

/// Unknown settings are ignored, not rejected, also if every dispatch has the `clientSeq` 0.
#[tokio::test]
async fn unknown_settings_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    for version in VERSIONS {
        let mut old = LegacyClient::join(&server, version).await;
        let root = if version == "0.1.0" {
            "agenthost:/root"
        } else {
            "ahp-root://"
        };
        old.subscribe(root).await;
        for config in [
            json!({"http.proxy": ""}),
            json!({"clientToolTimeout": 60, "x": 1}),
        ] {
            let action = json!({"type": "root/configChanged", "config": config});
            let params = match version {
                "0.1.0" => json!({"action": action}),
                _ => json!({"channel": root, "action": action}),
            };
            old.json_client.dispatch_as(params, 0).await;
            let heard = old.json_client.until("root/configChanged").await;
            assert_eq!(heard.get("rejectionReason"), None, "{version}: {heard}");
            assert_eq!(heard["origin"]["clientSeq"], 0, "{version}");
            assert_eq!(heard["action"]["config"].get("x"), None, "{version}");
        }
    }
    server.stop().await.unwrap();
}

/// A channel is found by a URI that a client has parsed and formatted again, with other characters
/// escaped.
#[tokio::test]
async fn channels_are_found_with_any_uri_escaping() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let hello = json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "n"});
    let mut new = JsonClient::connect(&server).await;
    new.request("initialize", hello).await.unwrap();
    let session = "ahp-session:/a(b)%2Dc";
    let create = json!({"channel": session, "provider": "scripted"});
    new.request("createSession", create).await.unwrap();
    let printed = "ahp-session:/a%28b%29-c";
    for version in VERSIONS {
        let mut old = LegacyClient::join(&server, version).await;
        let found = old.subscribe(printed).await;
        assert!(found["snapshot"].is_object(), "{version}: {found}");
    }
    // In 1.0 a URI is compared as its client wrote it (SUB-10).
    let refused = new.request("subscribe", json!({"channel": printed})).await;
    assert_eq!(refused.unwrap_err()["code"], -32001);
    server.stop().await.unwrap();
}
