//! Transports other than a plain WebSocket (Unix socket, TLS), and a program that embeds the
//! server.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_server::{ServeError, Server, ServerConfig, TlsFiles, WireLogConfig, serve};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::Message;

use crate::raw_messages::Raw;
use crate::test_server::start;

#[path = "../../examples/own_agent.rs"]
#[expect(dead_code, reason = "its main is for a person to run")]
mod own_agent;

/// A client that sends and receives one message per line.
struct Lines(BufReader<UnixStream>);

impl Lines {
    async fn connect(path: &Path) -> Self {
        Lines(BufReader::new(UnixStream::connect(path).await.unwrap()))
    }

    async fn send(&mut self, text: &str) {
        let line = format!("{text}\n");
        self.0.get_mut().write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), self.0.read_line(&mut line));
        match read.await.unwrap() {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"a"}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

async fn on_socket(directory: &Path) -> (Server, std::path::PathBuf) {
    let path = directory.join("host.sock");
    let config = ServerConfig {
        listen: None,
        socket: Some(path.clone()),
        ..ServerConfig::new(directory.join("data"))
    };
    (serve(config).await.unwrap(), path)
}

/// A Unix socket carries one JSON message per line (TRN-1, TRN-10).
#[tokio::test]
async fn a_unix_socket_carries_one_message_per_line() {
    let directory = tempfile::tempdir().unwrap();
    let (server, path) = on_socket(directory.path()).await;
    assert_eq!(server.url(), None);
    let mode = path.symlink_metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = Lines::connect(&path).await;
    // Several messages at once, an empty line, a message in pieces, and a line that is not JSON.
    client.send(&format!("{INITIALIZE}\n\n{PING}")).await;
    assert_eq!(
        client.receive().await.unwrap()["result"]["protocolVersion"],
        "1.0.0"
    );
    assert_eq!(client.receive().await.unwrap()["id"], 2);
    let (first, second) = PING.split_at(10);
    client
        .0
        .get_mut()
        .write_all(first.as_bytes())
        .await
        .unwrap();
    tokio::task::yield_now().await;
    client.send(second).await;
    assert_eq!(client.receive().await.unwrap()["id"], 2);
    client.send("{").await;
    assert_eq!(client.receive().await.unwrap()["error"]["code"], -32700);

    // A line that is not UTF-8 closes only its own connection, and so does one that never ends.
    let mut garbage = Lines::connect(&path).await;
    garbage.0.get_mut().write_all(b"\xff\xfe\n").await.unwrap();
    assert_eq!(garbage.receive().await.unwrap()["error"]["code"], -32700);
    assert_eq!(garbage.receive().await, None);
    let mut endless = Lines::connect(&path).await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..20 {
        if endless.0.get_mut().write_all(&piece).await.is_err() {
            break;
        }
    }
    while let Some(answer) = endless.receive().await {
        assert_eq!(answer["error"]["code"], -32700);
    }
    client.send(PING).await;
    assert_eq!(client.receive().await.unwrap()["id"], 2);

    // A host does not replace the socket of a running host, nor another file.
    let other = ServerConfig {
        socket: Some(path.clone()),
        ..ServerConfig::new(directory.path().join("other"))
    };
    let taken = serve(other.clone()).await.unwrap_err();
    assert!(matches!(taken, ServeError::Socket { .. }), "{taken}");
    server.stop().await.unwrap();
    assert_eq!(client.receive().await, None);
    assert!(!path.exists());
    std::fs::write(&path, "precious").unwrap();
    assert!(serve(other.clone()).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    // A stale socket is replaced.
    std::fs::remove_file(&path).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    serve(other).await.unwrap().stop().await.unwrap();
}

/// RPC-1: a client that has shut down its writing half still gets its responses.
#[tokio::test]
async fn requests_before_a_half_close_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let (server, path) = on_socket(directory.path()).await;
    let mut client = Lines::connect(&path).await;
    let asked: String = (0..300)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"))
        .collect();
    client.send(asked.trim()).await;
    client.0.get_mut().shutdown().await.unwrap();
    for id in 0..300 {
        assert_eq!(client.receive().await.unwrap()["id"], id);
    }
    assert_eq!(client.receive().await, None);
    server.stop().await.unwrap();
}

