//! Limits on sessions, applied by a running host.

use std::path::Path;
use std::time::Duration;

use agenthost_core::{SessionKey, SessionRetention};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_server::{Server, ServerConfig, measure_directory, serve};
use agenthost_store::{AuditFilter, read_audit};
use serde_json::json;

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, config};

/// Starts a host that checks its limits all the time.
async fn start(directory: &Path, limits: SessionRetention) -> Server {
    let config = ServerConfig {
        session_retention: limits,
        session_retention_interval: Duration::from_millis(20),
        ..config(directory)
    };
    serve(config).await.unwrap()
}

async fn connect(server: &Server, name: &str) -> Raw {
    let mut raw = Raw::connect(server).await;
    let hello = json!({
        "channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": name,
        "initialSubscriptions": ["ahp-root://"],
    });
    raw.call(1, "initialize", &hello).await;
    raw
}

/// Waits until clients are told that a session was removed.
async fn wait_for_removal(raw: &mut Raw) {
    loop {
        let message = raw.receive().await.unwrap();
        if message["method"] == "root/sessionRemoved" {
            assert_eq!(message["params"]["session"], SESSION);
            return;
        }
    }
}

/// Returns the rules by which sessions were removed.
fn rules(directory: &Path) -> Vec<String> {
    let mut rules = Vec::new();
    read_audit(directory, &AuditFilter::default(), |record| {
        if record.kind == "session.removed" {
            assert_eq!(record.session, Some(Uri::from(SESSION)));
            assert_eq!(record.actor["kind"], "host");
            rules.push(record.details["rule"].as_str().unwrap().to_owned());
        }
    })
    .unwrap();
    rules
}

/// A session stays while a client shows it.
#[tokio::test]
async fn an_old_session_is_removed_when_no_client_shows_it() {
    let directory = tempfile::tempdir().unwrap();
    let limits = SessionRetention {
        age: Some(Millis(0)),
        bytes: None,
    };
    let server = start(directory.path(), SessionRetention::default()).await;
    let mut raw = connect(&server, "a").await;
    let create = json!({"channel": SESSION, "provider": "shell"});
    raw.call(2, "createSession", &create).await;
    server.stop().await.unwrap();
    let server = start(directory.path(), limits).await;
    let mut raw = connect(&server, "b").await;
    wait_for_removal(&mut raw).await;
    assert_eq!(rules(directory.path()), ["retention.session_days"]);
    server.stop().await.unwrap();
}

/// The size of a session includes its files.
#[tokio::test]
async fn a_large_session_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), SessionRetention::default()).await;
    let mut raw = connect(&server, "a").await;
    let create = json!({"channel": SESSION, "provider": "shell"});
    raw.call(2, "createSession", &create).await;
    server.stop().await.unwrap();
    let key = SessionKey::of(&Uri::from(SESSION));
    let content = directory.path().join("content").join(key.as_str());
    std::fs::create_dir_all(&content).unwrap();
    std::fs::write(content.join("large"), vec![7; 1_000_000]).unwrap();
    let usage = measure_directory(directory.path()).unwrap();
    assert!(usage.of_session(&key) >= 1_000_000);
    let limits = SessionRetention {
        age: None,
        bytes: Some(1_000_000),
    };
    let server = start(directory.path(), limits).await;
    let mut raw = connect(&server, "b").await;
    wait_for_removal(&mut raw).await;
    server.stop().await.unwrap();
    assert_eq!(rules(directory.path()), ["retention.session_megabytes"]);
    assert!(!content.exists());
}
