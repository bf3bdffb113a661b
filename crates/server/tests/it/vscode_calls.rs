//! Tool calls as VS Code 1.139 shows and answers them. The tests dispatch the same actions as VS
//! Code, in AHP 0.9.0.

use std::path::Path;
use std::sync::Arc;

use agenthost_protocol::uri::{Uri, default_chat_uri};
use agenthost_server::{Server, serve};
use serde_json::{Value, json};

use crate::acp::agent;
use crate::legacy_clients::JsonClient;
use crate::test_server::{config, start};

/// A command that is too long for a title.
const LINE: &str = "for word in the quick brown fox jumps over the lazy dog and then some more; do\n  echo $word\ndone; read answer";

/// Connects a client that identifies itself as VS Code.
async fn join(server: &Server) -> JsonClient {
    let mut json_client = JsonClient::connect(server).await;
    let hello = json!({
        "channel": "ahp-root://", "clientId": "c",
        "protocolVersions": ["0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"],
        "clientInfo": {"name": "vscode-editor-window", "version": "1.139.1"},
    });
    let answer = json_client.request("initialize", hello).await.unwrap();
    assert_eq!(answer["protocolVersion"], "0.9.0");
    json_client
}

/// Creates a session with a URI as VS Code chooses it, and subscribes to it and its chat without
/// waiting until it is ready.
async fn open_session(json_client: &mut JsonClient, session: &str, folder: &Path) -> String {
    let folder = format!("file://{}", folder.display());
    let create = json!({"channel": session, "workingDirectories": [folder]});
    json_client.request("createSession", create).await.unwrap();
    let chat = default_chat_uri(&Uri::from(session)).to_string();
    for channel in [session, &chat] {
        let params = json!({"channel": channel});
        json_client.request("subscribe", params).await.unwrap();
    }
    chat
}

async fn dispatch(json_client: &mut JsonClient, channel: &str, action: Value) {
    json_client
        .dispatch(json!({"channel": channel, "action": action}))
        .await;
}

