//! Servers that want a token.

use std::time::Duration;

use agenthost_core::tools::mcp::driver::McpEvent;
use agenthost_mcp::McpConfig;
use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement};
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::json;

use super::agent::Agent;
use super::harness::{McpHarness, chat, principal, session, web};

async fn protected() -> HttpServer {
    HttpServer::start(TestAuth {
        token: Some("good".to_owned()),
        wide_token: Some("wide".to_owned()),
        ..TestAuth::default()
    })
    .await
}

async fn call_needs_token(harness: &mut McpHarness) -> (String, McpAuthRequirement) {
    harness
        .until(|event| match event {
            McpEvent::CallAuthRequired {
                tool, requirement, ..
            } => Some((tool.clone(), (**requirement).clone())),
            _ => None,
        })
        .await
}

async fn call_has_token(harness: &mut McpHarness) {
    harness
        .until(|event| matches!(event, McpEvent::CallAuthorized { .. }).then_some(()))
        .await;
}

#[tokio::test]
async fn a_server_that_requires_a_token_starts_when_it_gets_one() {
    let server = protected().await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    // MCP-7
    let needed = harness.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Required);
    assert_eq!(needed.required_scopes, Some(vec!["read".to_owned()]));
    assert_eq!(needed.resource.resource, server.url());
    assert_eq!(
        needed.resource.resource_name.as_deref(),
        Some("Test server")
    );
    let issuers = needed.resource.authorization_servers.unwrap();
    assert!(issuers[0].ends_with("/authorization"), "{issuers:?}");

    // One that is not accepted.
    harness.token(&server.url(), Some("bad"));
    let needed = harness.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // AUT-12
    harness.token(&server.url(), Some("good"));
    harness.ready().await;
    // It is known for other servers of the same resource, and after a restart.
    harness.start("again", web(&server.url()));
    harness.ready().await;
    harness.end().await;
}

/// AUT-13: a token serves the sessions of who gave it, and no others.
#[tokio::test]
async fn a_token_is_used_only_in_sessions_of_its_principal() {
    let server = protected().await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    harness.auth_required().await;
    // Bob has a good one, but it is Ann's session.
    harness.token_of("bob", &server.url(), Some("wide"));
    harness.token(&server.url(), Some("bad"));
    let needed = harness.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // It is Bob's turn.
    let both = vec![principal("bob"), principal("ann")];
    harness.servers.set_token_principals(&session(), both);
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let called = agent.call("web_needs_scope", json!({})).await;
    assert_eq!(called["result"]["isError"], false, "{called}");
    // He has nothing to do with it any more.
    harness.token(&server.url(), None);
    harness
        .servers
        .set_token_principals(&session(), vec![principal("ann")]);
    harness.auth_required().await;
    harness.token(&server.url(), Some("good"));
    harness.ready().await;
    harness.end().await;
}

#[tokio::test]
async fn a_revoked_token_ends_the_connection() {
    let server = protected().await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    harness.auth_required().await;
    harness.token(&server.url(), Some("good"));
    harness.ready().await;
    harness.token(&server.url(), None);
    let needed = harness.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    harness.tools(<[_]>::is_empty).await;
    // The same one, once more.
    harness.token(&server.url(), Some("good"));
    harness.ready().await;
    // And a server that waits can be stopped (MCP-6).
    harness.token(&server.url(), None);
    harness.auth_required().await;
    harness.stop_server("w");
    harness.stopped().await;
    harness.end().await;
}

#[tokio::test]
async fn a_call_with_an_expired_token_waits_for_a_new_one() {
    let server = protected().await;
    let mut harness = McpHarness::new();
    harness.token(&server.url(), Some("good"));
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    server.update_auth(|protection| protection.token = Some("newer".to_owned()));
    let call = json!({"name": "web_echo", "arguments": {"text": "hi"}});
    let id = agent.start("tools/call", call).await;
    let (tool, needed) = call_needs_token(&mut harness).await;
    assert_eq!(tool, "web_echo");
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // The server as a whole has lost its token, too.
    assert_eq!(harness.auth_required().await.reason, McpAuthReason::Expired);
    harness.token(&server.url(), Some("newer"));
    call_has_token(&mut harness).await;
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    harness.end().await;
}

#[tokio::test]
async fn a_call_with_insufficient_scope_does_not_block_the_server() {
    let server = protected().await;
    let mut harness = McpHarness::new();
    harness.token(&server.url(), Some("good"));
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let id = agent
        .start("tools/call", json!({"name": "web_needs_scope"}))
        .await;
    let (tool, needed) = call_needs_token(&mut harness).await;
    assert_eq!(tool, "web_needs_scope");
    assert_eq!(needed.reason, McpAuthReason::InsufficientScope);
    let scopes = needed.required_scopes.unwrap();
    assert_eq!(scopes, ["read", "write"]);
    // MCP-10
    let said = agent.call("web_echo", json!({"text": "meanwhile"})).await;
    assert_eq!(said["result"]["content"][0]["text"], "meanwhile");
    harness.token(&server.url(), Some("wide"));
    call_has_token(&mut harness).await;
    let answer = agent.answer(id).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "needs_scope was called"
    );
    let asked = |(_, event): &(_, McpEvent)| matches!(event, McpEvent::ServerAuthRequired { .. });
    assert!(!harness.other.iter().any(asked));
    harness.end().await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_token_times_out() {
    let server = protected().await;
    let mut harness = McpHarness::with(McpConfig {
        token_timeout: Duration::from_millis(300),
        ..McpConfig::default()
    });
    harness.token(&server.url(), Some("good"));
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let answer = agent.call("web_needs_scope", json!({})).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "the tool requires a token, and no client sent one"
    );
    // It is retried once, and no more.
    let id = agent
        .start("tools/call", json!({"name": "web_needs_scope"}))
        .await;
    call_needs_token(&mut harness).await;
    call_needs_token(&mut harness).await;
    harness.token(&server.url(), Some("good"));
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["isError"], true);
    harness.end().await;
}

#[tokio::test]
async fn a_server_without_metadata_is_its_own_resource() {
    let server = protected().await;
    server.update_auth(|protection| protection.hides_metadata = true);
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    let needed = harness.auth_required().await;
    assert_eq!(needed.resource.resource, server.url());
    harness.token(&server.url(), Some("good"));
    harness.ready().await;
    harness.end().await;
}

#[tokio::test]
async fn a_server_cannot_request_the_token_of_another_resource() {
    let server = protected().await;
    let other = "https://bank.example/mcp";
    server.update_auth(|protection| protection.claimed_resource = Some(other.to_owned()));
    let mut harness = McpHarness::new();
    harness.token(other, Some("good"));
    harness.start("w", web(&server.url()));
    let needed = harness.auth_required().await;
    assert_eq!(needed.resource.resource, server.url());
    harness.end().await;
}

#[tokio::test]
async fn a_lost_server_is_noticed_by_the_next_call() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    drop(server);
    let answer = agent.call("web_echo", json!({"text": "hi"})).await;
    assert_eq!(answer["result"]["isError"], true);
    harness.failed().await;
    harness.end().await;
}

#[tokio::test]
async fn a_lost_server_fails_the_running_call() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let slow = json!({
        "name": "web_slow", "arguments": {"steps": 1}, "_meta": {"progressToken": 1},
    });
    let id = agent.start("tools/call", slow).await;
    agent.wait_for_notification("notifications/progress").await;
    drop(server);
    // TOO-27
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["isError"], true);
    harness.failed().await;
    harness.end().await;
}
