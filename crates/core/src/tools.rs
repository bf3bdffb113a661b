//! Tools of agents, clients and MCP servers: calls, approvals, hooks and servers.

pub(crate) mod client_tools;
pub(crate) mod gateway_calls;
pub(crate) mod hook_checks;
pub mod mcp;
pub(crate) mod permissions;
pub mod tool_use;
