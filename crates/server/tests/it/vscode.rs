//! VS Code as a client: it derives the agent of a session from the scheme of the session's URI.

use agenthost_core::resource::uris::default_chat_uri;
use agenthost_protocol::uri::Uri;
use agenthost_server::Server;
use serde_json::{Value, json};

use crate::legacy_clients::{JsonClient, host};

/// URI of the session at the other client.
pub(crate) const SESSION: &str = "ahp-session:/s1";

/// URI of the same session at VS Code.
pub(crate) const ALIAS: &str = "scripted:/s1";

pub(crate) fn chat_of(session: &str) -> String {
    default_chat_uri(&Uri::from(session)).to_string()
}

pub(crate) async fn join(server: &Server, hello: Value) -> JsonClient {
    let mut json_client = JsonClient::connect(server).await;
    let mut greeting = json!({"channel": "ahp-root://", "initialSubscriptions": ["ahp-root://"]});
    let fields = greeting.as_object_mut().unwrap();
    fields.extend(hello.as_object().unwrap().clone());
    let welcome = json_client.request("initialize", greeting).await.unwrap();
    assert!(welcome["snapshots"].is_array());
    json_client
}

pub(crate) async fn other(server: &Server) -> JsonClient {
    let hello = json!({"protocolVersions": ["1.0.0"], "clientId": "other"});
    let mut other = join(server, hello).await;
    let create = json!({"channel": SESSION, "provider": "scripted"});
    other.request("createSession", create).await.unwrap();
    let chat = json!({"channel": chat_of(SESSION)});
    other.request("subscribe", chat).await.unwrap();
    other
}

