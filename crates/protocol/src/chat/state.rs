//! State of a chat channel, and its summary.

use std::sync::Arc;

use super::background::BackgroundWork;
use super::message::{Message, PendingMessage};
use super::turn::{ActiveTurn, Turn};
use crate::canvas::CanvasReference;
use crate::changeset::Changeset;
use crate::common::{ChangesSummary, Meta, SessionStatus};
use crate::ids::{PartId, ToolCallId, TurnId};
use crate::list::List;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// The state of a chat channel.
///
/// Contains every field of its [`ChatSummary`]; the host keeps both copies equal (CHT-19). A
/// clone shares the turns with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatState {
    /// Fields that are also published in the session's chat catalogue.
    #[wire(flatten)]
    pub summary: ChatSummary,
    /// Changesets that clients can subscribe to.
    pub changesets: Option<Vec<Changeset>>,
    /// Running background work. Absent means that it is not published; empty means that nothing
    /// is running (BGW-5).
    pub background_work: Option<List<BackgroundWork>>,
    /// Canvases that clients can subscribe to.
    pub canvases: Option<Vec<CanvasReference>>,
    /// Turns that have ended, oldest first.
    pub turns: List<Turn>,
    /// Cursor for `fetchTurns`; present if earlier turns exist that are not in `turns`.
    pub turns_next_cursor: Option<String>,
    /// The turn that is running, if any.
    pub active_turn: Option<Arc<ActiveTurn>>,
    /// Pending message for the active turn.
    pub steering_message: Option<PendingMessage>,
    /// Pending messages that start a turn each after the active turn has completed.
    pub queued_messages: Option<List<PendingMessage>>,
    /// Unsent message in the input of the clients.
    pub draft: Option<Arc<Message>>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The entry of a chat in the session's chat catalogue.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatSummary {
    /// URI of the chat channel.
    pub resource: Uri,
    /// Title of the chat.
    pub title: String,
    /// Activity and flags of the chat.
    pub status: SessionStatus,
    /// Text about the current activity.
    pub activity: Option<String>,
    /// Time of the last change.
    pub modified_at: Timestamp,
    /// Counts of changed files and lines.
    pub changes: Option<ChangesSummary>,
    /// Origin of the chat; immutable.
    pub origin: Option<ChatOrigin>,
    /// `true` if `moveChat` may move the chat, which never applies to the default chat. Absent
    /// means `false`.
    pub movable: Option<bool>,
    /// Access of the user to the chat; absent means full access.
    pub interactivity: Option<ChatInteractivity>,
    /// Subset of the session's working directories. Absent means all; empty means none (DIR-9).
    pub working_directories: Option<Vec<Uri>>,
}

/// Changes to a [`ChatSummary`]. An absent field stays unchanged, so a field can't be cleared
/// this way (SYN-5).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PartialChatSummary {
    /// Never present: the action identifies the chat (CHT-20).
    pub resource: Option<Uri>,
    /// New title of the chat.
    pub title: Option<String>,
    /// New activity and flags.
    pub status: Option<SessionStatus>,
    /// New text about the current activity.
    pub activity: Option<String>,
    /// New time of the last change.
    pub modified_at: Option<Timestamp>,
    /// New counts of changed files and lines.
    pub changes: Option<ChangesSummary>,
    /// Origin of the chat.
    pub origin: Option<ChatOrigin>,
    /// New value of `movable`.
    pub movable: Option<bool>,
    /// New access of the user to the chat.
    pub interactivity: Option<ChatInteractivity>,
    /// New subset of the session's working directories.
    pub working_directories: Option<Vec<Uri>>,
}

/// The access of the user to a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum ChatInteractivity {
    /// The user can read the chat and send messages.
    Full,
    /// The user can only read the chat.
    ReadOnly,
    /// Clients do not show the chat.
    Hidden,
}

/// The origin of a chat.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatOrigin {
    /// A user created the chat.
    User,
    /// A copy of another chat up to a turn.
    Fork(ForkOrigin),
    /// A side chat that has another chat as context.
    SideChat(SideChatOrigin),
    /// A tool call spawned the chat.
    Tool(ToolOrigin),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The origin of a fork.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ForkOrigin {
    /// URI of the source chat.
    pub chat: Uri,
    /// Last turn that was copied.
    pub turn_id: TurnId,
}

/// The origin of a side chat.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatOrigin {
    /// URI of the source chat.
    pub chat: Uri,
    /// Last turn of the context.
    pub turn_id: TurnId,
    /// Text that the user had selected in the source chat.
    pub selection: Option<SideChatSelection>,
}

/// Text that the user had selected when the side chat was created; a copy, not a range.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatSelection {
    /// The selected text; not empty (CHT-14).
    pub text: String,
    /// Response part that contained the text.
    pub response_part_id: Option<PartId>,
}

/// The origin of a worker chat.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolOrigin {
    /// URI of the chat with the tool call.
    pub chat: Uri,
    /// Tool call that spawned the worker chat.
    pub tool_call_id: ToolCallId,
}
