//! The state of the host.

use crate::common::{ConfigSchema, Meta, ModelInfo, ProtectedResource};
use crate::ids::{ModelId, ProviderId};
use crate::session::Customization;
use crate::terminal::TerminalInfo;
use crate::wire::{Object, Wire};

/// What every client may know about the host. The list of sessions is not in
/// it: `listSessions` has it (ROOT-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootState {
    /// The agents that can be started.
    pub agents: Vec<AgentInfo>,
    /// How many sessions there are.
    pub active_sessions: Option<u64>,
    /// The terminals.
    pub terminals: Option<Vec<TerminalInfo>>,
    /// The configuration of the host.
    pub config: Option<RootConfigState>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// The configuration of the host.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootConfigState {
    /// What can be configured. No action changes it (ROOT-20).
    pub schema: ConfigSchema,
    /// The values.
    pub values: Object,
}

/// An agent that can be started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentInfo {
    /// Its name, for commands.
    pub provider: ProviderId,
    /// Name for people.
    pub display_name: String,
    /// What it is.
    pub description: String,
    /// The models it offers.
    pub models: Vec<ModelInfo>,
    /// What it needs tokens for.
    pub protected_resources: Option<Vec<ProtectedResource>>,
    /// Plugins, directories and MCP servers that its sessions start with.
    pub customizations: Option<Vec<Customization>>,
    /// What it can do beyond one chat in one directory.
    pub capabilities: Option<AgentCapabilities>,
}

impl AgentInfo {
    /// An agent without models of its own, that does what every agent does.
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

    /// Whether it has a model.
    pub fn has_model(&self, id: &ModelId) -> bool {
        self.models.iter().any(|model| model.id == *id)
    }
}

/// What an agent can do. Presence means yes.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AgentCapabilities {
    /// More than one chat in a session.
    pub multiple_chats: Option<MultipleChatsCapability>,
    /// More than one directory.
    pub multiple_working_directories: Option<MultipleWorkingDirectoriesCapability>,
}

/// Ways to open further chats.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct MultipleChatsCapability {
    /// From a copy of another.
    pub fork: Option<bool>,
    /// Beside another.
    pub side_chat: Option<bool>,
}

/// How the first of several directories is special. Both together are legal:
/// clients that know the second go by it (DIR-2).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct MultipleWorkingDirectoriesCapability {
    /// It stays for good.
    pub immutable_primary: Option<bool>,
    /// It can be replaced, but not removed.
    pub primary_replacement: Option<bool>,
}
