//! Requests and notifications between clients and MCP servers on the `mcp:` channel.

use agenthost_core::ConnectionId;
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, McpForward};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::{Value, json};

use super::harness::{McpHarness, id, program, session, web};

fn forward(harness: &McpHarness, number: &str, method: &str, params: &Value) {
    harness.execute(McpCommand::ForwardRequest(Box::new(McpForward {
        connection: ConnectionId(7),
        id: RequestId::Number(number.into()),
        session: session(),
        server: id("a"),
        method: method.to_owned(),
        params: params.as_object().unwrap().clone(),
    })));
}

async fn answered(harness: &mut McpHarness, number: &str) -> Result<Value, RpcError> {
    let wanted = RequestId::Number(number.into());
    harness
        .until(|event| match event {
            McpEvent::ForwardAnswered {
                connection,
                id,
                result: answer,
            } if *id == wanted => {
                assert_eq!(*connection, ConnectionId(7));
                Some((**answer).clone())
            }
            _ => None,
        })
        .await
}

async fn forward_request(
    harness: &mut McpHarness,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    forward(harness, "1", method, params);
    answered(harness, "1").await
}

async fn next_notification(harness: &mut McpHarness, wanted: &str) -> Value {
    harness
        .until(|event| match event {
            McpEvent::ServerNotified { method, params, .. } if method == wanted => {
                Some(Value::Object(params.clone()))
            }
            _ => None,
        })
        .await
}

#[tokio::test]
async fn advertised_methods_are_forwarded_unchanged() {
    let server = HttpServer::start(TestAuth::default()).await;
    let stateless = HttpServer::start_stateless(TestAuth::default()).await;
    for spec in [program("plain"), web(&server.url()), web(&stateless.url())] {
        let mut harness = McpHarness::new();
        harness.start("a", spec);
        harness.ready().await;
        let listed = forward_request(&mut harness, "tools/list", &json!({}))
            .await
            .unwrap();
        // The answer of the server is unchanged: a single page, with its own tool names.
        assert_eq!(listed["nextCursor"], "second");
        assert_eq!(listed["tools"][0]["name"], "echo");
        let call = json!({"name": "add", "arguments": {"a": 1, "b": 1}});
        let called = forward_request(&mut harness, "tools/call", &call)
            .await
            .unwrap();
        assert_eq!(called["structuredContent"], json!({"sum": 2}));
        let listed = forward_request(&mut harness, "resources/list", &json!({})).await;
        assert_eq!(listed.unwrap()["resources"][0]["uri"], "test://greeting");
        let greeting = json!({"uri": "test://greeting"});
        let read = forward_request(&mut harness, "resources/read", &greeting).await;
        assert_eq!(read.unwrap()["contents"][0]["text"], "hello");
        let templates = forward_request(&mut harness, "resources/templates/list", &json!({})).await;
        assert_eq!(templates.unwrap()["resourceTemplates"], json!([]));
        let level = json!({"level": "debug"});
        let set = forward_request(&mut harness, "logging/setLevel", &level).await;
        assert_eq!(set.unwrap(), json!({}));
        // Errors of the server are passed on unchanged.
        let refused = forward_request(&mut harness, "tools/call", &json!({"name": "refuse"})).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams);
        assert_eq!(refused.message, "not like this");
        harness.end().await;
    }
}

#[tokio::test]
async fn mcp_20_apps_cannot_call_agent_only_tools() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let call = json!({"name": "variable", "arguments": {"name": "HOME"}});
    let refused = forward_request(&mut harness, "tools/call", &call)
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidParams);
    assert_eq!(
        refused.message,
        "name: the server offers this tool to agents only"
    );
    harness.end().await;
}

#[tokio::test]
async fn other_methods_are_rejected() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    // MCP-14, MCP-15, MCP-19
    for method in [
        "initialize",
        "ping",
        "prompts/list",
        "resources/subscribe",
        "sampling/createMessage",
        "ui/open",
        "",
    ] {
        let refused = forward_request(&mut harness, method, &json!({}))
            .await
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::MethodNotFound, "{method}");
    }
    // Known methods with invalid parameters are rejected.
    for (method, params) in [
        ("tools/call", json!({"arguments": {}})),
        ("tools/call", json!({"name": 1})),
        ("tools/call", json!({"name": "echo", "arguments": "hi"})),
        ("resources/read", json!({"uri": []})),
    ] {
        let refused = forward_request(&mut harness, method, &params)
            .await
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{params}");
    }
    harness.stop_server("a");
    harness.stopped().await;
    let refused = forward_request(&mut harness, "tools/list", &json!({})).await;
    assert_eq!(
        refused.unwrap_err().message,
        "the MCP server is not running"
    );
    harness.end().await;
}

#[tokio::test]
async fn server_notifications_are_forwarded() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    forward_request(&mut harness, "tools/call", &json!({"name": "log"}))
        .await
        .unwrap();
    let logged = next_notification(&mut harness, "notifications/message").await;
    assert_eq!(logged, json!({"level": "info", "data": "a log line"}));
    let change = json!({"name": "change_tools"});
    forward_request(&mut harness, "tools/call", &change)
        .await
        .unwrap();
    next_notification(&mut harness, "notifications/tools/list_changed").await;
    let slow = json!({
        "name": "slow", "arguments": {"steps": 2, "last": true},
        "_meta": {"progressToken": 9},
    });
    forward_request(&mut harness, "tools/call", &slow)
        .await
        .unwrap();
    let progress = next_notification(&mut harness, "notifications/progress").await;
    assert_eq!(progress["progressToken"], 9);
    harness.end().await;
}

#[tokio::test]
async fn a_client_can_cancel_a_request() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let slow = json!({"name": "slow", "arguments": {"steps": 1}, "_meta": {"progressToken": 1}});
    forward(&harness, "5", "tools/call", &slow);
    next_notification(&mut harness, "notifications/progress").await;
    harness.execute(McpCommand::ForwardNotification {
        session: session(),
        server: id("a"),
        method: "notifications/cancelled".to_owned(),
        params: json!({"requestId": 5}).as_object().unwrap().clone(),
    });
    let ended = answered(&mut harness, "5").await.unwrap_err();
    assert_eq!(ended.message, "cancelled");
    harness.end().await;
}

#[tokio::test]
async fn a_request_that_needs_a_token_reports_it() {
    let server = HttpServer::start(TestAuth {
        token: Some("good".to_owned()),
        wide_token: Some("wide".to_owned()),
        ..TestAuth::default()
    })
    .await;
    let mut harness = McpHarness::new();
    harness.token(&server.url(), Some("good"));
    harness.start("a", web(&server.url()));
    harness.ready().await;
    let refused =
        forward_request(&mut harness, "tools/call", &json!({"name": "needs_scope"})).await;
    let refused = refused.unwrap_err();
    // AUT-9
    assert_eq!(refused.code, ErrorCode::AuthRequired);
    let data = refused.data.unwrap();
    assert_eq!(data["resources"][0]["resource"], server.url());
    harness.end().await;
}
