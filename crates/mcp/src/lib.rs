//! MCP servers for the agents of sessions, and the gateway that offers their
//! tools.
//!
//! **What it does.** [`McpManager`] runs servers, a task for each. Their tools,
//! and those of the clients of a session, are one MCP server to the agent of each
//! chat: the gateway. An agent starts a small program for it (the relay), which
//! passes lines between the agent and a socket of the host; some agents connect
//! over HTTP instead.
//!
//! **What it must never do.** It trusts neither servers nor agents: every list
//! and every message has a limit, and names are made plain. It decides nothing
//! about approvals and keeps no state of the protocol.
//!
//! **Where to start.** [`McpManager`], then `server` and `gateway`.

mod app_requests;
mod auth;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod gateway;
mod manager;
mod relay;
mod server;
mod session_tools;
mod tool_filter;
mod transport;

pub use gateway::{GatewayAddress, HttpGateway, HttpGatewayTarget};
pub use manager::{McpConfig, McpManager, McpStartError};
pub use relay::{RelayError, RelayTarget, relay};

/// Longest message that is taken from a server or an agent, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
