//! State of the root channel.

use crate::common::{ConfigSchema, Meta, ModelInfo, ProtectedResource};
use crate::ids::{ModelId, ProviderId};
use crate::session::Customization;
use crate::terminal::TerminalInfo;
use crate::wire::{Object, Wire};

/// The state of the root channel. It does not contain the session list, which `listSessions`
/// returns (ROOT-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootState {
    /// Agents that sessions can be created with.
    pub agents: Vec<AgentInfo>,
    /// Number of sessions that were not disposed.
    pub active_sessions: Option<u64>,
    /// Terminals of the host.
    pub terminals: Option<Vec<TerminalInfo>>,
    /// Configuration of the host.
    pub config: Option<RootConfigState>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The configuration of the host.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootConfigState {
    /// Schema of the configuration. No action changes it (ROOT-20).
    pub schema: ConfigSchema,
    /// Current values, by property key.
    pub values: Object,
}

/// An agent that sessions can be created with.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentInfo {
    /// Id of the agent, used in requests.
    pub provider: ProviderId,
    /// Display name for the user interface.
    pub display_name: String,
    /// Description of the agent.
    pub description: String,
    /// Models that the agent offers.
    pub models: Vec<ModelInfo>,
    /// Resources that the agent needs tokens for.
    pub protected_resources: Option<Vec<ProtectedResource>>,
    /// Plugins, directories and MCP servers that new sessions of the agent have.
    pub customizations: Option<Vec<Customization>>,
    /// Features beyond one chat in one directory.
    pub capabilities: Option<AgentCapabilities>,
}

impl AgentInfo {
    /// Creates an agent without models and optional features.
    pub fn new(
        provider: impl Into<ProviderId>,
        display_name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        AgentInfo {
            provider: provider.into(),
            display_name: display_name.into(),
            description: description.into(),
            models: Vec::new(),
            protected_resources: None,
            customizations: None,
            capabilities: None,
        }
    }

    /// Returns `true` if the agent offers the model.
    pub fn has_model(&self, id: &ModelId) -> bool {
        self.models.iter().any(|model| model.id == *id)
    }
}

/// Optional features of an agent. A present field means that the feature is supported.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AgentCapabilities {
    /// Several chats in a session.
    pub multiple_chats: Option<MultipleChatsCapability>,
    /// Several working directories in a session.
    pub multiple_working_directories: Option<MultipleWorkingDirectoriesCapability>,
}

/// Supported ways to create further chats.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct MultipleChatsCapability {
    /// `true` if a chat can be forked.
    pub fork: Option<bool>,
    /// `true` if a side chat can be created.
    pub side_chat: Option<bool>,
}

/// Restrictions on the first working directory. Both flags together are legal: clients that
/// know the second flag use it (DIR-2).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct MultipleWorkingDirectoriesCapability {
    /// `true` if the first directory can't be changed.
    pub immutable_primary: Option<bool>,
    /// `true` if the first directory can be replaced, but not removed.
    pub primary_replacement: Option<bool>,
}
