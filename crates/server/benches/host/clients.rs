//! Clients that read, and one that does not.

use agenthost_protocol::uri::Uri;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::agent::now;

pub(crate) const SESSION: &str = "ahp-session:/bench";

pub(crate) fn chat() -> String {
    agenthost_core::resource::uris::default_chat_uri(&Uri::from(SESSION)).to_string()
}

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A client past its handshake.
pub(crate) struct Client(pub(crate) Socket);

impl Client {
    pub(crate) async fn connect(url: &str, name: &str) -> Self {
        Client::of(url, name, "1.0.0").await
    }

    /// One that speaks a version since there are chats.
    pub(crate) async fn of(url: &str, name: &str, version: &str) -> Self {
        // Small messages go at once, as with any good client.
        let connecting = tokio_tungstenite::connect_async_with_config(url, None, true);
        let (socket, _) = connecting.await.unwrap();
        let mut client = Client(socket);
        let hello =
            json!({"channel": "ahp-root://", "protocolVersions": [version], "clientId": name});
        client.ask("initialize", hello).await;
        client
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.0
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
        loop {
            let text = self.hear().await;
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == method {
                assert!(answer.get("error").is_none(), "{answer}");
                return answer["result"].clone();
            }
        }
    }

    pub(crate) async fn hear(&mut self) -> String {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return text.as_str().to_owned(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// Makes the session, and waits until it can be used.
    pub(crate) async fn create(&mut self) {
        self.create_with(json!({"channel": SESSION})).await;
    }

    /// The same, with more to say about it.
    pub(crate) async fn create_with(&mut self, params: Value) {
        self.ask("createSession", params).await;
        loop {
            let result = self.ask("subscribe", json!({"channel": SESSION})).await;
            if result["snapshot"]["state"]["lifecycle"] == "ready" {
                break;
            }
            tokio::task::yield_now().await;
        }
        let unsubscribe =
            json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": SESSION}});
        self.0
            .send(Message::text(unsubscribe.to_string()))
            .await
            .unwrap();
    }

    pub(crate) async fn subscribe(&mut self, channel: &str) {
        self.ask("subscribe", json!({"channel": channel})).await;
    }

    pub(crate) async fn start_turn(&mut self, turn: &str, text: &str) {
        let action = json!({
            "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        });
        self.dispatch(&action).await;
    }

    pub(crate) async fn dispatch(&mut self, action: &Value) {
        let dispatch = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
            "channel": chat(), "clientSeq": 1, "action": action,
        }});
        self.0
            .send(Message::text(dispatch.to_string()))
            .await
            .unwrap();
    }

    /// Reads up to the end of the turn; how long each piece took to come, in
    /// nanoseconds.
    pub(crate) async fn read_turn(&mut self) -> Vec<u64> {
        let mut latencies = Vec::new();
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => {
                    if let Some(said) = stamp(&text) {
                        latencies.push(u64::try_from(now().saturating_sub(said)).unwrap());
                    } else if text.contains("chat/turnComplete") {
                        return latencies;
                    }
                }
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
    }
}

/// When a piece was said, if it is one.
pub(crate) fn stamp(text: &str) -> Option<u128> {
    let (_, rest) = text.split_once('<')?;
    let (number, _) = rest.split_once('>')?;
    number.parse().ok()
}

/// A value below which so many of a hundred are.
pub(crate) fn percentile(values: &mut [u64], percent: usize) -> f64 {
    values.sort_unstable();
    let index = (values.len() * percent / 100).min(values.len() - 1);
    values[index] as f64
}
