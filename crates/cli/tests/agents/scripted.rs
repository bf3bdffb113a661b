//! The scripted agent with an MCP server from a package registry, without a model.

use std::path::Path;

use agenthost_testkit::acp_agent;
use serde_json::json;

use crate::agent_chat::{AgentChat, Decide, calls, text_of_parts};
use crate::agent_entry::{scripted, tool_server};
use crate::host::{Host, processes, wait_until_gone};
use crate::{agent_tests, assert_alone};

/// Runs the scripted agent if this process was started as one; otherwise there is nothing to test.
#[test]
fn the_agent() {
    acp_agent::run_as_agent();
}

/// MCP-1 to MCP-5, MCP-11: an agent uses a third-party MCP server through the host.
#[tokio::test]
#[ignore = "needs a server from npm and no network; `./test agents` has them"]
async fn an_agent_uses_an_mcp_server_from_a_package_registry() {
    assert_alone();
    let server = tool_server();
    assert!(server.is_installed(), "the server is not installed");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("offered/scripted");
    // Files of an earlier run must not affect this one.
    drop(std::fs::remove_dir_all(&place));
    let (program, arguments) = acp_agent::agent_command("scripted::the_agent");
    let command = std::iter::once(program).chain(arguments).collect();
    let entry = scripted(command, &[(acp_agent::AGENT_MODE_VARIABLE, "plain")]);
    let config = entry.set_up(&place.join("home"), "") + &server.set_up(&entry.id);
    std::fs::write(place.join("config.toml"), config).unwrap();
    let host = Host::start(&place, &entry).await;
    let mut agent_chat = AgentChat::begin(&host, &entry, &place, "registry")
        .await
        .unwrap();
    let turn = agent_chat.turn("mcp list", Decide::Approve).await.unwrap();
    let tools = text_of_parts(&turn.json, "markdown");
    for tool in ["everything_echo", "everything_get-sum"] {
        assert!(tools.contains(tool), "{tools}");
    }
    let order = r#"mcp call everything_get-sum {"a": 2, "b": 40}"#;
    let turn = agent_chat.turn(order, Decide::Approve).await.unwrap();
    agent_tests::complete(&turn).unwrap();
    let heard = text_of_parts(&turn.json, "markdown");
    assert!(heard.contains("42"), "{heard}");
    let session = agent_chat.session_state().await.unwrap();
    let all = session["customizations"].as_array().unwrap();
    let known = all.iter().find(|one| one["name"] == server.id.as_str());
    let contributor = json!({"kind": "mcp", "customizationId": known.unwrap()["id"]});
    let calls = calls(&turn.json);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["contributor"], contributor);
    assert_eq!(calls[0]["toolName"], "get-sum");
    agent_chat.dispose().await.unwrap();
    let running = processes(&entry.id);
    host.stop().await.unwrap();
    let left = wait_until_gone(&entry.id, &running).await;
    assert!(left.is_empty(), "still runs: {left:?}");
}
