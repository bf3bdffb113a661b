//! Tests of MCP servers and the gateway.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agent;
mod allowed;
mod client_tools;
mod gateway;
mod oauth;
mod processes;
mod side_channel;
mod stage;
mod states;
mod web;

/// Is the server, when a test runs itself again.
#[test]
fn as_server() {
    agenthost_testkit::mcp_server::run_as_server();
}

/// Is the relay, when a test runs itself again.
#[test]
fn as_relay() {
    gateway::play_relay();
}
