//! Tools of agents, clients and MCP servers: calls, approvals, hooks and servers.

pub(crate) mod client_tools;
pub(crate) mod gateway_calls;
pub(crate) mod hook_checks;
pub mod mcp;
pub(crate) mod permissions;
pub mod tool_use;

use serde::{Deserialize, Serialize};

use gateway_calls::GatewayCalls;
use hook_checks::HookChecks;

/// Tool calls that the host takes part in.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolState {
    /// Calls that agents made through the gateway.
    pub(crate) gateway_calls: GatewayCalls,
    /// Calls and approvals that wait for hooks.
    hook_checks: HookChecks,
}
