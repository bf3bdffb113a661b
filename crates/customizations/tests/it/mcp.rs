//! Servers of tools, as the host and agents see them.

mod agent;

mod processes;

mod stage;
mod states;

/// Is the server, when a test runs itself again.
#[test]
fn as_server() {
    agenthost_testkit::mcp_server::play();
}
