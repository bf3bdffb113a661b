//! Payloads of the actions on customizations and MCP servers.

use std::sync::Arc;

use crate::ids::CustomizationId;
use crate::list::List;
use crate::session::{Customization, CustomizationEnablement, McpServerState};
use crate::uri::Uri;
use crate::wire::Wire;

/// The list of customizations changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationsChanged {
    /// The complete new list.
    pub customizations: List<Customization>,
}

/// The enablement of a customization changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationToggled {
    /// Id of the customization, top-level or in a container.
    pub id: CustomizationId,
    /// The complete list of decisions (CUS-12).
    pub enablement: Vec<CustomizationEnablement>,
}

/// A top-level customization was added or replaced, including its children (CUS-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationUpdated {
    /// The customization; replaces an entry with the same id.
    pub customization: Arc<Customization>,
}

/// A customization was removed, including its children.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationRemoved {
    /// Id of the customization, top-level or in a container.
    pub id: CustomizationId,
}

/// The state of an MCP server changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStateChanged {
    /// Id of the server.
    pub id: CustomizationId,
    /// New state of the server.
    pub state: McpServerState,
    /// URI of its `mcp:` channel; absent if it has none now.
    pub channel: Option<Uri>,
}

/// A client requests the start of an MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStartRequested {
    /// Id of the server.
    pub id: CustomizationId,
}

/// A client requests the stop of an MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStopRequested {
    /// Id of the server.
    pub id: CustomizationId,
}

/// A client requests that messages no longer wait for a starting MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerBackgroundRequested {
    /// Id of the server.
    pub id: CustomizationId,
}
