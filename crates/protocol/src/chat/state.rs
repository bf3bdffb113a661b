//! The state of a chat.

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

/// A conversation.
///
/// Carries every field of its [`ChatSummary`] as well; the host keeps the two
/// equal (CHT-19). A clone shares the turns with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatState {
    /// What the session's list of chats shows of it.
    #[wire(flatten)]
    pub summary: ChatSummary,
    /// Views of file changes that can be subscribed to.
    pub changesets: Option<Vec<Changeset>>,
    /// What runs in the background. Absent: nothing is published. Empty:
    /// nothing runs (BGW-5).
    pub background_work: Option<List<BackgroundWork>>,
    /// Canvases that can be subscribed to.
    pub canvases: Option<Vec<CanvasReference>>,
    /// Turns that are over, oldest first.
    pub turns: List<Turn>,
    /// There are older turns than these: ask `fetchTurns` with this cursor.
    pub turns_next_cursor: Option<String>,
    /// The turn that is running.
    pub active_turn: Option<Arc<ActiveTurn>>,
    /// A message to put into the running turn.
    pub steering_message: Option<PendingMessage>,
    /// Messages to send when the running turn is done.
    pub queued_messages: Option<List<PendingMessage>>,
    /// What somebody is typing.
    pub draft: Option<Arc<Message>>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What a list of chats shows of a chat.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatSummary {
    /// The chat channel.
    pub resource: Uri,
    /// Its title.
    pub title: String,
    /// Its activity and flags.
    pub status: SessionStatus,
    /// What it is doing, in words.
    pub activity: Option<String>,
    /// When it last changed.
    pub modified_at: Timestamp,
    /// How much it changed in files.
    pub changes: Option<ChangesSummary>,
    /// How it came about; never changes.
    pub origin: Option<ChatOrigin>,
    /// Whether `moveChat` may move it. Never the default chat. Absent: no.
    pub movable: Option<bool>,
    /// Whether the user may write in it. Absent: yes.
    pub interactivity: Option<ChatInteractivity>,
    /// Which of the session's directories it may use. Absent: all. Empty:
    /// none (DIR-9).
    pub working_directories: Option<Vec<Uri>>,
}

/// What changed of a [`ChatSummary`]. An absent field is unchanged, so a
/// field can't be cleared this way (SYN-5).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PartialChatSummary {
    /// Never given: the action names the chat (CHT-20).
    pub resource: Option<Uri>,
    /// Its title.
    pub title: Option<String>,
    /// Its activity and flags.
    pub status: Option<SessionStatus>,
    /// What it is doing, in words.
    pub activity: Option<String>,
    /// When it last changed.
    pub modified_at: Option<Timestamp>,
    /// How much it changed in files.
    pub changes: Option<ChangesSummary>,
    /// How it came about.
    pub origin: Option<ChatOrigin>,
    /// Whether `moveChat` may move it.
    pub movable: Option<bool>,
    /// Whether the user may write in it.
    pub interactivity: Option<ChatInteractivity>,
    /// Which of the session's directories it may use.
    pub working_directories: Option<Vec<Uri>>,
}

/// How the user takes part in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum ChatInteractivity {
    /// Reads and writes.
    Full,
    /// Only reads.
    ReadOnly,
    /// Does not get to see it.
    Hidden,
}

/// How a chat came about.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatOrigin {
    /// A user opened it.
    User,
    /// A copy of another chat up to a turn.
    Fork(ForkOrigin),
    /// A conversation beside another one.
    SideChat(SideChatOrigin),
    /// A tool call spawned it.
    Tool(ToolOrigin),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Where a fork comes from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ForkOrigin {
    /// The chat.
    pub chat: Uri,
    /// The last turn that was copied.
    pub turn_id: TurnId,
}

/// Where a side chat comes from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatOrigin {
    /// The chat.
    pub chat: Uri,
    /// The last turn that the side chat knows about.
    pub turn_id: TurnId,
    /// The text that was selected.
    pub selection: Option<SideChatSelection>,
}

/// Text that was selected when a side chat was opened; a copy, not a range.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatSelection {
    /// The text; not empty (CHT-14).
    pub text: String,
    /// The part it was in.
    pub response_part_id: Option<PartId>,
}

/// Where a worker chat comes from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolOrigin {
    /// The chat of the tool call.
    pub chat: Uri,
    /// The tool call.
    pub tool_call_id: ToolCallId,
}