async fn start_turn(json_client: &mut JsonClient, chat: &str, turn: &str, text: &str) {
    let start = json!({
        "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00.000Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    });
    dispatch(json_client, chat, start).await;
}

/// Subscribes to the terminal of a running call. Returns its URI and state.
async fn watch(json_client: &mut JsonClient) -> (String, Value) {
    let changed = json_client.until("chat/toolCallContentChanged").await["action"].clone();
    assert_eq!(changed["_meta"]["toolKind"], "terminal", "{changed}");
    let terminal = changed["content"][0]["resource"].as_str().unwrap();
    let params = json!({"channel": terminal});
    let answer = json_client.request("subscribe", params).await.unwrap();
    let state = answer["snapshot"]["state"].clone();
    (terminal.to_owned(), state)
}

/// Returns the output of a terminal's command once it ends with `end`.
async fn output(json_client: &mut JsonClient, state: &Value, end: &str) -> String {
    let mut output = String::new();
    if let Some(command) = state["content"].get(0) {
        assert_eq!(command["type"], "command", "{state}");
        output.push_str(command["output"].as_str().unwrap());
    }
    while !output.ends_with(end) {
        let told = json_client.until("terminal/data").await;
        output.push_str(told["action"]["data"].as_str().unwrap());
    }
    output
}

/// Returns the types of the actions received since the last call.
fn received_types(json_client: &mut JsonClient) -> Vec<String> {
    let heard = std::mem::take(&mut json_client.heard).into_iter();
    let kinds = heard.filter_map(|message| {
        let kind = message["params"]["action"]["type"].as_str()?;
        Some(kind.to_owned())
    });
    kinds.collect()
}

/// VS Code shows the whole command with the agent's own options, and its output while it runs. An
/// approval for the session applies to later commands.
#[tokio::test]
async fn a_command_approved_for_the_session_streams_its_output() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(config(directory.path())).await.unwrap();
    let mut json_client = join(&server).await;
    let chat = open_session(&mut json_client, "shell:/s1", folder.path()).await;

    start_turn(&mut json_client, &chat, "t1", LINE).await;
    let started = json_client.until("chat/toolCallStart").await["action"].clone();
    let ready = json_client.until("chat/toolCallReady").await["action"].clone();
    // With a `toolKind` VS Code would show two answers of its own instead of the options; with a
    // plain text message it would not show the input.
    for action in [&started, &ready] {
        assert_eq!(action["_meta"]["toolKind"], Value::Null, "{action}");
    }
    let message = ready["invocationMessage"]["markdown"].as_str().unwrap();
    assert!(message.contains(LINE), "{message}");
    assert_eq!(ready["toolInput"], LINE);
    assert_eq!(ready["confirmationTitle"], "Run in terminal");
    let kinds = ready["options"].as_array().unwrap().iter();
    let kinds = kinds.map(|option| (option["id"].clone(), option["kind"].clone()));
    let expected = [
        ("once", "approve"),
        ("session", "approve"),
        ("deny", "deny"),
    ];
    let expected = expected.map(|(id, kind)| (json!(id), json!(kind)));
    assert_eq!(kinds.collect::<Vec<_>>(), expected);

    let confirmed = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "command",
        "approved": true, "confirmed": "user-action", "selectedOptionId": "session",
    });
    dispatch(&mut json_client, &chat, confirmed).await;
    let (terminal, state) = watch(&mut json_client).await;
    // VS Code parses and formats URIs, so the path must not contain characters that it would
    // escape.
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    let path = terminal.strip_prefix("ahp-terminal:").unwrap();
    assert!(path.bytes().all(kept), "{terminal}");
    let written = output(&mut json_client, &state, "more\r\n").await;
    assert!(written.starts_with("the\r\nquick\r\n"), "{written:?}");
    received_types(&mut json_client);
    let typed = json!({"type": "terminal/input", "data": "\r"});
    dispatch(&mut json_client, &terminal, typed).await;
    let complete = json_client.until("chat/toolCallComplete").await["action"].clone();
    let content = &complete["result"]["content"];
    assert!(content[0]["text"].as_str().unwrap().starts_with("the\n"));
    assert_eq!(content[1]["result"]["exitCode"], 0, "{complete}");
    json_client.until("chat/turnComplete").await;
    let order = [
        "chat/toolCallComplete",
        "terminal/commandFinished",
        "terminal/exited",
    ];
    let kinds = received_types(&mut json_client);
    let kinds = kinds.iter().map(String::as_str);
    let kinds = kinds.filter(|kind| order.contains(kind));
    assert_eq!(kinds.collect::<Vec<_>>(), order);

    // VS Code resizes a terminal to its window, even after the terminal has exited.
    let resized = json!({"type": "terminal/resized", "cols": 74, "rows": 10});
    dispatch(&mut json_client, &terminal, resized).await;
    let echo = json_client.until("terminal/resized").await;
    assert_eq!(echo["rejectionReason"], Value::Null, "{echo}");
    assert_eq!(echo["action"]["cols"], 120);

    start_turn(&mut json_client, &chat, "t2", "echo again").await;
    let ready = json_client.until("chat/toolCallReady").await["action"].clone();
    assert_eq!(ready["confirmed"], "not-needed");
    json_client.until("chat/turnComplete").await;
    drop(json_client);
    server.stop().await.unwrap();
}

/// "Skip", the close button and "Deny" all send this denial, with or without an option.
#[tokio::test]
async fn a_command_is_denied() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(config(directory.path())).await.unwrap();
    let mut json_client = join(&server).await;
    let chat = open_session(&mut json_client, "shell:/s1", folder.path()).await;
    for (turn, option) in [("t1", None), ("t2", Some("deny"))] {
        start_turn(&mut json_client, &chat, turn, "touch never").await;
        json_client.until("chat/toolCallReady").await;
        let mut denied = json!({
            "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": "command",
            "approved": false, "reason": "denied",
        });
        if let Some(option) = option {
            denied["selectedOptionId"] = json!(option);
        }
        dispatch(&mut json_client, &chat, denied).await;
        let echo = json_client.until("chat/toolCallConfirmed").await;
        assert_eq!(echo["rejectionReason"], Value::Null, "{echo}");
        json_client.until("chat/turnComplete").await;
    }
    drop(json_client);
    server.stop().await.unwrap();
}

