//! Entries of the session list.

use crate::annotations::AnnotationsSummary;
use crate::chat::{ChatInteractivity, ChatOrigin};
use crate::common::{ChangesSummary, Meta, SessionStatus};
use crate::ids::ProviderId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// Fields that the state of a session and its summary share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionMetadata {
    /// Agent of the session.
    pub provider: ProviderId,
    /// Title of the session.
    pub title: String,
    /// Activity and flags. Derived from the chats in snapshots and summaries; no action carries
    /// the activity.
    pub status: SessionStatus,
    /// Text about the current activity.
    pub activity: Option<String>,
    /// Origin of the session, if it was not a user; immutable.
    pub origin: Option<SessionOrigin>,
    /// Project that the session belongs to.
    pub project: Option<ProjectInfo>,
    /// Working directories of the session.
    pub working_directories: Option<Vec<Uri>>,
    /// Counts of annotations; absent if the session has no annotations channel.
    pub annotations: Option<AnnotationsSummary>,
}

/// The entry of a session in the session list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionSummary {
    /// Fields that the session state also has.
    #[wire(flatten)]
    pub metadata: SessionMetadata,
    /// URI of the session channel.
    pub resource: Uri,
    /// Time at which the session was created.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub modified_at: Timestamp,
    /// Counts of changed files and lines.
    pub changes: Option<ChangesSummary>,
    /// Extension data. Should be small, because every session list contains it.
    pub meta: Option<Meta>,
    /// Chats of the session, in catalogue order.
    pub chats: Option<Vec<SessionChatSummary>>,
    /// Chat that clients use unless the user selects another one.
    pub default_chat: Option<Uri>,
}

/// Changes to a [`SessionSummary`]. An absent field stays unchanged.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PartialSessionSummary {
    /// Never present: the agent of a session can't change (ROOT-13).
    pub provider: Option<ProviderId>,
    /// New title of the session.
    pub title: Option<String>,
    /// New activity and flags.
    pub status: Option<SessionStatus>,
    /// New activity text; an empty string clears it.
    pub activity: Option<String>,
    /// Origin of the session.
    pub origin: Option<SessionOrigin>,
    /// New project of the session.
    pub project: Option<ProjectInfo>,
    /// New working directories of the session.
    pub working_directories: Option<Vec<Uri>>,
    /// New counts of annotations.
    pub annotations: Option<AnnotationsSummary>,
    /// Never present: the notification identifies the session (ROOT-13).
    pub resource: Option<Uri>,
    /// Never present: the creation time can't change (ROOT-13).
    pub created_at: Option<Timestamp>,
    /// New time of the last change.
    pub modified_at: Option<Timestamp>,
    /// New counts of changed files and lines.
    pub changes: Option<ChangesSummary>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
    /// The complete list of chats, in catalogue order (ROOT-14).
    pub chats: Option<Vec<SessionChatSummary>>,
    /// URI of the new default chat.
    pub default_chat: Option<Uri>,
}

/// A chat in the session list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChatSummary {
    /// URI of the chat channel.
    pub resource: Uri,
    /// Title of the chat.
    pub title: String,
    /// Origin of the chat.
    pub origin: Option<ChatOrigin>,
    /// Access of the user to the chat; absent means full access.
    pub interactivity: Option<ChatInteractivity>,
    /// Activity and flags. Absent means unknown, not unread (AGG-14).
    pub status: Option<SessionStatus>,
    /// Counts of changed files and lines.
    pub changes: Option<ChangesSummary>,
}

/// The project that a session belongs to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ProjectInfo {
    /// URI of the project.
    pub uri: Uri,
    /// Display name for the user interface.
    pub display_name: String,
}

/// The origin of a session, if it was not a user.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum SessionOrigin {
    /// A run of an automation created the session.
    Automation(AutomationSessionOrigin),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The automation run that created a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSessionOrigin {
    /// URI of the automation.
    pub automation: Uri,
    /// URI of the run.
    pub run: Uri,
}
