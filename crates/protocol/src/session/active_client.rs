//! Active clients, which offer tools and plugins to a session.

use indexmap::IndexMap;

use super::customization::{CustomizationEnablement, PluginCustomization};
use crate::common::ToolDefinition;
use crate::ids::ClientId;
use crate::wire::{Standalone, Wire};

/// A client that offers tools or plugins to a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClient {
    /// Id of the client.
    pub client_id: ClientId,
    /// Display name for the user interface.
    pub display_name: Option<String>,
    /// Tools that the client offers and executes.
    pub tools: Vec<ToolDefinition>,
    /// Plugins that the client offers. Other customizations are rejected (CUS-21).
    pub customizations: Option<Vec<ClientPluginCustomization>>,
}

/// A plugin as published by a client. The host reads it and publishes the result in the
/// customizations of the session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ClientPluginCustomization {
    /// Plugin with its location.
    #[wire(flatten)]
    pub plugin: Standalone<PluginCustomization>,
    /// Value that changes with the content of the plugin.
    pub nonce: Option<String>,
    /// Enablement of the children of the plugin by the client, by child name.
    pub child_enablement: Option<IndexMap<String, Vec<CustomizationEnablement>>>,
}
