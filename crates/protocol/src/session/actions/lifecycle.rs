//! Payloads of the actions on the lifecycle, chats, clients, directories and flags.

use std::sync::Arc;

use crate::changeset::Changeset;
use crate::chat::{ChatSummary, PartialChatSummary};
use crate::common::{ErrorInfo, Meta, ToolDefinition};
use crate::ids::{ClientId, InputNeededId};
use crate::session::{ActiveClient, SessionInputRequest};
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// The agent has started and turns can start. The status stays unchanged (SES-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Ready {}

/// The agent could not be started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreationFailed {
    /// Error of the creation.
    pub error: ErrorInfo,
}

/// A chat was appended to the catalogue, or its entry was replaced in place.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatAdded {
    /// New entry of the chat.
    pub summary: Arc<ChatSummary>,
}

/// A chat was removed. If it was the default chat, the session has none now.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatRemoved {
    /// URI of the chat.
    pub chat: Uri,
}

/// The entry of a chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatUpdated {
    /// URI of the chat.
    pub chat: Uri,
    /// The changed fields of the summary.
    pub changes: PartialChatSummary,
}

/// The order of the chat catalogue changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatsReordered {
    /// URIs of all chats, each exactly once; otherwise the action is a no-op (MOV-10).
    pub chats: Vec<Uri>,
}

/// The default chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DefaultChatChanged {
    /// URI of the chat; absent clears the default chat.
    pub default_chat: Option<Uri>,
}

/// The title of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionTitleChanged {
    /// New title of the session.
    pub title: String,
}

/// The tools of the host changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ServerToolsChanged {
    /// The complete new list of tools.
    pub tools: Vec<ToolDefinition>,
}

/// A client became active, or its tools or plugins changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClientSet {
    /// The client; replaces its previous entry completely.
    pub active_client: ActiveClient,
}

/// A client is no longer active.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClientRemoved {
    /// Id of the client.
    pub client_id: ClientId,
}

/// A working directory was added.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectorySet {
    /// URI of the directory.
    pub directory: Uri,
}

/// A working directory was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectoryRemoved {
    /// URI of the directory.
    pub directory: Uri,
}

/// A working directory was replaced (DIR-5).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectoryReplaced {
    /// Directory to replace; if it is not in the list, the action is a no-op.
    pub directory: Uri,
    /// URI of the new directory.
    pub replacement: Uri,
}

/// An open request was added or changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputNeededSet {
    /// The request; replaces an entry with the same id.
    pub request: Arc<SessionInputRequest>,
}

/// An open request was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputNeededRemoved {
    /// Id of the entry.
    pub id: InputNeededId,
}

/// The read flag of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionIsReadChanged {
    /// `true` if the user has read the session since its last change.
    pub is_read: bool,
}

/// The archived flag of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionIsArchivedChanged {
    /// `true` if the session is archived.
    pub is_archived: bool,
}

/// The activity text of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionActivityChanged {
    /// New activity text; absent clears it.
    pub activity: Option<String>,
}

/// The changeset catalogue of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChangesetsChanged {
    /// The complete new list; absent clears it.
    pub changesets: Option<Vec<Changeset>>,
}

/// Configuration values changed. The action is a no-op if the session has no configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigChanged {
    /// New values, by property key.
    pub config: Object,
    /// `true` to replace all values; otherwise the values are merged.
    pub replace: Option<bool>,
}

/// The extension data of the session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MetaChanged {
    /// The complete new value; absent clears it.
    pub meta: Option<Meta>,
}
