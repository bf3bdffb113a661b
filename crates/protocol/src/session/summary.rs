//! What a list of sessions shows.

use crate::annotations::AnnotationsSummary;
use crate::chat::{ChatInteractivity, ChatOrigin};
use crate::common::{ChangesSummary, Meta, SessionStatus};
use crate::ids::ProviderId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// What the state of a session and its summary have in common.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionMetadata {
    /// The agent.
    pub provider: ProviderId,
    /// Its title.
    pub title: String,
    /// Its activity and flags. Derived from its chats in snapshots and
    /// summaries; no action carries the activity.
    pub status: SessionStatus,
    /// What it is doing, in words.
    pub activity: Option<String>,
    /// What created it, if it was not a person; never changes.
    pub origin: Option<SessionOrigin>,
    /// The project it belongs to.
    pub project: Option<ProjectInfo>,
    /// Directories that its agent may use.
    pub working_directories: Option<Vec<Uri>>,
    /// How many annotations it has. Absent: it has no annotations channel.
    pub annotations: Option<AnnotationsSummary>,
}

/// What a list of sessions shows of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionSummary {
    /// What its state has, too.
    #[wire(flatten)]
    pub metadata: SessionMetadata,
    /// The session channel.
    pub resource: Uri,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub modified_at: Timestamp,
    /// How much it changed in files.
    pub changes: Option<ChangesSummary>,
    /// Free data. Small: it appears in every list.
    pub meta: Option<Meta>,
    /// Its chats, in order.
    pub chats: Option<Vec<SessionChatSummary>>,
    /// The chat that is meant when none is named.
    pub default_chat: Option<Uri>,
}

/// What changed of a [`SessionSummary`]. An absent field is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PartialSessionSummary {
    /// Never given: it can't change (ROOT-13).
    pub provider: Option<ProviderId>,
    /// Its title.
    pub title: Option<String>,
    /// Its activity and flags.
    pub status: Option<SessionStatus>,
    /// What it is doing; an empty string for nothing.
    pub activity: Option<String>,
    /// What created it.
    pub origin: Option<SessionOrigin>,
    /// The project it belongs to.
    pub project: Option<ProjectInfo>,
    /// Directories that its agent may use.
    pub working_directories: Option<Vec<Uri>>,
    /// How many annotations it has.
    pub annotations: Option<AnnotationsSummary>,
    /// Never given: the notification names the session (ROOT-13).
    pub resource: Option<Uri>,
    /// Never given: it can't change (ROOT-13).
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub modified_at: Option<Timestamp>,
    /// How much it changed in files.
    pub changes: Option<ChangesSummary>,
    /// Free data.
    pub meta: Option<Meta>,
    /// All of its chats, in order (ROOT-14).
    pub chats: Option<Vec<SessionChatSummary>>,
    /// The chat that is meant when none is named.
    pub default_chat: Option<Uri>,
}

/// What a list of sessions shows of a chat.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChatSummary {
    /// The chat channel.
    pub resource: Uri,
    /// Its title.
    pub title: String,
    /// How it came about.
    pub origin: Option<ChatOrigin>,
    /// Whether the user may write in it. Absent: yes.
    pub interactivity: Option<ChatInteractivity>,
    /// Its activity and flags. Absent: unknown, not unread (AGG-14).
    pub status: Option<SessionStatus>,
    /// How much it changed in files.
    pub changes: Option<ChangesSummary>,
}

/// The project that a session belongs to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ProjectInfo {
    /// The project.
    pub uri: Uri,
    /// Name for people.
    pub display_name: String,
}

/// What created a session, if it was not a person.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum SessionOrigin {
    /// A run of an automation.
    Automation(AutomationSessionOrigin),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The run that created a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSessionOrigin {
    /// The automation.
    pub automation: Uri,
    /// Its run.
    pub run: Uri,
}
