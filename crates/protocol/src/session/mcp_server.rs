//! MCP servers of a session and their states.

use super::customization::{CustomizationBase, CustomizationEnablement};
use crate::common::{ErrorInfo, McpAuthRequirement};
use crate::uri::Uri;
use crate::wire::{Json, Object, Unknown, Wire};

/// An MCP server of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerCustomization {
    /// Fields that all customizations share.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// Enablement decisions by scope.
    pub enablement: Option<Vec<CustomizationEnablement>>,
    /// Current state of the server.
    pub state: McpServerState,
    /// URI of an `mcp:` channel, through which clients send requests to the server.
    pub channel: Option<Uri>,
    /// Features for the MCP Apps of the server.
    pub mcp_app: Option<McpServerApps>,
}

/// The state of an MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum McpServerState {
    /// The server is starting.
    Starting(McpServerStarting),
    /// The server is running and its tools are available.
    Ready,
    /// The server requires a token. Only this state reports it: there is no `auth/required`
    /// notification for MCP servers (MCP-8).
    AuthRequired(Box<McpAuthRequirement>),
    /// The server failed with an error.
    Error(McpServerError),
    /// The server was stopped.
    Stopped,
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A server that is starting.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStarting {
    /// `true` if messages wait until the server has started.
    pub blocking: Option<bool>,
}

/// A server that failed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerError {
    /// Error that stopped the server.
    pub error: ErrorInfo,
}

/// Features for the MCP Apps of a server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerApps {
    /// Features that the `mcp:` channel actually serves (MCP-13).
    pub capabilities: McpAppCapabilities,
}

/// Features of the `mcp:` channel of a server, as defined by MCP Apps.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpAppCapabilities {
    /// Requests to list and call tools.
    pub server_tools: Option<Json>,
    /// Requests to list and read resources.
    pub server_resources: Option<Json>,
    /// Notifications with log messages.
    pub logging: Option<Object>,
    /// Sampling requests of the server.
    pub sampling: Option<Json>,
}
