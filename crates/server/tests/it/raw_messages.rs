//! Malformed messages that no correct client sends.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::test_server::{address, start};

type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

pub(crate) struct Raw(pub(crate) Socket);

impl Raw {
    pub(crate) async fn connect(server: &agenthost_server::Server) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(address(server))
            .await
            .unwrap();
        Raw(socket)
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Returns the next message, or `None` once the connection is closed.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), self.0.next());
            match next.await.unwrap()? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub(crate) async fn request(&mut self, text: &str) -> Value {
        self.send(text).await;
        self.receive().await.unwrap()
    }

    /// Sends a request and returns its response. Notifications that come first are dropped.
    pub(crate) async fn call(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string()).await;
        loop {
            let message = self.receive().await.unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn malformed_messages_get_errors_and_the_connection_stays_open() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let cases = [
        ("{", -32700, Value::Null),
        ("", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("42", -32600, Value::Null),
        (
            r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#,
            -32600,
            json!("x"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"nope"}"#,
            -32601,
            json!(1.5),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"y","method":"subscribe"}"#,
            -32602,
            json!("y"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"listSessions","params":{"channel":"ahp-root://"}}"#,
            -32600,
            json!(2),
        ),
    ];
    for (text, code, id) in cases {
        let answer = raw.request(text).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], id);
    }
    // Unknown notifications and unexpected responses are ignored.
    raw.send(r#"{"jsonrpc":"2.0","method":"whatever"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","id":9,"result":null}"#).await;
    let ping = raw
        .request(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
        .await;
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": "p", "result": null}));
    // A binary frame with JSON is accepted like a text frame (TRN-3).
    let bytes = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_vec();
    raw.0.send(Message::binary(bytes)).await.unwrap();
    assert_eq!(raw.receive().await.unwrap()["id"], 7);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn an_oversized_message_closes_only_its_connection() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut large = Raw::connect(&server).await;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(17 << 20)
    );
    // The host may close the connection while the client is still sending; the client may then miss
    // the error.
    drop(large.0.send(Message::text(text)).await);
    while let Some(answer) = large.receive().await {
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    }
    let mut other = Raw::connect(&server).await;
    let ping = other
        .request(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    assert_eq!(ping["result"], Value::Null);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn an_unsupported_version_closes_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    let answer = raw
        .request(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["9.0.0"],"clientId":"a"}}"#)
        .await;
    assert_eq!(answer["error"]["code"], -32005);
    let spoken = answer["error"]["data"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert_eq!(spoken[0], "^1.0.0");
    assert_eq!(spoken.len(), 12);
    assert!(raw.receive().await.is_none());
    server.stop().await.unwrap();
}

/// TRN-8: responses and actions are sent in the order in which the host produced them.
#[tokio::test]
async fn a_snapshot_is_sent_before_later_actions() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"a"}}"#;
    raw.request(initialize).await;
    raw.send(r#"{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"s:/1"}}"#)
        .await;
    raw.send(r#"{"jsonrpc":"2.0","id":3,"method":"subscribe","params":{"channel":"s:/1"}}"#)
        .await;
    for title in ["one", "two", "three"] {
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"dispatchAction","params":{{"channel":"s:/1","clientSeq":1,"action":{{"type":"session/titleChanged","title":"{title}"}}}}}}"#)).await;
    }
    assert_eq!(raw.receive().await.unwrap()["id"], 2);
    let snapshot = raw.receive().await.unwrap();
    assert_eq!(snapshot["id"], 3);
    let mut last = snapshot["result"]["snapshot"]["fromSeq"].as_u64().unwrap();
    let mut titles = Vec::new();
    while titles.len() < 3 {
        let message = raw.receive().await.unwrap();
        let seq = message["params"]["serverSeq"].as_u64().unwrap();
        assert!(seq > last);
        last = seq;
        if let Some(title) = message["params"]["action"]["title"].as_str() {
            titles.push(title.to_owned());
        }
    }
    assert_eq!(titles, ["one", "two", "three"]);
    server.stop().await.unwrap();
}

/// The host sends a close frame with a reason, and answers a close frame of the client.
#[tokio::test]
async fn a_close_frame_has_a_code_and_a_reason() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    // A frame sent after the handshake, and the close code of the answer.
    let cases: [(&[u8], u16); 3] = [
        // A frame without a mask.
        (&[0x81, 0x02, b'{', b'}'], 1002),
        // A text frame that is not UTF-8, masked with zeros.
        (&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], 1007),
        // A close frame.
        (&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8], 1000),
    ];
    for (frame, code) in cases {
        let address = server.address.unwrap();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET /?tkn={} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.token
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.write_all(frame).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let close = answer.windows(4).rev().find(|bytes| bytes[0] == 0x88);
        let close = close.unwrap_or_else(|| panic!("no farewell for {code}: {answer:?}"));
        assert_eq!(u16::from_be_bytes([close[2], close[3]]), code);
    }
    server.stop().await.unwrap();
}
