//! Tool hooks in the host: they check approval requests and tool calls of an agent, and get the
//! results of completed calls.

use std::path::Path;
use std::time::Duration;

use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use serde_json::{Value, json};

use crate::customizations::{TestWorkspace, tools, write};
use crate::peer::Peer;
use crate::test_server::{SESSION, chat_uri};
use crate::tool_servers::program;

/// Writes a plugin with these hooks and returns settings with the plugin and an MCP server.
fn hooked(folder: &Path, hooks: &Value) -> CustomizationSettings {
    let hooks = json!({ "hooks": hooks }).to_string();
    write(folder, "hooks/hooks.json", &hooks);
    CustomizationSettings {
        plugins: vec![ConfiguredPlugin {
            source: PluginSource::Path(folder.to_owned()),
            agents: None,
        }],
        servers: vec![program("calc", "plain")],
        ..CustomizationSettings::default()
    }
}

/// Returns a script that requests approval for a call of the agent's own tool.
fn approval_script(call: &str, tool: &str) -> String {
    let call = json!({
        "toolCallId": call, "title": tool, "kind": "execute", "rawInput": {"command": "rm x"},
        "_meta": {"toolName": tool},
    });
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    format!("ask {}", json!({"toolCall": call, "options": options}))
}

/// Starts a host with these customizations and creates a session.
async fn open(
    workspace: &TestWorkspace,
    settings: CustomizationSettings,
) -> (agenthost_server::Server, Peer) {
    let server = workspace.serve(settings).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    (server, peer)
}

fn call_of(chat: &Value, turn: &str) -> Value {
    let turns = chat["turns"].as_array().unwrap();
    let turn = turns.iter().find(|one| one["id"] == turn).unwrap();
    let parts = turn["responseParts"].as_array().unwrap();
    let call = parts.iter().find(|part| part["kind"] == "toolCall");
    call.map_or(Value::Null, |part| part["toolCall"].clone())
}

fn has_approval_request(peer: &Peer) -> bool {
    let mut actions = peer.actions.iter();
    actions.any(|action| action["type"] == "session/inputNeededSet")
}

/// Waits until a file ends with a complete line and returns its text.
async fn appears(path: &Path) -> String {
    let wait = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.unwrap()
}

async fn ends(process: &str) {
    let status = format!("/proc/{}/stat", process.trim());
    let gone = async {
        while std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), gone).await;
    ended.unwrap();
}

/// A hook denies a call, and no client is asked for approval. A call that a hook allows still
/// requires approval.
#[tokio::test]
async fn a_hook_denies_a_permission_request() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let hooks = json!({ "PreToolUse": [
        { "matcher": "Bash", "command": "echo 'not in this project' >&2; exit 2" },
        { "matcher": "Read", "command": "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"allow\"}}'" },
    ] });
    let (server, mut peer) = open(&workspace, hooked(package.path(), &hooks)).await;
    assert_eq!(
        peer.run_turn("t1", &approval_script("k1", "Bash")).await,
        "no"
    );
    assert!(!has_approval_request(&peer), "{:?}", peer.actions);
    let call = call_of(&peer.chat(), "t1");
    assert_eq!(call["status"], "cancelled", "{call}");
    assert_eq!(call["reason"], "denied");
    assert_eq!(call["reasonMessage"], "not in this project");

    peer.start_turn("t2", &approval_script("k2", "Read")).await;
    peer.until("the question", has_approval_request).await;
    let yes = json!({"type": "chat/toolCallConfirmed", "turnId": "t2", "toolCallId": "k2", "approved": true, "selectedOptionId": "yes"});
    peer.dispatch(&chat_uri(), yes).await;
    assert_eq!(peer.end("t2").await, "yes");
    server.stop().await.unwrap();
}

