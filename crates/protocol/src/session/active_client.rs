//! Clients that take part in a session's work.

use indexmap::IndexMap;

use super::customization::{CustomizationEnablement, PluginCustomization};
use crate::common::ToolDefinition;
use crate::ids::ClientId;
use crate::wire::{Standalone, Wire};

/// A client that provides tools or plugins.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClient {
    /// The client.
    pub client_id: ClientId,
    /// Name for people.
    pub display_name: Option<String>,
    /// Tools it carries out itself.
    pub tools: Vec<ToolDefinition>,
    /// Plugins it brings. Only plugins: anything else is refused (CUS-21).
    pub customizations: Option<Vec<ClientPluginCustomization>>,
}

/// A plugin as a client publishes it. The host reads it and shows the result
/// among the customizations of the session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ClientPluginCustomization {
    /// The plugin.
    #[wire(flatten)]
    pub plugin: Standalone<PluginCustomization>,
    /// Changes whenever the plugin does.
    pub nonce: Option<String>,
    /// The client's decisions about what is inside, by name.
    pub child_enablement: Option<IndexMap<String, Vec<CustomizationEnablement>>>,
}