pub(crate) fn turn(session: &str, id: &str, text: &str) -> Value {
    json!({"channel": chat_of(session), "action": {
        "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    }})
}

/// Findings 4 and 5: VS Code lists and opens a session of another client, both run turns in it, and
/// VS Code resumes it with a `reconnect` without a `channel`.
async fn uses_a_session_of_another_client(version: &str) {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut other = other(&server).await;
    let hello = json!({
        "protocolVersions": [version], "clientId": "page",
        "clientInfo": {"name": "vscode-editor-window", "title": "VS Code"},
    });
    let mut page = join(&server, hello).await;
    let listed = page
        .request("listSessions", json!({"channel": "ahp-root://"}))
        .await;
    let listed = listed.unwrap();
    assert_eq!(listed["items"][0]["resource"], ALIAS);

    let opened = page.request("subscribe", json!({"channel": ALIAS})).await;
    let opened = opened.unwrap();
    let snapshot = &opened["snapshot"];
    assert_eq!(snapshot["resource"], ALIAS);
    assert_eq!(snapshot["state"]["defaultChat"], chat_of(ALIAS));
    assert_eq!(snapshot["state"]["chats"][0]["resource"], chat_of(ALIAS));
    let chat = json!({"channel": chat_of(ALIAS)});
    page.request("subscribe", chat).await.unwrap();

    let number = page.dispatch(turn(ALIAS, "t1", "say hello")).await;
    let echo = page.until("chat/turnStarted").await;
    assert_eq!(echo["channel"], chat_of(ALIAS));
    assert_eq!(echo["origin"]["clientSeq"], number);
    let json_client = page.until("chat/delta").await;
    assert_eq!(json_client["channel"], chat_of(ALIAS));
    let seen = page.until("chat/turnComplete").await["serverSeq"].clone();
    let heard = other.until("chat/turnComplete").await;
    assert_eq!(heard["channel"], chat_of(SESSION));

    drop(page);
    other.dispatch(turn(SESSION, "t2", "say again")).await;
    other.until("chat/turnComplete").await;
    let mut page = JsonClient::connect(&server).await;
    let back = json!({
        "clientId": "page", "lastSeenServerSeq": seen,
        "subscriptions": ["ahp-root://", ALIAS, chat_of(ALIAS)],
    });
    let back = page.request("reconnect", back).await.unwrap();
    assert_eq!(back["missing"], json!([]), "{back}");
    let actions = back["actions"].as_array().unwrap();
    let mut channels = actions.iter().map(|action| &action["channel"]);
    let ours = [json!("ahp-root://"), json!(ALIAS), json!(chat_of(ALIAS))];
    assert!(channels.all(|channel| ours.contains(channel)), "{back}");
    assert!(!actions.is_empty());
    // Changes of the session list are not replayed, so the host sends the current entry (finding
    // 10).
    page.request("ping", json!({"channel": "ahp-root://"}))
        .await
        .unwrap();
    let told = |message: &Value| message["method"] == "root/sessionSummaryChanged";
    let told = page.heard.iter().find(|message| told(message)).unwrap();
    assert_eq!(told["params"]["session"], ALIAS);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_window_uses_sessions_of_other_clients() {
    uses_a_session_of_another_client("0.9.0").await;
}

#[tokio::test]
async fn a_window_with_1_1_uses_sessions_of_other_clients() {
    uses_a_session_of_another_client("1.1.0").await;
}

/// A session whose URI for VS Code would collide with that of another session gets a distinct one.
#[tokio::test]
async fn aliases_of_sessions_are_unique() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let hello = json!({"protocolVersions": ["1.0.0"], "clientId": "first"});
    let mut first = join(&server, hello).await;
    for session in [ALIAS, "editor:/1(2)", "ahp-session:/taken"] {
        let create = json!({"channel": session, "provider": "scripted"});
        first.request("createSession", create).await.unwrap();
    }
    // No session can be created with a URI that VS Code uses for an existing one.
    let create = json!({"channel": "scripted:/taken", "provider": "scripted"});
    let refused = first.request("createSession", create).await;
    assert_eq!(refused.unwrap_err()["code"], -32003);
    let mut other = other(&server).await;
    let hello = json!({
        "protocolVersions": ["0.9.0"], "clientId": "page",
        "clientInfo": {"name": "vscode-agents-window"},
    });
    let mut page = join(&server, hello).await;
    let listed = page
        .request("listSessions", json!({"channel": "ahp-root://"}))
        .await;
    let listed = listed.unwrap();
    let names = listed["items"].as_array().unwrap().iter();
    let names: std::collections::BTreeSet<_> = names
        .map(|item| item["resource"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        assert!(name.starts_with("scripted:/"), "{name}");
        let opened = page
            .request("subscribe", json!({"channel": name}))
            .await
            .unwrap();
        assert_eq!(opened["snapshot"]["resource"], name);
        let chat = opened["snapshot"]["state"]["defaultChat"].clone();
        assert_eq!(chat, chat_of(&name));
        let opened = page
            .request("subscribe", json!({"channel": chat}))
            .await
            .unwrap();
        assert_eq!(opened["snapshot"]["resource"], chat);
    }
    let taken = json!({"channel": "ahp-session:/taken"});
    other.request("disposeSession", taken).await.unwrap();
    let ping = json!({"channel": "ahp-root://"});
    page.request("ping", ping).await.unwrap();
    let removed = |message: &&Value| message["method"] == "root/sessionRemoved";
    let removed = page.heard.iter().find(removed).unwrap();
    assert_eq!(removed["params"]["session"], "scripted:/taken");
    server.stop().await.unwrap();
}

/// ROOT-16: a page that was disconnected while sessions were removed and the host was restarted is
/// notified of the removals, with the URIs that it uses.
#[tokio::test]
async fn a_page_is_notified_of_sessions_removed_before_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut other = other(&server).await;
    let own = json!({"channel": "scripted:/own", "provider": "scripted"});
    other.request("createSession", own).await.unwrap();
    let hello = json!({
        "protocolVersions": ["0.9.0"], "clientId": "page",
        "clientInfo": {"name": "vscode-editor-window"},
    });
    let mut page = join(&server, hello).await;
    let root = json!({"channel": "ahp-root://"});
    let subscribed = page.request("subscribe", root.clone()).await.unwrap();
    let seen = subscribed["snapshot"]["fromSeq"].clone();
    assert!(seen.is_u64(), "{subscribed}");
    drop(page);
    for session in [SESSION, "scripted:/own"] {
        let dispose = json!({"channel": session});
        other.request("disposeSession", dispose).await.unwrap();
    }
    drop(other);
    server.stop().await.unwrap();

    let server = host(directory.path()).await;
    let mut page = JsonClient::connect(&server).await;
    let back = json!({
        "clientId": "page", "lastSeenServerSeq": seen, "subscriptions": ["ahp-root://"],
    });
    page.request("reconnect", back).await.unwrap();
    page.request("ping", root).await.unwrap();
    let removed = |message: &&Value| message["method"] == "root/sessionRemoved";
    let removed = page.heard.iter().filter(removed);
    let removed: Vec<_> = removed
        .map(|message| message["params"]["session"].clone())
        .collect();
    assert_eq!(removed, [ALIAS, "scripted:/own"]);
    server.stop().await.unwrap();
}
