//! Servers that want a token.

use std::time::Duration;

use agenthost_core::tools::mcp::driver::McpEvent;
use agenthost_mcp::McpConfig;
use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement};
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::json;

use super::agent::Agent;
use super::stage::{Stage, chat, session, web, who};

async fn protected() -> HttpServer {
    HttpServer::start(TestAuth {
        token: Some("good".to_owned()),
        wide_token: Some("wide".to_owned()),
        ..TestAuth::default()
    })
    .await
}

async fn call_needs_token(stage: &mut Stage) -> (String, McpAuthRequirement) {
    stage
        .until(|event| match event {
            McpEvent::CallAuthRequired {
                tool, requirement, ..
            } => Some((tool.clone(), (**requirement).clone())),
            _ => None,
        })
        .await
}

async fn call_has_token(stage: &mut Stage) {
    stage
        .until(|event| matches!(event, McpEvent::CallAuthorized { .. }).then_some(()))
        .await;
}

#[tokio::test]
async fn a_server_says_what_it_needs_a_token_for_and_goes_on_with_it() {
    let server = protected().await;
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    // MCP-7
    let needed = stage.auth_required().await;
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
    stage.token(&server.url(), Some("bad"));
    let needed = stage.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // AUT-12
    stage.token(&server.url(), Some("good"));
    stage.ready().await;
    // It is known for other servers of the same resource, and after a restart.
    stage.start("again", web(&server.url()));
    stage.ready().await;
    stage.end().await;
}

/// AUT-13: a token serves the sessions of who gave it, and no others.
#[tokio::test]
async fn a_session_shows_the_tokens_of_its_own() {
    let server = protected().await;
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    stage.auth_required().await;
    // Bob has a good one, but it is Ann's session.
    stage.token_of("bob", &server.url(), Some("wide"));
    stage.token(&server.url(), Some("bad"));
    let needed = stage.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // It is Bob's turn.
    let both = vec![who("bob"), who("ann")];
    stage.servers.set_token_principals(&session(), both);
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    let called = agent.call("web_needs_scope", json!({})).await;
    assert_eq!(called["result"]["isError"], false, "{called}");
    // He has nothing to do with it any more.
    stage.token(&server.url(), None);
    stage
        .servers
        .set_token_principals(&session(), vec![who("ann")]);
    stage.auth_required().await;
    stage.token(&server.url(), Some("good"));
    stage.ready().await;
    stage.end().await;
}

#[tokio::test]
async fn a_token_that_is_taken_back_ends_the_connection() {
    let server = protected().await;
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    stage.auth_required().await;
    stage.token(&server.url(), Some("good"));
    stage.ready().await;
    stage.token(&server.url(), None);
    let needed = stage.auth_required().await;
    assert_eq!(needed.reason, McpAuthReason::Expired);
    stage.tools(<[_]>::is_empty).await;
    // The same one, once more.
    stage.token(&server.url(), Some("good"));
    stage.ready().await;
    // And a server that waits can be stopped (MCP-6).
    stage.token(&server.url(), None);
    stage.auth_required().await;
    stage.stop_server("w");
    stage.stopped().await;
    stage.end().await;
}

#[tokio::test]
async fn a_token_that_expires_is_seen_at_the_next_call_which_goes_on_after() {
    let server = protected().await;
    let mut stage = Stage::new();
    stage.token(&server.url(), Some("good"));
    stage.start("w", web(&server.url()));
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    server.update_auth(|protection| protection.token = Some("newer".to_owned()));
    let call = json!({"name": "web_echo", "arguments": {"text": "hi"}});
    let id = agent.start("tools/call", call).await;
    let (tool, needed) = call_needs_token(&mut stage).await;
    assert_eq!(tool, "web_echo");
    assert_eq!(needed.reason, McpAuthReason::Expired);
    // The server as a whole has lost its token, too.
    assert_eq!(stage.auth_required().await.reason, McpAuthReason::Expired);
    stage.token(&server.url(), Some("newer"));
    call_has_token(&mut stage).await;
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    stage.end().await;
}

