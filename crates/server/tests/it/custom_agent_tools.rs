//! Which of the host's tools are available in a turn.

use serde_json::json;

use crate::customizations::TestWorkspace;
use crate::peer::Peer;
use crate::test_server::chat_uri;
use crate::tool_servers::{program, with};

/// CUS-18: in a turn of a custom agent with a list of tools, only those tools are available. In the
/// next turn without it, all tools are.
#[tokio::test]
async fn a_custom_agent_has_only_its_listed_tools() {
    let workspace = TestWorkspace::new();
    let agent = "---\nname: adder\ntools: [Read, calc/add]\n---\nAdd.\n";
    workspace.write(".agents/agents/adder.md", agent);
    let server = workspace.serve(with(vec![program("calc", "plain")])).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    peer.until("the agent", |peer| peer.customization("adder").is_some())
        .await;
    let uri = peer.customization("adder").unwrap()["uri"].clone();
    let said = peer.run_turn("t1", "mcp list").await;
    assert!(said.contains("calc_echo"), "{said}");

    let as_adder = |turn: &str, text: &str| {
        let message = json!({"text": text, "origin": {"kind": "user"}, "agent": {"uri": uri}});
        json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z", "message": message})
    };
    peer.dispatch(&chat_uri(), as_adder("t2", "mcp list")).await;
    let said = peer.end("t2").await;
    assert!(said.contains("calc_add"), "{said}");
    assert!(!said.contains("calc_echo"), "{said}");
    let call = r#"mcp call calc_echo {"text": "hi"}"#;
    peer.dispatch(&chat_uri(), as_adder("t3", call)).await;
    let said = peer.end("t3").await;
    assert!(said.contains("may not use this tool"), "{said}");
    let call = r#"mcp call calc_add {"a": 2, "b": 3}"#;
    peer.dispatch(&chat_uri(), as_adder("t4", call)).await;
    assert!(peer.end("t4").await.contains('5'));

    let said = peer.run_turn("t5", "mcp list").await;
    assert!(said.contains("calc_echo"), "{said}");
    let said = peer
        .run_turn("t6", r#"mcp call calc_echo {"text": "hi"}"#)
        .await;
    assert!(said.contains("hi"), "{said}");
    server.stop().await.unwrap();
}
