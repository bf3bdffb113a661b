//! State of a session channel.

use super::active_client::ActiveClient;
use super::customization::Customization;
use super::input_needed::SessionInputRequest;
use super::summary::SessionMetadata;
use crate::changeset::Changeset;
use crate::chat::ChatSummary;
use crate::common::{ErrorInfo, Meta, SessionConfigSchema, ToolDefinition};
use crate::list::List;
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// The state of a session channel.
///
/// Contains the metadata of its [`super::SessionSummary`]; the host keeps both copies equal
/// (SES-14).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionState {
    /// Fields that are also published in the session list.
    #[wire(flatten)]
    pub metadata: SessionMetadata,
    /// Progress of the creation.
    pub lifecycle: SessionLifecycle,
    /// Error of the creation, if it failed.
    pub creation_error: Option<ErrorInfo>,
    /// Tools that the host provides.
    pub server_tools: Option<Vec<ToolDefinition>>,
    /// Clients that offer tools and plugins, one entry per `clientId`.
    pub active_clients: Vec<ActiveClient>,
    /// Chat catalogue, in an order that the host determines and persists.
    pub chats: List<ChatSummary>,
    /// Chat that clients use unless the user selects another one.
    pub default_chat: Option<Uri>,
    /// Configuration schema and values.
    pub config: Option<SessionConfigState>,
    /// Plugins, directories and MCP servers, with their children.
    pub customizations: Option<List<Customization>>,
    /// Changesets that clients can subscribe to.
    pub changesets: Option<Vec<Changeset>>,
    /// Open requests of all chats. Absent if there are none, never empty (AGG-7).
    pub input_needed: Option<List<SessionInputRequest>>,
    /// Extension data, such as the git status of the directories.
    pub meta: Option<Meta>,
}

/// The progress of the creation of a session.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum SessionLifecycle {
    /// The agent is starting.
    Creating,
    /// The agent has started and turns can start.
    Ready,
    /// The agent could not be started.
    Failed,
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// The configuration of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigState {
    /// Schema of the configuration. No action changes it (SYN-1).
    pub schema: SessionConfigSchema,
    /// Current values, by property key.
    pub values: Object,
}