#[tokio::test]
async fn a_call_that_needs_more_waits_while_the_server_goes_on() {
    let server = protected().await;
    let mut stage = Stage::new();
    stage.token(&server.url(), Some("good"));
    stage.start("w", web(&server.url()));
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    let id = agent
        .start("tools/call", json!({"name": "web_needs_scope"}))
        .await;
    let (tool, needed) = call_needs_token(&mut stage).await;
    assert_eq!(tool, "web_needs_scope");
    assert_eq!(needed.reason, McpAuthReason::InsufficientScope);
    let scopes = needed.required_scopes.unwrap();
    assert_eq!(scopes, ["read", "write"]);
    // MCP-10
    let said = agent.call("web_echo", json!({"text": "meanwhile"})).await;
    assert_eq!(said["result"]["content"][0]["text"], "meanwhile");
    stage.token(&server.url(), Some("wide"));
    call_has_token(&mut stage).await;
    let answer = agent.answer(id).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "needs_scope was called"
    );
    let asked = |(_, event): &(_, McpEvent)| matches!(event, McpEvent::ServerAuthRequired { .. });
    assert!(!stage.other.iter().any(asked));
    stage.end().await;
}

#[tokio::test]
async fn a_call_does_not_wait_for_a_token_forever() {
    let server = protected().await;
    let mut stage = Stage::with(McpConfig {
        token_timeout: Duration::from_millis(300),
        ..McpConfig::default()
    });
    stage.token(&server.url(), Some("good"));
    stage.start("w", web(&server.url()));
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    let answer = agent.call("web_needs_scope", json!({})).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "the tool requires a token, and no client sent one"
    );
    // It is retried once, and no more.
    let id = agent
        .start("tools/call", json!({"name": "web_needs_scope"}))
        .await;
    call_needs_token(&mut stage).await;
    call_needs_token(&mut stage).await;
    stage.token(&server.url(), Some("good"));
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["isError"], true);
    stage.end().await;
}

#[tokio::test]
async fn a_server_that_says_nothing_of_itself_is_its_own_resource() {
    let server = protected().await;
    server.update_auth(|protection| protection.hides_metadata = true);
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    let needed = stage.auth_required().await;
    assert_eq!(needed.resource.resource, server.url());
    stage.token(&server.url(), Some("good"));
    stage.ready().await;
    stage.end().await;
}

#[tokio::test]
async fn a_server_can_not_ask_for_the_token_of_another() {
    let server = protected().await;
    let other = "https://bank.example/mcp";
    server.update_auth(|protection| protection.claimed_resource = Some(other.to_owned()));
    let mut stage = Stage::new();
    stage.token(other, Some("good"));
    stage.start("w", web(&server.url()));
    let needed = stage.auth_required().await;
    assert_eq!(needed.resource.resource, server.url());
    stage.end().await;
}

#[tokio::test]
async fn a_server_that_goes_away_is_seen_at_the_next_call() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    drop(server);
    let answer = agent.call("web_echo", json!({"text": "hi"})).await;
    assert_eq!(answer["result"]["isError"], true);
    stage.failed().await;
    stage.end().await;
}

#[tokio::test]
async fn a_server_that_goes_away_in_mid_call_fails_the_call() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut stage = Stage::new();
    stage.start("w", web(&server.url()));
    stage.ready().await;
    let mut agent = Agent::come(&stage, &chat()).await;
    let slow = json!({
        "name": "web_slow", "arguments": {"steps": 1}, "_meta": {"progressToken": 1},
    });
    let id = agent.start("tools/call", slow).await;
    agent.told("notifications/progress").await;
    drop(server);
    // TOO-27
    let answer = agent.answer(id).await;
    assert_eq!(answer["result"]["isError"], true);
    stage.failed().await;
    stage.end().await;
}
