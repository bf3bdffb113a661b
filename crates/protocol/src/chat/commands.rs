//! Requests and responses about chats.

use std::sync::Arc;

use super::attachment::Attachment;
use super::message::Message;
use super::state::SideChatSelection;
use crate::common::Meta;
use crate::ids::TurnId;
use crate::uri::Uri;
use crate::wire::Wire;

/// Parameters of the `createChat` request, which adds a chat to a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateChatParams {
    /// URI of the session.
    pub channel: Uri,
    /// URI of the new chat, chosen by the client.
    pub chat: Uri,
    /// Message of the first turn.
    pub initial_message: Option<Arc<Message>>,
    /// Chat that the new chat is derived from.
    pub source: Option<ChatSource>,
    /// Subset of the session's working directories. A fork inherits the directories of its
    /// source instead (CHT-11).
    pub working_directories: Option<Vec<Uri>>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The source of a new chat. The enum is closed: the host rejects an unknown source instead of
/// guessing (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatSource {
    /// Copies a chat up to a turn.
    Fork(ForkChatSource),
    /// Starts empty, with another chat up to a turn as context.
    SideChat(SideChatSource),
}

/// The source of a fork.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ForkChatSource {
    /// URI of the source chat.
    pub chat: Uri,
    /// Last turn to copy; it must be completed.
    pub turn_id: TurnId,
}

/// The source of a side chat.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SideChatSource {
    /// URI of the source chat.
    pub chat: Uri,
    /// Last turn of the context; it can be the active turn.
    pub turn_id: TurnId,
    /// Text that the user selected in the source chat.
    pub selection: Option<SideChatSelection>,
}

/// Parameters of the `disposeChat` request, which removes a chat permanently.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeChatParams {
    /// URI of the chat.
    pub channel: Uri,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `moveChat` request, which moves a chat in its session or to another session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MoveChatParams {
    /// URI of the chat.
    pub channel: Uri,
    /// Destination of the chat.
    pub destination: ChatMoveDestination,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The destination of a chat. The enum is closed: the host rejects an unknown destination
/// instead of guessing (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChatMoveDestination {
    /// A position in an existing session.
    Session(ChatMoveToSession),
    /// A new session that the host creates.
    NewSession,
}

/// A position in an existing session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatMoveToSession {
    /// URI of the session.
    pub session: Uri,
    /// Chat that precedes the moved chat; absent means the first position.
    pub after: Option<Uri>,
}

/// Result of the `moveChat` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MoveChatResult {
    /// Session that contains the chat now.
    pub session: Uri,
}

/// Parameters of the `fetchTurns` request, which loads earlier turns into the state. The host
/// publishes them with `chat/turnsLoaded`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FetchTurnsParams {
    /// URI of the chat.
    pub channel: Uri,
    /// Cursor of the page to load; absent means the next earlier page, if any.
    pub cursor: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `completions` request, which lists completions at a position in the input.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionsParams {
    /// URI of the chat.
    pub channel: Uri,
    /// Kind of the input.
    pub kind: CompletionKind,
    /// Text of the input.
    pub text: String,
    /// Position in the text, in UTF-16 code units (CMP-2).
    pub offset: u64,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The kind of input that is completed.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum CompletionKind {
    /// A message of the user.
    UserMessage,
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// Result of the `completions` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionsResult {
    /// Completions in order, best match first.
    pub items: Vec<CompletionItem>,
}

/// A completion for the input.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CompletionItem {
    /// Text to insert into the input.
    pub insert_text: String,
    /// Start of the replaced range, in UTF-16 code units.
    pub range_start: Option<u64>,
    /// End of the replaced range, exclusive, in UTF-16 code units.
    pub range_end: Option<u64>,
    /// Attachment to add to the message.
    pub attachment: Attachment,
}
