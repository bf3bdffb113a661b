//! Tools that clients carry out for agents.

use agenthost_core::tools::mcp::driver::{GatewayCallId, McpCommand, McpEvent};
use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};

use super::agent::Agent;
use super::stage::{Stage, chat, client_tool, session};

fn offer(stage: &Stage, names: &[&str]) {
    stage.errand(McpCommand::SetClientTools {
        session: session(),
        tools: names.iter().map(|name| client_tool(name)).collect(),
    });
}

async fn called(stage: &mut Stage) -> (Uri, GatewayCallId, String, Value) {
    stage
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

async fn abandoned(stage: &mut Stage) -> GatewayCallId {
    stage
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
async fn a_call_goes_to_the_client_and_its_answer_back() {
    let mut stage = Stage::new();
    offer(&stage, &["runTests"]);
    let mut agent = Agent::come(&stage, &chat()).await;
    let listed = agent.ask("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"],
        json!([{
            "name": "runTests", "title": "A tool", "description": "Does something",
            "inputSchema": {"type": "object"},
        }])
    );
    let call = json!({"name": "runTests", "arguments": {"pattern": "*"}});
    let id = agent.start("tools/call", call).await;
    let (of, call, tool, input) = called(&mut stage).await;
    assert_eq!((of, tool), (chat(), "runTests".to_owned()));
    assert_eq!(input, json!({"pattern": "*"}));
    stage.errand(McpCommand::CompleteCall {
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
    stage.end().await;
}

#[tokio::test]
async fn a_failure_of_a_client_is_one_for_the_agent() {
    let mut stage = Stage::new();
    offer(&stage, &["runTests"]);
    let mut agent = Agent::come(&stage, &chat()).await;
    let id = agent.start("tools/call", json!({"name": "runTests"})).await;
    let (_, call, _, input) = called(&mut stage).await;
    assert_eq!(input, json!({}));
    // CLT-8: the client has left.
    stage.errand(McpCommand::CompleteCall {
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
    stage.end().await;
}

#[tokio::test]
async fn chats_are_told_apart() {
    let mut stage = Stage::new();
    offer(&stage, &["ask"]);
    let other = Uri::new("ahp-chat:/c2");
    let mut first = Agent::come(&stage, &chat()).await;
    let mut second = Agent::come(&stage, &other).await;
    let one = first.start("tools/call", json!({"name": "ask"})).await;
    let (of, first_call, ..) = called(&mut stage).await;
    assert_eq!(of, chat());
    let two = second.start("tools/call", json!({"name": "ask"})).await;
    let (of, second_call, ..) = called(&mut stage).await;
    assert_eq!(of, other);
    for (call, text) in [(second_call, "second"), (first_call, "first")] {
        let result = result(&json!({"success": true, "pastTenseMessage": text}));
        stage.errand(McpCommand::CompleteCall { call, result });
    }
    let said = |answer: Value| answer["result"]["content"][0]["text"].clone();
    assert_eq!(said(first.answer(one).await), "first");
    assert_eq!(said(second.answer(two).await), "second");
    stage.end().await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_abandoned() {
    let mut stage = Stage::new();
    offer(&stage, &["ask"]);
    let mut agent = Agent::come(&stage, &chat()).await;
    // The agent cancels the call.
    let id = agent.start("tools/call", json!({"name": "ask"})).await;
    let (_, call, ..) = called(&mut stage).await;
    agent
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    assert_eq!(abandoned(&mut stage).await, call);
    // A late result is ignored.
    let late = result(&json!({"success": true, "pastTenseMessage": "late"}));
    stage.errand(McpCommand::CompleteCall { call, result: late });
    // The agent disconnects.
    agent.start("tools/call", json!({"name": "ask"})).await;
    let (_, call, ..) = called(&mut stage).await;
    drop(agent);
    assert_eq!(abandoned(&mut stage).await, call);
    stage.end().await;
}

#[tokio::test]
async fn agents_hear_when_clients_have_other_tools() {
    let stage = Stage::new();
    offer(&stage, &["one"]);
    let mut agent = Agent::come(&stage, &chat()).await;
    assert_eq!(agent.tools().await, ["one"]);
    offer(&stage, &["one", "two"]);
    agent.told("notifications/tools/list_changed").await;
    assert_eq!(agent.tools().await, ["one", "two"]);
    offer(&stage, &[]);
    agent.told("notifications/tools/list_changed").await;
    assert_eq!(agent.tools().await, Vec::<String>::new());
    stage.end().await;
}