/// The output of a cancelled command is preserved, also for a client that opens the session later.
#[tokio::test]
async fn the_output_of_a_cancelled_command_is_preserved() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut json_client = join(&server).await;
    let chat = open_session(&mut json_client, "shell:/s1", folder.path()).await;
    start_turn(&mut json_client, &chat, "t1", "!echo half; read answer").await;
    let started = json_client.until("chat/toolCallStart").await["action"].clone();
    assert_eq!(started["_meta"]["toolKind"], "terminal", "{started}");
    let changed = json_client.until("chat/toolCallContentChanged").await["action"].clone();
    let terminal = changed["content"][0]["resource"].clone();
    let answer = json_client
        .request("subscribe", json!({"channel": terminal}))
        .await;
    let state = answer.unwrap()["snapshot"]["state"].clone();
    output(&mut json_client, &state, "half\r\n").await;
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 1832.6});
    dispatch(&mut json_client, &chat, cancel).await;
    json_client.until("chat/turnCancelled").await;

    drop(json_client);
    let mut json_client = join(&server).await;
    let chat = json!({"channel": chat});
    let answer = json_client.request("subscribe", chat).await.unwrap();
    let turn = &answer["snapshot"]["state"]["turns"][0];
    assert_eq!(turn["state"], "cancelled", "{turn}");
    let call = &turn["responseParts"][0]["toolCall"];
    assert_eq!(call["status"], "completed", "{call}");
    assert_eq!(call["content"][0]["text"], "half\n");
    assert_eq!(call["content"][1]["result"]["preview"], "half\n");
    drop(json_client);
    server.stop().await.unwrap();
}

/// An approval request with edits has one button, "Allow", which sends no option.
#[tokio::test]
async fn an_edit_is_published_and_approved() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(agent("").with_pid_dir(&config.pid_dir()))];
    let server = serve(config).await.unwrap();
    let mut json_client = join(&server).await;
    let chat = open_session(&mut json_client, "scripted:/s1", folder.path()).await;
    let ask = |call: &str| {
        let call = json!({
            "toolCallId": call, "title": "Edit a_b.rs", "kind": "edit",
            "content": [{"type": "diff", "path": "/tmp/a_b.rs", "oldText": "one\n", "newText": "two\n"}],
        });
        let options = json!([
            {"optionId": "all", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        format!("ask {}", json!({"toolCall": call, "options": options}))
    };
    let script = format!("{};; {}", ask("c1"), ask("c2"));
    start_turn(&mut json_client, &chat, "t1", &script).await;
    let ready = json_client.until("chat/toolCallReady").await["action"].clone();
    let message = ready["invocationMessage"]["markdown"].as_str().unwrap();
    assert!(message.starts_with("Edit a\\_b.rs\n"), "{message}");
    assert!(message.contains("-one\n+two\n"), "{message}");
    let edit = &ready["edits"]["items"][0];
    for (side, text) in [("before", "b25lCg=="), ("after", "dHdvCg==")] {
        let uri = edit[side]["content"]["uri"].clone();
        let params = json!({"channel": "ahp-root://", "uri": uri, "encoding": "base64"});
        let read = json_client.request("resourceRead", params).await.unwrap();
        assert_eq!(read["data"], text, "{side}");
    }
    let allowed = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1",
        "approved": true, "confirmed": "user-action",
    });
    dispatch(&mut json_client, &chat, allowed).await;
    json_client.until("chat/toolCallReady").await;
    let denied = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c2",
        "approved": false, "reason": "denied",
    });
    dispatch(&mut json_client, &chat, denied).await;
    json_client.until("chat/turnComplete").await;
    // The agent's response contains the selected options.
    let deltas = json_client
        .heard
        .iter()
        .map(|message| &message["params"]["action"]);
    let deltas = deltas.filter(|action| action["type"] == "chat/delta");
    let said: String = deltas
        .filter_map(|action| action["content"].as_str())
        .collect();
    assert_eq!(said, "yesno");
    drop(json_client);
    server.stop().await.unwrap();
}
