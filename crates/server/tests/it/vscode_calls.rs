//! Tool calls as VS Code 1.139 shows and answers them. The tests dispatch the same actions as VS
//! Code, in AHP 0.9.0.

use std::path::Path;
use std::sync::Arc;

use agenthost_protocol::uri::{Uri, default_chat_uri};
use agenthost_server::{Server, serve};
use serde_json::{Value, json};

use crate::acp::agent;
use crate::older::Words;
use crate::room::{config, start};

/// A command that is too long for a title.
const LINE: &str = "for word in the quick brown fox jumps over the lazy dog and then some more; do\n  echo $word\ndone; read answer";

/// Connects a client that identifies itself as VS Code.
async fn join(server: &Server) -> Words {
    let mut words = Words::connect(server).await;
    let hello = json!({
        "channel": "ahp-root://", "clientId": "c",
        "protocolVersions": ["0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"],
        "clientInfo": {"name": "vscode-editor-window", "version": "1.139.1"},
    });
    let answer = words.ask("initialize", hello).await.unwrap();
    assert_eq!(answer["protocolVersion"], "0.9.0");
    words
}

/// Creates a session with a URI as VS Code chooses it, and subscribes to it and its chat without
/// waiting until it is ready.
async fn open_session(words: &mut Words, session: &str, folder: &Path) -> String {
    let folder = format!("file://{}", folder.display());
    let create = json!({"channel": session, "workingDirectories": [folder]});
    words.ask("createSession", create).await.unwrap();
    let chat = default_chat_uri(&Uri::from(session)).to_string();
    for channel in [session, &chat] {
        let params = json!({"channel": channel});
        words.ask("subscribe", params).await.unwrap();
    }
    chat
}

async fn act(words: &mut Words, channel: &str, action: Value) {
    words
        .dispatch(json!({"channel": channel, "action": action}))
        .await;
}

async fn say(words: &mut Words, chat: &str, turn: &str, text: &str) {
    let start = json!({
        "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00.000Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    });
    act(words, chat, start).await;
}

/// Subscribes to the terminal of a running call. Returns its URI and state.
async fn watch(words: &mut Words) -> (String, Value) {
    let changed = words.until("chat/toolCallContentChanged").await["action"].clone();
    assert_eq!(changed["_meta"]["toolKind"], "terminal", "{changed}");
    let terminal = changed["content"][0]["resource"].as_str().unwrap();
    let params = json!({"channel": terminal});
    let answer = words.ask("subscribe", params).await.unwrap();
    let state = answer["snapshot"]["state"].clone();
    (terminal.to_owned(), state)
}

/// Returns the output of a terminal's command once it ends with `end`.
async fn output(words: &mut Words, state: &Value, end: &str) -> String {
    let mut output = String::new();
    if let Some(command) = state["content"].get(0) {
        assert_eq!(command["type"], "command", "{state}");
        output.push_str(command["output"].as_str().unwrap());
    }
    while !output.ends_with(end) {
        let told = words.until("terminal/data").await;
        output.push_str(told["action"]["data"].as_str().unwrap());
    }
    output
}

/// Returns the types of the actions received since the last call.
fn heard(words: &mut Words) -> Vec<String> {
    let heard = std::mem::take(&mut words.heard).into_iter();
    let kinds = heard.filter_map(|message| {
        let kind = message["params"]["action"]["type"].as_str()?;
        Some(kind.to_owned())
    });
    kinds.collect()
}

/// VS Code shows the whole command with the agent's own options, and its output while it runs. An
/// approval for the session applies to later commands.
#[tokio::test]
async fn a_command_is_approved_for_the_session_and_watched() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(config(directory.path())).await.unwrap();
    let mut words = join(&server).await;
    let chat = open_session(&mut words, "shell:/s1", folder.path()).await;

    say(&mut words, &chat, "t1", LINE).await;
    let started = words.until("chat/toolCallStart").await["action"].clone();
    let ready = words.until("chat/toolCallReady").await["action"].clone();
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
    act(&mut words, &chat, confirmed).await;
    let (terminal, state) = watch(&mut words).await;
    // VS Code parses and formats URIs, so the path must not contain characters that it would
    // escape.
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    let path = terminal.strip_prefix("ahp-terminal:").unwrap();
    assert!(path.bytes().all(kept), "{terminal}");
    let written = output(&mut words, &state, "more\r\n").await;
    assert!(written.starts_with("the\r\nquick\r\n"), "{written:?}");
    heard(&mut words);
    let typed = json!({"type": "terminal/input", "data": "\r"});
    act(&mut words, &terminal, typed).await;
    let complete = words.until("chat/toolCallComplete").await["action"].clone();
    let content = &complete["result"]["content"];
    assert!(content[0]["text"].as_str().unwrap().starts_with("the\n"));
    assert_eq!(content[1]["result"]["exitCode"], 0, "{complete}");
    words.until("chat/turnComplete").await;
    let order = [
        "chat/toolCallComplete",
        "terminal/commandFinished",
        "terminal/exited",
    ];
    let kinds = heard(&mut words);
    let kinds = kinds.iter().map(String::as_str);
    let kinds = kinds.filter(|kind| order.contains(kind));
    assert_eq!(kinds.collect::<Vec<_>>(), order);

    // VS Code resizes a terminal to its window, even after the terminal has exited.
    let resized = json!({"type": "terminal/resized", "cols": 74, "rows": 10});
    act(&mut words, &terminal, resized).await;
    let echo = words.until("terminal/resized").await;
    assert_eq!(echo["rejectionReason"], Value::Null, "{echo}");
    assert_eq!(echo["action"]["cols"], 120);

    say(&mut words, &chat, "t2", "echo again").await;
    let ready = words.until("chat/toolCallReady").await["action"].clone();
    assert_eq!(ready["confirmed"], "not-needed");
    words.until("chat/turnComplete").await;
    drop(words);
    server.stop().await.unwrap();
}

/// "Skip", the close button and "Deny" all send this denial, with or without an option.
#[tokio::test]
async fn a_command_is_denied() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(config(directory.path())).await.unwrap();
    let mut words = join(&server).await;
    let chat = open_session(&mut words, "shell:/s1", folder.path()).await;
    for (turn, option) in [("t1", None), ("t2", Some("deny"))] {
        say(&mut words, &chat, turn, "touch never").await;
        words.until("chat/toolCallReady").await;
        let mut denied = json!({
            "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": "command",
            "approved": false, "reason": "denied",
        });
        if let Some(option) = option {
            denied["selectedOptionId"] = json!(option);
        }
        act(&mut words, &chat, denied).await;
        let echo = words.until("chat/toolCallConfirmed").await;
        assert_eq!(echo["rejectionReason"], Value::Null, "{echo}");
        words.until("chat/turnComplete").await;
    }
    drop(words);
    server.stop().await.unwrap();
}

