//! Custom agents that may not use all tools.

use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent};
use agenthost_protocol::uri::Uri;
use serde_json::json;

use super::agent::Agent;
use super::harness::{McpHarness, chat, client_tool, program, session};

fn allow(harness: &McpHarness, tools: Option<&[&str]>) {
    let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
    harness.execute(McpCommand::SetToolFilter {
        session: session(),
        chat: chat(),
        tools,
    });
}

/// CUS-18: what a list does not name is neither listed nor called, in its chat
/// alone; the agent hears of it, and without the list has everything back.
#[tokio::test]
async fn a_tool_filter_restricts_listing_and_calls_of_one_chat() {
    const CHANGED: &str = "notifications/tools/list_changed";
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    harness.execute(McpCommand::SetClientTools {
        session: session(),
        tools: vec![client_tool("open"), client_tool("close")],
    });
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let mut other = Agent::connect_chat(&harness, &Uri::new("ahp-chat:/c2")).await;
    let all = agent.tools().await;
    assert_eq!(all.len(), 14);

    allow(&harness, Some(&["Read", "add", "mcp__test__echo", "open"]));
    agent.wait_for_notification(CHANGED).await;
    assert_eq!(agent.tools().await, ["open", "test_echo", "test_add"]);
    let said = agent.call("test_echo", json!({"text": "hi"})).await;
    assert_eq!(said["result"]["content"][0]["text"], "hi");
    for forbidden in ["test_image", "close"] {
        let refused = agent.call(forbidden, json!({})).await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        let why = &refused["result"]["content"][0]["text"];
        let expected = "the selected custom agent may not use this tool";
        assert_eq!(why, expected);
    }
    let heard = |event: &McpEvent| matches!(event, McpEvent::ClientToolCalled { .. });
    assert!(!harness.other.iter().any(|(_, event)| heard(event)));
    assert_eq!(other.tools().await, all);

    allow(&harness, Some(&["test/*"]));
    agent.wait_for_notification(CHANGED).await;
    assert_eq!(agent.tools().await.len(), 12);
    allow(&harness, None);
    agent.wait_for_notification(CHANGED).await;
    assert_eq!(agent.tools().await, all);
    let image = agent.call("test_image", json!({})).await;
    assert_eq!(image["result"]["isError"], false);
    harness.end().await;
}