/// A host that stops answers the requests that it has read.
#[tokio::test]
async fn a_stopping_host_answers_pending_requests() {
    let directory = tempfile::tempdir().unwrap();
    let (server, path) = on_socket(directory.path()).await;
    let mut client = Lines::connect(&path).await;
    client.send(INITIALIZE).await;
    client.receive().await.unwrap();
    let asked: String = (10..60)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"))
        .collect();
    client.send(asked.trim()).await;
    // The host has answered the first request, so it has read the others.
    assert_eq!(client.receive().await.unwrap()["id"], 10);
    tokio::time::sleep(Duration::from_millis(20)).await;
    server.stop().await.unwrap();
    for id in 11..60 {
        assert_eq!(client.receive().await.unwrap()["id"], id);
    }
    assert_eq!(client.receive().await, None);
}

/// SEC-3: TLS works, and addresses that other machines can reach require it.
#[tokio::test]
async fn tls_is_used_if_configured() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        certificate: directory.path().join("cert.pem"),
        key: directory.path().join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let config = ServerConfig {
        // With TLS any address is allowed.
        listen: Some("0.0.0.0:0".parse().unwrap()),
        tls: Some(files.clone()),
        ..ServerConfig::new(directory.path().join("data"))
    };
    let server = serve(config.clone()).await.unwrap();
    assert!(server.url().unwrap().starts_with("wss://"));
    let port = server.address.unwrap().port();

    // A silent connection does not block others.
    let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(client));
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, stream).await.unwrap();
    let url = format!("wss://localhost:{port}/?tkn={}", server.token);
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    socket.send(Message::text(PING)).await.unwrap();
    let answer = loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            break text;
        }
    };
    assert!(answer.contains(r#""result":null"#), "{answer}");
    // A connection without TLS is refused.
    let plain = format!("ws://127.0.0.1:{port}/?tkn={}", server.token);
    assert!(tokio_tungstenite::connect_async(plain).await.is_err());
    server.stop().await.unwrap();

    let wrong = TlsFiles {
        certificate: files.key.clone(),
        key: files.key,
    };
    let config = ServerConfig {
        tls: Some(wrong),
        ..config
    };
    let refused = serve(config).await.unwrap_err();
    assert!(matches!(refused, ServeError::Tls(_)), "{refused}");
}

/// SEC-4, SEC-9: the wire log contains no prompts, output or tokens unless contents are enabled.
#[tokio::test]
async fn the_wire_log_has_contents_only_if_enabled() {
    let directory = tempfile::tempdir().unwrap();
    for contents in [false, true] {
        let path = directory.path().join(format!("wire-{contents}.jsonl"));
        let config = ServerConfig {
            wire_log: Some(WireLogConfig {
                path: path.clone(),
                contents,
            }),
            ..ServerConfig::new(directory.path().join("data"))
        };
        let server = serve(config).await.unwrap();
        let mut raw = Raw::connect(&server).await;
        raw.request(INITIALIZE).await;
        let create = json!({"jsonrpc": "2.0", "id": 2, "method": "createSession", "params": {
            "channel": format!("ahp-session:/{contents}"), "workingDirectories": ["file:///secret"],
        }});
        raw.request(&create.to_string()).await;
        server.stop().await.unwrap();
        let log = std::fs::read_to_string(&path).unwrap();
        assert_eq!(log.contains("secret"), contents, "{log}");
        let lines: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["method"], "initialize");
        assert_eq!(lines[0]["direction"], "in");
        assert_eq!(lines[1]["direction"], "out");
        assert!(lines.iter().any(|line| line["method"] == "createSession"));
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_program_can_embed_its_own_agent() {
    let directory = tempfile::tempdir().unwrap();
    let server = own_agent::start(directory.path()).await.unwrap();
    let client = crate::test_server::join(&server, "a").await;
    crate::test_server::create_session(&client).await;
    let mut mirror = crate::test_server::Mirror::open(&client).await;
    crate::test_server::start_turn(&client, "t1", "Polly wants a cracker").await;
    mirror.until_end().await;
    let turn = &mirror.json()["turns"][0];
    assert_eq!(turn["responseParts"][0]["content"], "Polly wants a cracker");
    server.stop().await.unwrap();
}

/// The file with the host's URL and token exists exactly as long as the host runs.
#[tokio::test]
async fn the_host_file_exists_while_the_host_runs() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let path = directory.path().join(agenthost_server::HOST_FILE);
    let said: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(said["url"], server.url().unwrap());
    assert_eq!(said["token"], server.token);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    server.stop().await.unwrap();
    assert!(!path.exists());
}