/// The output of a cancelled command is preserved, also for a client that opens the session later.
#[tokio::test]
async fn the_output_of_a_cancelled_command_is_shown_again() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut words = join(&server).await;
    let chat = open_session(&mut words, "shell:/s1", folder.path()).await;
    say(&mut words, &chat, "t1", "!echo half; read answer").await;
    let started = words.until("chat/toolCallStart").await["action"].clone();
    assert_eq!(started["_meta"]["toolKind"], "terminal", "{started}");
    let changed = words.until("chat/toolCallContentChanged").await["action"].clone();
    let terminal = changed["content"][0]["resource"].clone();
    let answer = words.ask("subscribe", json!({"channel": terminal})).await;
    let state = answer.unwrap()["snapshot"]["state"].clone();
    output(&mut words, &state, "half\r\n").await;
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 1832.6});
    act(&mut words, &chat, cancel).await;
    words.until("chat/turnCancelled").await;

    drop(words);
    let mut words = join(&server).await;
    let chat = json!({"channel": chat});
    let answer = words.ask("subscribe", chat).await.unwrap();
    let turn = &answer["snapshot"]["state"]["turns"][0];
    assert_eq!(turn["state"], "cancelled", "{turn}");
    let call = &turn["responseParts"][0]["toolCall"];
    assert_eq!(call["status"], "completed", "{call}");
    assert_eq!(call["content"][0]["text"], "half\n");
    assert_eq!(call["content"][1]["result"]["preview"], "half\n");
    drop(words);
    server.stop().await.unwrap();
}

/// An approval request with edits has one button, "Allow", which sends no option.
#[tokio::test]
async fn an_edit_is_seen_and_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(agent("").with_pid_dir(&config.pid_dir()))];
    let server = serve(config).await.unwrap();
    let mut words = join(&server).await;
    let chat = open_session(&mut words, "scripted:/s1", folder.path()).await;
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
    say(&mut words, &chat, "t1", &script).await;
    let ready = words.until("chat/toolCallReady").await["action"].clone();
    let message = ready["invocationMessage"]["markdown"].as_str().unwrap();
    assert!(message.starts_with("Edit a\\_b.rs\n"), "{message}");
    assert!(message.contains("-one\n+two\n"), "{message}");
    let edit = &ready["edits"]["items"][0];
    for (side, text) in [("before", "b25lCg=="), ("after", "dHdvCg==")] {
        let uri = edit[side]["content"]["uri"].clone();
        let params = json!({"channel": "ahp-root://", "uri": uri, "encoding": "base64"});
        let read = words.ask("resourceRead", params).await.unwrap();
        assert_eq!(read["data"], text, "{side}");
    }
    let allowed = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1",
        "approved": true, "confirmed": "user-action",
    });
    act(&mut words, &chat, allowed).await;
    words.until("chat/toolCallReady").await;
    let denied = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c2",
        "approved": false, "reason": "denied",
    });
    act(&mut words, &chat, denied).await;
    words.until("chat/turnComplete").await;
    // The agent's response contains the selected options.
    let deltas = words
        .heard
        .iter()
        .map(|message| &message["params"]["action"]);
    let deltas = deltas.filter(|action| action["type"] == "chat/delta");
    let said: String = deltas
        .filter_map(|action| action["content"].as_str())
        .collect();
    assert_eq!(said, "yesno");
    drop(words);
    server.stop().await.unwrap();
}
