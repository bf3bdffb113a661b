//! The state of a session.

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

/// An agent at work.
///
/// Carries the metadata of its [`super::SessionSummary`] as well; the host
/// keeps the two equal (SES-14).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionState {
    /// What a list of sessions shows of it, too.
    #[wire(flatten)]
    pub metadata: SessionMetadata,
    /// How far its creation has got.
    pub lifecycle: SessionLifecycle,
    /// Why its creation failed.
    pub creation_error: Option<ErrorInfo>,
    /// Tools that the host provides.
    pub server_tools: Option<Vec<ToolDefinition>>,
    /// Clients that provide tools and plugins, by their `clientId`.
    pub active_clients: Vec<ActiveClient>,
    /// Its chats, in an order that the host decides and keeps.
    pub chats: List<ChatSummary>,
    /// The chat that is meant when none is named.
    pub default_chat: Option<Uri>,
    /// Its configuration.
    pub config: Option<SessionConfigState>,
    /// Plugins, directories and MCP servers, with what is in them.
    pub customizations: Option<List<Customization>>,
    /// Views of file changes that can be subscribed to.
    pub changesets: Option<Vec<Changeset>>,
    /// What it waits for, over all chats. Absent rather than empty (AGG-7).
    pub input_needed: Option<List<SessionInputRequest>>,
    /// Free data, such as what git says about the directories.
    pub meta: Option<Meta>,
}

/// How far the creation of a session has got.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum SessionLifecycle {
    /// The agent is being started.
    Creating,
    /// Turns can start.
    Ready,
    /// The agent could not be started.
    Failed,
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// The configuration of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigState {
    /// What can be configured. No action changes it (SYN-1).
    pub schema: SessionConfigSchema,
    /// The values.
    pub values: Object,
}
