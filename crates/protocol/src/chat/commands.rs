//! Commands about chats.

use std::sync::Arc;

use super::attachment::Attachment;
use super::message::Message;
use super::state::SideChatSelection;
use crate::common::Meta;
use crate::ids::TurnId;
use crate::uri::Uri;
use crate::wire::Wire;

/// `createChat`: opens another chat in a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateChatParams {
    /// The session.
    pub channel: Uri,
    /// The new chat, named by the client.
    pub chat: Uri,
    /// The message of its first turn.
    pub initial_message: Option<Arc<Message>>,
    /// The chat it comes from, if any.
    pub source: Option<ChatSource>,
    /// Which of the session's directories it may use. A fork takes over those
    /// of its source instead (CHT-11).
    pub working_directories: Option<Vec<Uri>>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What a new chat starts from. Closed: a host refuses what it does not know
/// rather than guess (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatSource {
    /// Copy a chat up to a turn.
    Fork(ForkChatSource),
    /// Know about a chat up to a turn, but start empty.
    SideChat(SideChatSource),
}

/// What a fork starts from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ForkChatSource {
    /// The chat.
    pub chat: Uri,
    /// The last turn to copy; it must be over.
    pub turn_id: TurnId,
}

/// What a side chat starts from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatSource {
    /// The chat.
    pub chat: Uri,
    /// The last turn to know about; it may be running.
    pub turn_id: TurnId,
    /// The text that is selected.
    pub selection: Option<SideChatSelection>,
}

/// `disposeChat`: closes a chat for good.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeChatParams {
    /// The chat.
    pub channel: Uri,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `moveChat`: puts a chat elsewhere, in its session or in another.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MoveChatParams {
    /// The chat.
    pub channel: Uri,
    /// Where it goes.
    pub destination: ChatMoveDestination,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Where a chat goes. Closed: a host refuses what it does not know rather
/// than guess (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatMoveDestination {
    /// A place in a session that is there.
    Session(ChatMoveToSession),
    /// A session of its own.
    NewSession,
}

/// A place in a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatMoveToSession {
    /// The session.
    pub session: Uri,
    /// The chat to stand behind; absent means first.
    pub after: Option<Uri>,
}

/// Answer to `moveChat`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MoveChatResult {
    /// The session that has the chat now.
    pub session: Uri,
}

/// `fetchTurns`: loads older turns into the state, by `chat/turnsLoaded`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FetchTurnsParams {
    /// The chat.
    pub channel: Uri,
    /// Where to go on; absent means the next older page, if any.
    pub cursor: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `completions`: what could stand at a place of the input.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionsParams {
    /// The chat.
    pub channel: Uri,
    /// What kind of input it is.
    pub kind: CompletionKind,
    /// The input.
    pub text: String,
    /// The place, in UTF-16 code units (CMP-2).
    pub offset: u64,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What kind of input is being completed.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum CompletionKind {
    /// A message of the user.
    UserMessage,
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// Answer to `completions`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionsResult {
    /// What could stand there, best first.
    pub items: Vec<CompletionItem>,
}

/// Something that could stand in the input.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionItem {
    /// Text to put in.
    pub insert_text: String,
    /// Where what it replaces begins, in UTF-16 code units.
    pub range_start: Option<u64>,
    /// Where what it replaces ends, exclusive.
    pub range_end: Option<u64>,
    /// What to attach to the message with it.
    pub attachment: Attachment,
}
