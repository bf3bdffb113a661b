//! Life, chats, clients, directories, flags.

use std::sync::Arc;

use crate::changeset::Changeset;
use crate::chat::{ChatSummary, PartialChatSummary};
use crate::common::{ErrorInfo, Meta, ToolDefinition};
use crate::ids::{ClientId, InputNeededId};
use crate::session::{ActiveClient, SessionInputRequest};
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// The agent is up; turns can start. Leaves the status alone (SES-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Ready {}

/// The agent could not be started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreationFailed {
    /// Why.
    pub error: ErrorInfo,
}

/// A chat was added at the end, or its entry written anew where it stands.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatAdded {
    /// The chat.
    pub summary: Arc<ChatSummary>,
}

/// A chat is gone. If it was the default one, there is none now.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatRemoved {
    /// The chat.
    pub chat: Uri,
}

/// The entry of a chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatUpdated {
    /// The chat.
    pub chat: Uri,
    /// What changed.
    pub changes: PartialChatSummary,
}

/// The chats stand in another order.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatsReordered {
    /// Every chat exactly once, or nothing happens (MOV-10).
    pub chats: Vec<Uri>,
}

/// Another chat is meant when none is named.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DefaultChatChanged {
    /// The chat; absent means there is none.
    pub default_chat: Option<Uri>,
}

/// The title changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionTitleChanged {
    /// The title.
    pub title: String,
}

/// The tools of the host changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ServerToolsChanged {
    /// All of them.
    pub tools: Vec<ToolDefinition>,
}

/// A client takes part, or changed what it brings.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClientSet {
    /// The client; replaces its entry whole.
    pub active_client: ActiveClient,
}

/// A client no longer takes part.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveClientRemoved {
    /// The client.
    pub client_id: ClientId,
}

/// The session may use one more directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectorySet {
    /// The directory.
    pub directory: Uri,
}

/// The session may use one directory less.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectoryRemoved {
    /// The directory.
    pub directory: Uri,
}

/// One directory took the place of another (DIR-5).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionWorkingDirectoryReplaced {
    /// The directory that was there; if it no longer is, nothing happens.
    pub directory: Uri,
    /// The directory that is there now.
    pub replacement: Uri,
}

/// The session waits for something, or what it waits for changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputNeededSet {
    /// What it waits for; replaces an entry of the same name.
    pub request: Arc<SessionInputRequest>,
}

/// The session no longer waits for something.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputNeededRemoved {
    /// The entry.
    pub id: InputNeededId,
}

/// The session was read, or has something new.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionIsReadChanged {
    /// Whether it is read.
    pub is_read: bool,
}

/// The session was put away, or taken out again.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionIsArchivedChanged {
    /// Whether it is put away.
    pub is_archived: bool,
}

/// What the session is doing changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionActivityChanged {
    /// In words; absent clears it.
    pub activity: Option<String>,
}

/// The views of file changes changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChangesetsChanged {
    /// All of them; absent clears the list.
    pub changesets: Option<Vec<Changeset>>,
}

/// Configuration values changed. Nothing happens if there is no
/// configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigChanged {
    /// Values by their keys.
    pub config: Object,
    /// Whether these are all values, rather than some.
    pub replace: Option<bool>,
}

/// The free data changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MetaChanged {
    /// All of it; absent clears it.
    pub meta: Option<Meta>,
}
