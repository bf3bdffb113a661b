//! MCP servers and the state they are in.

use super::customization::{CustomizationBase, CustomizationEnablement};
use crate::common::{ErrorInfo, McpAuthRequirement};
use crate::uri::Uri;
use crate::wire::{Json, Object, Unknown, Wire};

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerCustomization {
    /// What all customizations have.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// Decisions about whether it is on.
    pub enablement: Option<Vec<CustomizationEnablement>>,
    /// The state it is in.
    pub state: McpServerState,
    /// An `mcp:` channel to talk to it through the host.
    pub channel: Option<Uri>,
    /// What its apps may do.
    pub mcp_app: Option<McpServerApps>,
}

/// The state that an MCP server is in.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum McpServerState {
    /// It is being started.
    Starting(McpServerStarting),
    /// It runs.
    Ready,
    /// It wants a token. This state is the only sign of it: there is no
    /// `auth/required` for MCP servers (MCP-8).
    AuthRequired(Box<McpAuthRequirement>),
    /// It failed.
    Error(McpServerError),
    /// It was stopped.
    Stopped,
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A server that is being started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStarting {
    /// Whether messages wait for it.
    pub blocking: Option<bool>,
}

/// A server that failed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerError {
    /// Why.
    pub error: ErrorInfo,
}

/// What the apps of an MCP server may do.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerApps {
    /// What the `mcp:` channel really serves (MCP-13).
    pub capabilities: McpAppCapabilities,
}

/// What the `mcp:` channel of a server serves, in the words of MCP Apps.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpAppCapabilities {
    /// Listing and calling tools.
    pub server_tools: Option<Json>,
    /// Listing and reading resources.
    pub server_resources: Option<Json>,
    /// Log messages.
    pub logging: Option<Object>,
    /// Sampling.
    pub sampling: Option<Json>,
}
