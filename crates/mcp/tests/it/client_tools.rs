//! Tools that clients carry out for agents.

use agenthost_core::tools::mcp::driver::{GatewayCallId, McpCommand, McpEvent};
use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};

use super::agent::Agent;
use super::harness::{McpHarness, chat, client_tool, session};

fn offer(harness: &McpHarness, names: &[&str]) {
    harness.execute(McpCommand::SetClientTools {
        session: session(),
        tools: names.iter().map(|name| client_tool(name)).collect(),
    });
}

async fn called(harness: &mut McpHarness) -> (Uri, GatewayCallId, String, Value) {
    harness
        .until(|event| match event {
            McpEvent::ClientToolCalled {
                chat,
                call,
                tool,
                input,
            } => {
                let input = serde_json::from_str(input).unwrap();
                Some((chat.clone(), *call, tool.clone(), input))
            }
            _ => None,
        })
        .await
}

async fn abandoned(harness: &mut McpHarness) -> GatewayCallId {
    harness
        .until(|event| match event {
            McpEvent::CallAbandoned { call } => Some(*call),
            _ => None,
        })
        .await
}

fn result(json: &Value) -> Box<ToolCallResult> {
    Box::new(wire::from_str(&json.to_string()).unwrap())
}

#[tokio::test]
async fn a_call_is_forwarded_to_the_client_and_its_result_returned() {
    let mut harness = McpHarness::new();
    offer(&harness, &["runTests"]);
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let listed = agent.request("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"],
        json!([{
            "name": "runTests", "title": "A tool", "description": "Does something",
            "inputSchema": {"type": "object"},
        }])
    );
    let call = json!({"name": "runTests", "arguments": {"pattern": "*"}});
    let id = agent.start("tools/call", call).await;
    let (of, call, tool, input) = called(&mut harness).await;
    assert_eq!((of, tool), (chat(), "runTests".to_owned()));
    assert_eq!(input, json!({"pattern": "*"}));
    harness.execute(McpCommand::CompleteCall {
        call,
        result: result(&json!({
            "success": true, "pastTenseMessage": "Ran tests",
            "content": [{"type": "text", "text": "all green"}],
        })),
    });
    let answer = agent.answer(id).await;
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "all green"}], "isError": false})
    );
    harness.end().await;
}

#[tokio::test]
async fn a_failure_of_a_client_is_reported_to_the_agent() {
    let mut harness = McpHarness::new();
    offer(&harness, &["runTests"]);
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let id = agent.start("tools/call", json!({"name": "runTests"})).await;
    let (_, call, _, input) = called(&mut harness).await;
    assert_eq!(input, json!({}));
    // CLT-8: the client has left.
    harness.execute(McpCommand::CompleteCall {
        call,
        result: result(&json!({
            "success": false, "pastTenseMessage": "Failed", "error": {"message": "client left"},
        })),
    });
    let answer = agent.answer(id).await;
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "client left"}], "isError": true})
    );
    harness.end().await;
}

#[tokio::test]
async fn calls_of_different_chats_are_distinguished() {
    let mut harness = McpHarness::new();
    offer(&harness, &["ask"]);
    let other = Uri::new("ahp-chat:/c2");
    let mut first = Agent::connect_chat(&harness, &chat()).await;
    let mut second = Agent::connect_chat(&harness, &other).await;
    let one = first.start("tools/call", json!({"name": "ask"})).await;
    let (of, first_call, ..) = called(&mut harness).await;
    assert_eq!(of, chat());
    let two = second.start("tools/call", json!({"name": "ask"})).await;
    let (of, second_call, ..) = called(&mut harness).await;
    assert_eq!(of, other);
    for (call, text) in [(second_call, "second"), (first_call, "first")] {
        let result = result(&json!({"success": true, "pastTenseMessage": text}));
        harness.execute(McpCommand::CompleteCall { call, result });
    }
    let said = |answer: Value| answer["result"]["content"][0]["text"].clone();
    assert_eq!(said(first.answer(one).await), "first");
    assert_eq!(said(second.answer(two).await), "second");
    harness.end().await;
}

#[tokio::test]
async fn a_cancelled_call_is_abandoned() {
    let mut harness = McpHarness::new();
    offer(&harness, &["ask"]);
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    // The agent cancels the call.
    let id = agent.start("tools/call", json!({"name": "ask"})).await;
    let (_, call, ..) = called(&mut harness).await;
    agent
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    assert_eq!(abandoned(&mut harness).await, call);
    // A late result is ignored.
    let late = result(&json!({"success": true, "pastTenseMessage": "late"}));
    harness.execute(McpCommand::CompleteCall { call, result: late });
    // The agent disconnects.
    agent.start("tools/call", json!({"name": "ask"})).await;
    let (_, call, ..) = called(&mut harness).await;
    drop(agent);
    assert_eq!(abandoned(&mut harness).await, call);
    harness.end().await;
}

#[tokio::test]
async fn agents_are_notified_of_changed_client_tools() {
    let harness = McpHarness::new();
    offer(&harness, &["one"]);
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    assert_eq!(agent.tools().await, ["one"]);
    offer(&harness, &["one", "two"]);
    agent
        .wait_for_notification("notifications/tools/list_changed")
        .await;
    assert_eq!(agent.tools().await, ["one", "two"]);
    offer(&harness, &[]);
    agent
        .wait_for_notification("notifications/tools/list_changed")
        .await;
    assert_eq!(agent.tools().await, Vec::<String>::new());
    harness.end().await;
}