/// A hook denies calls of tools of MCP servers and clients, and the agent gets the reason. A call
/// that required approval is checked only once.
#[tokio::test]
async fn a_hook_denies_calls_of_host_tools() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let hooks = json!({ "PreToolUse": [
        { "matcher": "mcp__calc__add|runTests", "command": "echo 'not today' >&2; exit 2" },
        { "matcher": "mcp__calc__.*", "command": "cat >> seen; echo >> seen" },
    ] });
    let (server, mut peer) = open(&workspace, hooked(package.path(), &hooks)).await;
    peer.be_active(tools(), json!([])).await;
    let said = peer
        .run_turn("t1", r#"mcp call calc_add {"a": 2, "b": 3}"#)
        .await;
    assert_eq!(said, "it failed: not today");
    let call = call_of(&peer.chat(), "t1");
    assert_eq!(call["result"]["success"], Value::Null, "{call}");
    assert_eq!(call["success"], false, "{call}");
    let said = peer.run_turn("t2", "mcp call runTests {}").await;
    assert_eq!(said, "it failed: not today");
    let said = peer.run_turn("t3", "mcp quiet runTests {}").await;
    assert_eq!(said, "it failed: not today");

    let seen = workspace.project.path().join("seen");
    assert!(!seen.exists());
    peer.actions.clear();
    peer.start_turn("t4", r#"mcp ask calc_echo {"text": "fine"}"#)
        .await;
    peer.until("the question", has_approval_request).await;
    let ready = peer.action("chat/toolCallReady").await;
    let yes = json!({"type": "chat/toolCallConfirmed", "turnId": "t4", "toolCallId": ready["toolCallId"], "approved": true, "selectedOptionId": "yes"});
    peer.dispatch(&chat_uri(), yes).await;
    let said = peer.end("t4").await;
    assert!(said.contains("fine"), "{said}");
    let told = appears(&seen).await;
    assert_eq!(told.lines().count(), 1, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["tool_name"], "mcp__calc__echo");
    assert_eq!(told["tool_input"], json!({"text": "fine"}));
    server.stop().await.unwrap();
}

/// The agent gets the output of hooks on completed calls with its next message.
#[tokio::test]
async fn hooks_receive_completed_calls() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let hooks = json!({
        "PostToolUse": [{ "matcher": "Edit", "command": "cat > told; echo >> told; echo 'run the formatter' >&2; exit 2" }],
        "PostToolUseFailure": [{ "command": "cat > failed; echo >> failed" }],
    });
    let (server, mut peer) = open(&workspace, hooked(package.path(), &hooks)).await;
    let update = |call: &str, status: &str| {
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "Edit", "status": status, "rawInput": {"path": "x"}, "_meta": {"toolName": "Edit"}});
        format!("update {update}")
    };
    peer.run_turn("t1", &update("k1", "failed")).await;
    appears(&workspace.project.path().join("failed")).await;
    peer.run_turn("t2", &update("k2", "completed")).await;
    let told = appears(&workspace.project.path().join("told")).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["hook_event_name"], "PostToolUse");
    assert_eq!(told["tool_input"], json!({"path": "x"}));
    assert_eq!(told["tool_response"]["success"], true);
    // Turns do not wait for these hooks, so their output may take more than one turn to arrive.
    let mut heard = String::new();
    let mut number = 3;
    while !heard.contains("run the formatter") {
        heard = peer.run_turn(&format!("t{number}"), "blocks").await;
        number += 1;
        assert!(number < 100, "{heard}");
    }
    server.stop().await.unwrap();
}

/// A hook that hangs delays only its own call, and is terminated with the turn or the session.
#[tokio::test]
async fn a_hanging_hook_is_terminated_with_its_turn() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let hooks = json!({ "PreToolUse": [
        { "matcher": "Bash|mcp__calc__add", "command": "echo $$ > began; sleep 600" },
    ] });
    let (server, mut peer) = open(&workspace, hooked(package.path(), &hooks)).await;
    let began = workspace.project.path().join("began");
    for (turn, script) in [
        ("t1", approval_script("k1", "Bash")),
        ("t2", r#"mcp call calc_add {"a": 2, "b": 3}"#.to_owned()),
    ] {
        peer.start_turn(turn, &script).await;
        let process = appears(&began).await;
        let cancel = json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 1});
        peer.dispatch(&chat_uri(), cancel).await;
        peer.end(turn).await;
        ends(&process).await;
        std::fs::remove_file(&began).unwrap();
    }
    assert!(!has_approval_request(&peer), "{:?}", peer.actions);
    let said = peer.run_turn("t3", "say still here").await;
    assert_eq!(said, "still here");
    peer.start_turn("t4", &approval_script("k4", "Bash")).await;
    let process = appears(&began).await;
    let dispose = json!({ "channel": SESSION });
    peer.request("disposeSession", dispose).await.unwrap();
    ends(&process).await;
    server.stop().await.unwrap();
}
