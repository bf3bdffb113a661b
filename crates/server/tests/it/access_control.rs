//! Access control over a real socket: tokens, origins, hosts, connection limits (SEC-3).

use agenthost_server::{ServeError, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::test_server::{config, start};

async fn status(server: &agenthost_server::Server, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\n{headers}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut buffer = vec![0; 64];
    let count = stream.read(&mut buffer).await.unwrap();
    let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
    text.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn requests_without_a_token_or_from_foreign_origins_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let host = format!("Host: {}\r\n", server.address.unwrap());
    let good = format!("/?tkn={}", server.token);
    assert_eq!(status(&server, &good, &host).await, "101");
    let bearer = format!("{host}Authorization: Bearer {}\r\n", server.token);
    assert_eq!(status(&server, "/", &bearer).await, "101");
    assert_eq!(status(&server, "/", &host).await, "401");
    assert_eq!(status(&server, "/?tkn=wrong", &host).await, "401");
    let evil = format!("{host}Origin: https://evil.example\r\n");
    assert_eq!(status(&server, &good, &evil).await, "403");
    let page = format!("{host}Origin: http://{}\r\n", server.address.unwrap());
    assert_eq!(status(&server, &good, &page).await, "101");
    assert_eq!(
        status(&server, &good, "Host: evil.example\r\n").await,
        "403"
    );
    assert_eq!(status(&server, "/healthz", &host).await, "200");
    assert_eq!(status(&server, "/nowhere", &host).await, "404");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn connections_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.limits.connections = 2;
    let server = serve(config).await.unwrap();
    let first = crate::raw_messages::Raw::connect(&server).await;
    let _second = crate::raw_messages::Raw::connect(&server).await;
    let host = format!("Host: {}\r\n", server.address.unwrap());
    let good = format!("/?tkn={}", server.token);
    assert_eq!(status(&server, &good, &host).await, "503");
    drop(first);
    // The slot is free once the host has detected the disconnect.
    while status(&server, &good, &host).await != "101" {
        tokio::task::yield_now().await;
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_without_tls_starts_only_on_loopback() {
    let directory = tempfile::tempdir().unwrap();
    let mut elsewhere = config(directory.path());
    elsewhere.listen = Some("0.0.0.0:0".parse().unwrap());
    let refused = serve(elsewhere).await.unwrap_err();
    assert!(matches!(refused, ServeError::NotLoopback(_)), "{refused}");

    let first = start(directory.path()).await;
    let second = serve(config(directory.path())).await.unwrap_err();
    assert!(
        second.to_string().contains("is in use by process"),
        "{second}"
    );
    first.stop().await.unwrap();
    start(directory.path()).await.stop().await.unwrap();
}

/// Unauthenticated connections that stay silent time out and do not use up connection slots.
#[tokio::test(start_paused = true)]
async fn silent_unauthenticated_connections_time_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.limits.connections = 2;
    let server = serve(config).await.unwrap();
    let mut silent = Vec::new();
    for beginning in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        for _ in 0..30 {
            let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            silent.push(stream);
        }
    }
    // The clock is paused: tokio advances it as soon as all tasks are idle.
    for stream in &mut silent {
        let mut rest = Vec::new();
        // The connection may be closed or reset.
        drop(stream.read_to_end(&mut rest).await);
    }
    let host = format!("Host: {}\r\n", server.address.unwrap());
    assert_eq!(status(&server, "/healthz", &host).await, "200");
    server.stop().await.unwrap();
}

/// SEC-4: states that every subscriber can see contain no secrets.
#[tokio::test]
async fn the_state_has_no_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let client = crate::test_server::join(&server, "a").await;
    crate::test_server::create_session(&client).await;
    let mut mirror = crate::test_server::Mirror::open(&client).await;
    crate::test_server::start_turn(&client, "t1", "help").await;
    mirror.until_end().await;
    let path = std::env::var("PATH").unwrap();
    let channels = [
        "ahp-root://".to_owned(),
        crate::test_server::SESSION.to_owned(),
        crate::test_server::chat_uri(),
    ];
    for channel in channels {
        let (result, _) = client.subscribe(channel).await.unwrap();
        let state = serde_json::to_string(&result.snapshot.unwrap().state).unwrap();
        assert!(!state.contains(&server.token));
        assert!(!state.contains(&path));
        assert!(!state.contains(directory.path().to_str().unwrap()));
    }
    server.stop().await.unwrap();
}
