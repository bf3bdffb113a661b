//! Customizations and MCP servers.

use std::sync::Arc;

use crate::ids::CustomizationId;
use crate::list::List;
use crate::session::{Customization, CustomizationEnablement, McpServerState};
use crate::uri::Uri;
use crate::wire::Wire;

/// All customizations changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationsChanged {
    /// All of them.
    pub customizations: List<Customization>,
}

/// A customization was turned on or off.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationToggled {
    /// The customization, at the top or inside a container.
    pub id: CustomizationId,
    /// All decisions about it (CUS-12).
    pub enablement: Vec<CustomizationEnablement>,
}

/// One customization at the top changed, with everything inside (CUS-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationUpdated {
    /// The customization; replaces an entry of the same name.
    pub customization: Arc<Customization>,
}

/// One customization is gone, with everything inside.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationRemoved {
    /// The customization, at the top or inside a container.
    pub id: CustomizationId,
}

/// An MCP server is in another state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStateChanged {
    /// The server.
    pub id: CustomizationId,
    /// The state.
    pub state: McpServerState,
    /// Its channel; absent means it has none now.
    pub channel: Option<Uri>,
}

/// Someone wants an MCP server started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStartRequested {
    /// The server.
    pub id: CustomizationId,
}

/// Someone wants an MCP server stopped.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerStopRequested {
    /// The server.
    pub id: CustomizationId,
}

/// Someone does not want to wait for an MCP server.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpServerBackgroundRequested {
    /// The server.
    pub id: CustomizationId,
}
