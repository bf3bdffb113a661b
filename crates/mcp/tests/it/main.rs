//! Tests of MCP servers and the gateway.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agent;
mod app_channel;
mod client_tools;
mod gateway;
mod harness;
mod http_gateway;
mod oauth;
mod processes;
mod server_states;
mod tool_filter;

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
