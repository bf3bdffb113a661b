//! A data directory of an earlier build, opened by this one: the responses to clients of several
//! versions stay the same. A change of the settings schema requires `UPDATE_EXPECT=1`.
//!
//! `fixture/agenthost.db` is written if it is missing, and `fixture/answers.jsonl` with
//! `UPDATE_EXPECT=1`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::legacy_clients::{JsonClient, host};
use crate::test_server::{SESSION, chat_uri};

/// Protocol versions of the clients that read the fixture.
const VERSIONS: &[&str] = &[
    "1.1.0", "1.0.0", "0.10.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2", "0.5.0", "0.4.0",
    "0.3.0", "0.2.0",
];

/// Scripts of the fixture's turns.
const TURNS: &[&str] = &[
    "think hm;; say # Title;; say and words",
    "call c read run;; done c;; call d write run;; failed d;; title Named;; say done",
    r#"say half;; chat/usage {"usage": {"inputTokens": 5, "outputTokens": 7}};; error"#,
];

/// The `serverSeq` that the reconnecting client has seen.
const SEEN: u64 = 4;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixture/agenthost.db")
}

async fn write_fixture(file: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut json_client = JsonClient::connect(&server).await;
    let hello = json!({
        "channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "writer",
        "initialSubscriptions": ["ahp-root://"],
    });
    json_client.request("initialize", hello).await.unwrap();
    let create = json!({"channel": SESSION, "provider": "scripted"});
    json_client.request("createSession", create).await.unwrap();
    for channel in [SESSION.to_owned(), chat_uri()] {
        let subscribe = json!({"channel": channel});
        json_client.request("subscribe", subscribe).await.unwrap();
    }
    for (number, text) in TURNS.iter().enumerate() {
        let turn = json!({"channel": chat_uri(), "action": {
            "type": "chat/turnStarted", "turnId": format!("t{number}"),
            "startedAt": "2026-01-05T09:00:00Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        }});
        json_client.dispatch(turn).await;
        let last = number + 1 == TURNS.len();
        let end = if last {
            "chat/error"
        } else {
            "chat/turnComplete"
        };
        json_client.until(end).await;
    }
    drop(json_client);
    server.stop().await.unwrap();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::copy(directory.path().join("agenthost.db"), file).unwrap();
}

/// Replaces values that depend on the run: sequence numbers assigned by this host, the data
/// directory, and the default directory.
fn normalize(value: &mut Value, first_of_host: u64, directory: &str) {
    match value {
        Value::Array(items) => {
            for item in items {
                normalize(item, first_of_host, directory);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_number = name == "serverSeq" || name == "fromSeq";
                if is_number && field.as_u64().is_some_and(|seq| seq >= first_of_host) {
                    *field = json!("later");
                }
                if name == "defaultDirectory" {
                    *field = json!("HOME");
                }
                normalize(field, first_of_host, directory);
            }
        }
        Value::String(text) => *text = text.replace(directory, "DIRECTORY"),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test]
async fn a_data_directory_of_an_earlier_build_reads_unchanged() {
    let file = fixture();
    if !file.exists() {
        write_fixture(&file).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("agenthost.db");
    std::fs::copy(&file, &database).unwrap();
    std::fs::set_permissions(&database, PermissionsExt::from_mode(0o600)).unwrap();
    let server = host(directory.path()).await;
    let mut all = Vec::new();
    let mut first_of_host = u64::MAX;
    for version in VERSIONS {
        let mut json_client = JsonClient::connect(&server).await;
        let hello = json!({
            "channel": "ahp-root://", "protocolVersions": [version], "clientId": version,
            "initialSubscriptions": ["ahp-root://", SESSION],
        });
        let welcome = json_client.request("initialize", hello).await.unwrap();
        first_of_host = first_of_host.min(welcome["serverSeq"].as_u64().unwrap());
        all.push(json!({"version": version, "initialize": welcome}));
        let listed = json_client
            .request("listSessions", json!({"channel": "ahp-root://"}))
            .await;
        all.push(json!({"version": version, "listSessions": listed.unwrap()}));
        let chat = json_client
            .request("subscribe", json!({"channel": chat_uri()}))
            .await;
        all.push(match chat {
            Ok(chat) => json!({"version": version, "subscribe": chat}),
            Err(error) => json!({"version": version, "refused": error}),
        });
    }
    // The client that wrote the fixture reconnects; its record has version 1.0.0.
    let mut back = JsonClient::connect(&server).await;
    let reconnect = json!({
        "channel": "ahp-root://", "clientId": "writer", "lastSeenServerSeq": SEEN,
        "subscriptions": ["ahp-root://", SESSION, chat_uri()],
    });
    let replayed = back.request("reconnect", reconnect).await.unwrap();
    all.push(json!({"version": "1.0.0", "reconnect": replayed}));
    let root = directory.path().display().to_string();
    let mut text = String::new();
    for mut line in all {
        normalize(&mut line, first_of_host, &root);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    expect_file!["fixture/answers.jsonl"].assert_eq(&text);
    server.stop().await.unwrap();
}
