//! Custom agents that may not use all tools.

use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent};
use agenthost_protocol::uri::Uri;
use serde_json::json;

use super::agent::Agent;
use super::stage::{Stage, chat, client_tool, program, session};

fn allow(stage: &Stage, tools: Option<&[&str]>) {
    let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
    stage.errand(McpCommand::SetToolFilter {
        session: session(),
        chat: chat(),
        tools,
    });
}

/// CUS-18: what a list does not name is neither listed nor called, in its chat
/// alone; the agent hears of it, and without the list has everything back.
#[tokio::test]
async fn a_list_of_tools_is_all_that_there_is() {
    const CHANGED: &str = "notifications/tools/list_changed";
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
    stage.errand(McpCommand::SetClientTools {
        session: session(),
        tools: vec![client_tool("open"), client_tool("close")],
    });
    let mut agent = Agent::come(&stage, &chat()).await;
    let mut other = Agent::come(&stage, &Uri::new("ahp-chat:/c2")).await;
    let all = agent.tools().await;
    assert_eq!(all.len(), 14);

    allow(&stage, Some(&["Read", "add", "mcp__test__echo", "open"]));
    agent.told(CHANGED).await;
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
    assert!(!stage.other.iter().any(|(_, event)| heard(event)));
    assert_eq!(other.tools().await, all);

    allow(&stage, Some(&["test/*"]));
    agent.told(CHANGED).await;
    assert_eq!(agent.tools().await.len(), 12);
    allow(&stage, None);
    agent.told(CHANGED).await;
    assert_eq!(agent.tools().await, all);
    let image = agent.call("test_image", json!({})).await;
    assert_eq!(image["result"]["isError"], false);
    stage.end().await;
}
