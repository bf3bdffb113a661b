//! Starts servers for tests, and connects the official client to them.

use std::path::Path;
use std::time::Duration;

use agenthost_protocol::uri::Uri;
use agenthost_server::{Server, ServerConfig, serve};
use ahp::reducers::apply_action_to_chat;
use ahp::{Client, ClientConfig, SubscriptionEvent};
use ahp_types::actions::StateAction;
use ahp_types::state::{ChatState, SnapshotState};
use serde_json::{Value, json};

pub(crate) const SESSION: &str = "ahp-session:/s1";

/// Returns the URI of a folder that only the tests write to, because changes in the folder of a
/// session are reported in its turns.
pub(crate) fn folder() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("folder");
    std::fs::create_dir_all(&folder).unwrap();
    agenthost_workspace::uri_of(&folder).unwrap().to_string()
}

pub(crate) fn chat_uri() -> String {
    agenthost_core::resource::uris::default_chat_uri(&Uri::from(SESSION)).to_string()
}

pub(crate) fn config(directory: &Path) -> ServerConfig {
    ServerConfig::new(directory)
}

pub(crate) async fn start(directory: &Path) -> Server {
    serve(config(directory)).await.unwrap()
}

pub(crate) fn address(server: &Server) -> String {
    format!("{}?tkn={}", server.url().unwrap(), server.token)
}

/// Connects an official client without initializing it.
pub(crate) async fn connect(server: &Server) -> Client {
    let transport = ahp_ws::WebSocketTransport::connect(&address(server))
        .await
        .unwrap();
    Client::connect(transport, ClientConfig::default())
        .await
        .unwrap()
}

/// Connects and initializes an official client.
pub(crate) async fn join(server: &Server, name: &str) -> Client {
    let client = connect(server).await;
    let root = vec!["ahp-root://".to_owned()];
    let versions = vec![ahp_types::PROTOCOL_VERSION.to_owned()];
    let result = client
        .initialize(name.to_owned(), versions, root)
        .await
        .unwrap();
    assert_eq!(result.protocol_version, "1.0.0");
    assert!(matches!(result.snapshots[0].state, SnapshotState::Root(_)));
    client
}

/// A mirror of a chat, maintained with the official reducers.
pub(crate) struct Mirror {
    pub(crate) chat: ChatState,
    pub(crate) seen: i64,
    subscription: ahp::SessionSubscription,
}

impl Mirror {
    pub(crate) async fn open(client: &Client) -> Self {
        let (result, subscription) = client.subscribe(chat_uri()).await.unwrap();
        let snapshot = result.snapshot.unwrap();
        let SnapshotState::Chat(chat) = snapshot.state else {
            panic!("expected a chat");
        };
        Mirror {
            chat: *chat,
            seen: snapshot.from_seq,
            subscription,
        }
    }

    /// Continues the mirror on another connection.
    pub(crate) async fn resume(self, client: &Client) -> Self {
        Mirror {
            subscription: client.attach_subscription(&chat_uri()).await,
            ..self
        }
    }

    /// Applies the next action and returns it.
    pub(crate) async fn next(&mut self) -> StateAction {
        let event = tokio::time::timeout(Duration::from_secs(20), self.subscription.recv());
        let Some(SubscriptionEvent::Action(envelope)) = event.await.unwrap() else {
            panic!("the connection ended");
        };
        assert_eq!(envelope.rejection_reason, None);
        self.apply(&envelope.action, envelope.server_seq as i64);
        envelope.action
    }

    pub(crate) fn apply(&mut self, action: &StateAction, seq: i64) {
        assert!(seq > self.seen);
        self.seen = seq;
        apply_action_to_chat(&mut self.chat, action);
    }

    pub(crate) async fn until(&mut self, wanted: impl Fn(&StateAction) -> bool) -> StateAction {
        loop {
            let action = self.next().await;
            if wanted(&action) {
                return action;
            }
        }
    }

    pub(crate) async fn until_end(&mut self) {
        self.until(|action| {
            matches!(
                action,
                StateAction::ChatTurnComplete(_)
                    | StateAction::ChatTurnCancelled(_)
                    | StateAction::ChatError(_)
            )
        })
        .await;
    }

    pub(crate) fn json(&self) -> Value {
        comparable_chat(&self.chat)
    }
}

/// Returns a chat without its number of changes: the session publishes it (SYN-2), and only a
/// snapshot of the chat contains it.
pub(crate) fn comparable_chat(chat: &ChatState) -> Value {
    let chat = ChatState {
        changes: None,
        ..chat.clone()
    };
    serde_json::to_value(chat).unwrap()
}

pub(crate) async fn create_session(client: &Client) {
    let (_, mut root) = client.subscribe("ahp-root://".to_owned()).await.unwrap();
    let params = json!({"channel": SESSION, "workingDirectories": [folder()]});
    let () = client.request("createSession", params).await.unwrap();
    // Waits until the list of sessions contains it.
    loop {
        match root.recv().await.unwrap() {
            SubscriptionEvent::SessionAdded(added) => {
                assert_eq!(added.summary.resource, SESSION);
                break;
            }
            _ => continue,
        }
    }
    let (result, mut session) = client.subscribe(SESSION.to_owned()).await.unwrap();
    let state = serde_json::to_value(result.snapshot.unwrap().state).unwrap();
    if state["lifecycle"] == "ready" {
        return;
    }
    loop {
        if let Some(SubscriptionEvent::Action(envelope)) = session.recv().await
            && matches!(envelope.action, StateAction::SessionReady(_))
        {
            return;
        }
    }
}

pub(crate) async fn dispatch(client: &Client, action: Value) {
    let action: StateAction = serde_json::from_value(action).unwrap();
    assert!(!matches!(action, StateAction::Unknown(_)));
    client.dispatch(chat_uri(), action).await.unwrap();
}

pub(crate) async fn start_turn(client: &Client, turn: &str, text: &str) {
    let message = json!({"text": text, "origin": {"kind": "user"}});
    dispatch(client, json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z", "message": message})).await;
}

pub(crate) async fn approve(client: &Client, turn: &str, option: &str) {
    dispatch(client, json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": "command", "approved": true, "confirmed": "user-action", "selectedOptionId": option})).await;
}
