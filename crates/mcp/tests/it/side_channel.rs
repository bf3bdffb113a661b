//! Requests and notifications between clients and MCP servers on the `mcp:` channel.

use agenthost_core::ConnectionId;
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, McpForward};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::{Value, json};

use super::stage::{Stage, id, program, session, web};

fn forward(stage: &Stage, number: &str, method: &str, params: &Value) {
    stage.errand(McpCommand::ForwardRequest(Box::new(McpForward {
        connection: ConnectionId(7),
        id: RequestId::Number(number.into()),
        session: session(),
        server: id("a"),
        method: method.to_owned(),
        params: params.as_object().unwrap().clone(),
    })));
}

async fn answered(stage: &mut Stage, number: &str) -> Result<Value, RpcError> {
    let wanted = RequestId::Number(number.into());
    stage
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

async fn asked(stage: &mut Stage, method: &str, params: &Value) -> Result<Value, RpcError> {
    forward(stage, "1", method, params);
    answered(stage, "1").await
}

async fn said(stage: &mut Stage, wanted: &str) -> Value {
    stage
        .until(|event| match event {
            McpEvent::ServerNotified { method, params, .. } if method == wanted => {
                Some(Value::Object(params.clone()))
            }
            _ => None,
        })
        .await
}

#[tokio::test]
async fn what_is_advertised_is_served_as_it_is() {
    let server = HttpServer::start(TestAuth::default()).await;
    let stateless = HttpServer::start_stateless(TestAuth::default()).await;
    for spec in [program("plain"), web(&server.url()), web(&stateless.url())] {
        let mut stage = Stage::new();
        stage.start("a", spec);
        stage.ready().await;
        let listed = asked(&mut stage, "tools/list", &json!({})).await.unwrap();
        // The answer of the server is unchanged: a single page, with its own tool names.
        assert_eq!(listed["nextCursor"], "second");
        assert_eq!(listed["tools"][0]["name"], "echo");
        let call = json!({"name": "add", "arguments": {"a": 1, "b": 1}});
        let called = asked(&mut stage, "tools/call", &call).await.unwrap();
        assert_eq!(called["structuredContent"], json!({"sum": 2}));
        let listed = asked(&mut stage, "resources/list", &json!({})).await;
        assert_eq!(listed.unwrap()["resources"][0]["uri"], "test://greeting");
        let greeting = json!({"uri": "test://greeting"});
        let read = asked(&mut stage, "resources/read", &greeting).await;
        assert_eq!(read.unwrap()["contents"][0]["text"], "hello");
        let templates = asked(&mut stage, "resources/templates/list", &json!({})).await;
        assert_eq!(templates.unwrap()["resourceTemplates"], json!([]));
        let level = json!({"level": "debug"});
        let set = asked(&mut stage, "logging/setLevel", &level).await;
        assert_eq!(set.unwrap(), json!({}));
        // Errors of the server are passed on unchanged.
        let refused = asked(&mut stage, "tools/call", &json!({"name": "refuse"})).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams);
        assert_eq!(refused.message, "not like this");
        stage.end().await;
    }
}

#[tokio::test]
async fn nothing_else_is_served() {
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
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
        let refused = asked(&mut stage, method, &json!({})).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::MethodNotFound, "{method}");
    }
    // Known methods with invalid parameters are rejected.
    for (method, params) in [
        ("tools/call", json!({"arguments": {}})),
        ("tools/call", json!({"name": 1})),
        ("tools/call", json!({"name": "echo", "arguments": "hi"})),
        ("resources/read", json!({"uri": []})),
    ] {
        let refused = asked(&mut stage, method, &params).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{params}");
    }
    stage.stop_server("a");
    stage.stopped().await;
    let refused = asked(&mut stage, "tools/list", &json!({})).await;
    assert_eq!(
        refused.unwrap_err().message,
        "the MCP server is not running"
    );
    stage.end().await;
}

#[tokio::test]
async fn what_a_server_says_on_its_own_is_passed_on() {
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
    asked(&mut stage, "tools/call", &json!({"name": "log"}))
        .await
        .unwrap();
    let logged = said(&mut stage, "notifications/message").await;
    assert_eq!(logged, json!({"level": "info", "data": "a log line"}));
    let change = json!({"name": "change_tools"});
    asked(&mut stage, "tools/call", &change).await.unwrap();
    said(&mut stage, "notifications/tools/list_changed").await;
    let slow = json!({
        "name": "slow", "arguments": {"steps": 2, "last": true},
        "_meta": {"progressToken": 9},
    });
    asked(&mut stage, "tools/call", &slow).await.unwrap();
    let progress = said(&mut stage, "notifications/progress").await;
    assert_eq!(progress["progressToken"], 9);
    stage.end().await;
}

#[tokio::test]
async fn a_client_can_stop_waiting() {
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
    let slow = json!({"name": "slow", "arguments": {"steps": 1}, "_meta": {"progressToken": 1}});
    forward(&stage, "5", "tools/call", &slow);
    said(&mut stage, "notifications/progress").await;
    stage.errand(McpCommand::ForwardNotification {
        session: session(),
        server: id("a"),
        method: "notifications/cancelled".to_owned(),
        params: json!({"requestId": 5}).as_object().unwrap().clone(),
    });
    let ended = answered(&mut stage, "5").await.unwrap_err();
    assert_eq!(ended.message, "cancelled");
    stage.end().await;
}

#[tokio::test]
async fn a_request_that_needs_a_token_says_so() {
    let server = HttpServer::start(TestAuth {
        token: Some("good".to_owned()),
        wide_token: Some("wide".to_owned()),
        ..TestAuth::default()
    })
    .await;
    let mut stage = Stage::new();
    stage.token(&server.url(), Some("good"));
    stage.start("a", web(&server.url()));
    stage.ready().await;
    let refused = asked(&mut stage, "tools/call", &json!({"name": "needs_scope"})).await;
    let refused = refused.unwrap_err();
    // AUT-9
    assert_eq!(refused.code, ErrorCode::AuthRequired);
    let data = refused.data.unwrap();
    assert_eq!(data["resources"][0]["resource"], server.url());
    stage.end().await;
}
