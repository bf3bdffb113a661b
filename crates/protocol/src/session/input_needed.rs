//! The open requests of a session, collected from all of its chats.

use crate::chat::{
    InputRequest, ToolCallAuthRequired, ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation, ToolCallRunning,
};
use crate::ids::{ClientId, InputNeededId, TurnId};
use crate::uri::Uri;
use crate::wire::{Standalone, Unknown, Wire};

/// An open request of a session. It contains all data for an answer, so a client need not
/// subscribe to the chat first.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum SessionInputRequest {
    /// An input request; answered with `chat/inputCompleted`.
    ChatInput(SessionChatInput),
    /// A tool call that waits for approval; answered with `chat/toolCallConfirmed` or
    /// `chat/toolCallResultConfirmed`.
    ToolConfirmation(Box<SessionToolConfirmation>),
    /// A tool call that a client executes; answered with `chat/toolCallComplete`. It does not
    /// wait for the user.
    ToolClientExecution(Box<SessionToolClientExecution>),
    /// A tool call that requires a token; answered with `authenticate`.
    ToolAuthentication(Box<SessionToolAuthentication>),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Fields that all entries share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionInputBase {
    /// Id of the entry, unique in the session.
    pub id: InputNeededId,
    /// Chat to dispatch the answer to.
    pub chat: Uri,
}

/// An open input request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChatInput {
    /// Fields that all entries share.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// The input request, with the current answers.
    pub request: InputRequest,
}

/// A tool call whose run or result waits for approval.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolConfirmation {
    /// Fields that all entries share.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// Id of the turn with the tool call.
    pub turn_id: TurnId,
    /// The tool call in its current status.
    pub tool_call: ToolCallConfirmation,
}

/// A tool call that waits for approval.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status", case = "kebab")]
pub enum ToolCallConfirmation {
    /// The call waits for approval before it runs.
    PendingConfirmation(ToolCallPendingConfirmation),
    /// The result of the call waits for approval.
    PendingResultConfirmation(ToolCallPendingResultConfirmation),
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A tool call that a client executes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolClientExecution {
    /// Fields that all entries share.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// Id of the turn with the tool call.
    pub turn_id: TurnId,
    /// Client that executes the call; also named by the contributor of the call.
    pub client_id: ClientId,
    /// The tool call; always running.
    pub tool_call: Standalone<ToolCallRunning>,
}

/// A tool call that requires a token.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolAuthentication {
    /// Fields that all entries share.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// Id of the turn with the tool call.
    pub turn_id: TurnId,
    /// The paused tool call, with the authentication requirement.
    pub tool_call: Standalone<ToolCallAuthRequired>,
}

impl SessionInputRequest {
    /// Returns the id of the entry; `None` if an unknown kind has no id.
    pub fn key(&self) -> Option<&str> {
        match self {
            SessionInputRequest::ChatInput(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolConfirmation(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolClientExecution(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolAuthentication(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::Unknown(entry) => entry.text("id"),
        }
    }

    /// Returns the chat of the entry; `None` for an unknown kind.
    pub fn chat(&self) -> Option<&Uri> {
        match self {
            SessionInputRequest::ChatInput(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolConfirmation(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolClientExecution(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolAuthentication(entry) => Some(&entry.base.chat),
            SessionInputRequest::Unknown(_) => None,
        }
    }

    /// Returns `true` if the entry waits for the user and not for the execution by a client
    /// (AGG-5).
    pub fn awaits_user(&self) -> bool {
        match self {
            SessionInputRequest::ToolClientExecution(_) => false,
            SessionInputRequest::ChatInput(_)
            | SessionInputRequest::ToolConfirmation(_)
            | SessionInputRequest::ToolAuthentication(_)
            | SessionInputRequest::Unknown(_) => true,
        }
    }
}
