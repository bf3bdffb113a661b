//! Runs MCP servers for the agents of sessions, and the gateway that offers their tools.
//!
//! **What it does.** [`McpManager`] runs MCP servers, each in its own task. The gateway offers
//! their tools, and those of the session's clients, to the agent of each chat as one MCP
//! server. An agent starts a small program for it (the relay), which copies lines between the
//! agent and a socket of the host. Some agents connect over HTTP instead.
//!
//! **What it must never do.** It trusts neither servers nor agents: every list and every
//! message has a limit, and tool names are sanitized. It decides nothing about approvals and
//! keeps no protocol state.
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

/// Maximum size of a message from a server or an agent. Tool results may contain images.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
