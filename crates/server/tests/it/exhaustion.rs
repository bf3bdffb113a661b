//! Peers without a token that exhaust the connection slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agenthost_server::{Server, ServerConfig, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::raw_messages::Raw;
use crate::test_server::start;
use crate::tls::{self, TlsClient};

/// More connections than a listener has slots for.
const IDLE: usize = 200;

/// Half of the time until the first idle connection times out: whatever happens before this
/// deadline is not caused by a timeout.
const EVICTION_DEADLINE: Duration = Duration::from_secs(5);

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Opens connections that send nothing but an incomplete beginning.
async fn open_idle_connections(server: &Server, beginning: &[u8]) -> Vec<TcpStream> {
    let port = server.address.unwrap().port();
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        // Fails if the connection has been evicted already.
        drop(stream.write_all(beginning).await);
        idle.push(stream);
    }
    idle
}

/// Waits for the end of the oldest connections, which have to make room for the others.
async fn wait_for_eviction(idle: &mut [TcpStream]) {
    for stream in &mut idle[..IDLE / 4] {
        let mut rest = Vec::new();
        // The connection may be closed or reset.
        drop(stream.read_to_end(&mut rest).await);
    }
}

#[tokio::test]
async fn idle_connections_do_not_keep_a_client_out() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut before = Raw::connect(&server).await;
    for beginning in [&b""[..], b"GET / HTTP/1.1\r\nHost: a\r\n"] {
        let coming_in = async {
            let mut idle = open_idle_connections(&server, beginning).await;
            let mut client = Raw::connect(&server).await;
            assert_eq!(client.request(PING).await["id"], 1);
            wait_for_eviction(&mut idle).await;
            // Connected clients are not evicted.
            assert_eq!(before.request(PING).await["id"], 1);
            assert_eq!(client.request(PING).await["id"], 1);
            idle
        };
        let coming_in = tokio::time::timeout(EVICTION_DEADLINE, coming_in).await;
        assert!(coming_in.is_ok(), "idle connections kept a client out");
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn idle_connections_do_not_keep_a_tls_client_out() {
    let directory = tempfile::tempdir().unwrap();
    let (files, certificate) = tls::write_certificate(directory.path());
    let config = ServerConfig {
        tls: Some(files),
        ..ServerConfig::new(directory.path().join("data"))
    };
    let server = serve(config).await.unwrap();
    let mut before = TlsClient::connect(&server, &certificate).await.unwrap();
    // Nothing, and the first bytes of a handshake.
    for beginning in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let coming_in = async {
            let mut idle = open_idle_connections(&server, beginning).await;
            let mut client = TlsClient::connect(&server, &certificate).await.unwrap();
            client.ping().await;
            wait_for_eviction(&mut idle).await;
            before.ping().await;
            client.ping().await;
            idle
        };
        let coming_in = tokio::time::timeout(EVICTION_DEADLINE, coming_in).await;
        assert!(coming_in.is_ok(), "idle connections kept a client out");
    }
    server.stop().await.unwrap();
}

/// A connection that requests anything but a WebSocket is closed after one response, so it can't
/// stay open by repeating requests.
#[tokio::test]
async fn a_connection_without_a_token_gets_one_answer() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    for path in ["/healthz", "/?tkn=wrong"] {
        let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").repeat(100);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A reset may follow: the host has not read the other requests.
        drop(stream.read_to_end(&mut answer).await);
        let answer = String::from_utf8(answer).unwrap();
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    }
    server.stop().await.unwrap();
}

/// Counts what the server logs at levels that are on by default.
struct LineCounter(Arc<AtomicUsize>);

impl tracing::Subscriber for LineCounter {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::INFO && metadata.target().starts_with("agenthost")
    }

    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}

    fn event(&self, _event: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _span: &tracing::span::Id) {}

    fn exit(&self, _span: &tracing::span::Id) {}
}

#[tokio::test]
async fn peers_without_a_token_cannot_fill_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let lines = Arc::new(AtomicUsize::new(0));
    // The runtime is single-threaded, so a thread-local subscriber sees all events.
    let _log = tracing::subscriber::set_default(LineCounter(Arc::clone(&lines)));
    let server = start(directory.path()).await;
    let before = lines.load(Ordering::Relaxed);
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 401");
    }
    let logged = lines.load(Ordering::Relaxed) - before;
    // The limiter's window may end during the test, and a new one begin.
    assert!((1..=40).contains(&logged), "{logged} lines");
    server.stop().await.unwrap();
}
