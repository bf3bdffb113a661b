//! Error paths of loading customizations: malformed responses of clients, and agents that want MCP
//! over HTTP.

use std::time::Duration;

use agenthost_acp::AcpProfile;
use agenthost_agents::McpPreference;
use agenthost_customizations::CustomizationSettings;
use serde_json::json;

use crate::customizations::{TestWorkspace, client_plugin, serve_plugin};
use crate::peer::{LONE_SURROGATE, Peer};
use crate::test_server::chat_uri;

/// A malformed response ends a request at once, not after its timeout (CUS-5, RPC-13).
#[tokio::test]
async fn a_malformed_client_response_fails_the_load_at_once() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut editor = Peer::join(&server, "editor").await;
    serve_plugin(&mut editor);
    let file = "virtual://editor/skills/skills/broken/SKILL.md";
    let text = format!("Half: {LONE_SURROGATE}");
    editor.files.insert(file.to_owned(), text);
    editor.open(workspace.project.path()).await;
    let asked = std::time::Instant::now();
    editor.be_active(json!([]), client_plugin("1")).await;
    editor
        .until("plugin C", |peer| {
            let found = peer.customization("Plugin C");
            found.is_some_and(|found| found["load"]["kind"] == "degraded")
        })
        .await;
    // A client that does not respond has ten seconds.
    assert!(asked.elapsed() < Duration::from_secs(8));
    let found = editor.customization("Plugin C").unwrap();
    assert_eq!(
        found["load"]["message"],
        "`skills/broken/SKILL.md`: the client's response is malformed"
    );
    assert_eq!(found["children"][0]["name"], "review");
    server.stop().await.unwrap();
}

/// An agent that does not start MCP servers as processes gets the same tools over HTTP (CLT-2). An
/// agent that supports neither gets none.
#[tokio::test]
async fn an_agent_that_prefers_http_can_call_client_tools() {
    let workspace = TestWorkspace::new();
    let profile = || AcpProfile {
        mcp_preference: McpPreference::Http,
        ..AcpProfile::default()
    };
    let server = workspace
        .serve_with(CustomizationSettings::default(), "plain http", profile())
        .await;
    let mut editor = Peer::join(&server, "editor").await;
    editor.open(workspace.project.path()).await;
    let tools = json!([{"name": "runTests", "title": "Run tests"}]);
    editor.be_active(tools, json!([])).await;
    assert_eq!(editor.run_turn("t1", "mcp list").await, "runTests");
    editor.start_turn("t2", "mcp call runTests {}").await;
    let ready = editor.action("chat/toolCallReady").await;
    let content = json!([{"type": "text", "text": "3 passed"}]);
    let result = json!({"success": true, "pastTenseMessage": "Ran tests", "content": content});
    let complete = json!({"type": "chat/toolCallComplete", "turnId": "t2",
        "toolCallId": ready["toolCallId"], "result": result});
    editor.dispatch(&chat_uri(), complete).await;
    assert_eq!(editor.end("t2").await, "3 passed");
    server.stop().await.unwrap();

    let workspace = TestWorkspace::new();
    let server = workspace
        .serve_with(CustomizationSettings::default(), "plain", profile())
        .await;
    let mut editor = Peer::join(&server, "editor").await;
    editor.open(workspace.project.path()).await;
    assert_eq!(
        editor.run_turn("t1", "mcp list").await,
        "there is no server `agenthost`"
    );
    server.stop().await.unwrap();
}
