//! What a session waits for, collected from all of its chats.

use crate::chat::{
    InputRequest, ToolCallAuthRequired, ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation, ToolCallRunning,
};
use crate::ids::{ClientId, InputNeededId, TurnId};
use crate::uri::Uri;
use crate::wire::{Standalone, Unknown, Wire};

/// One thing that a session waits for. Says all that is needed to answer, so
/// nobody has to subscribe to the chat first.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum SessionInputRequest {
    /// A question; answered by `chat/inputCompleted`.
    ChatInput(SessionChatInput),
    /// A tool call; answered by `chat/toolCallConfirmed` or
    /// `chat/toolCallResultConfirmed`.
    ToolConfirmation(Box<SessionToolConfirmation>),
    /// A tool call that a client carries out; answered by
    /// `chat/toolCallComplete`. Does not wait for a person.
    ToolClientExecution(Box<SessionToolClientExecution>),
    /// A tool call that needs a token; answered by `authenticate`.
    ToolAuthentication(Box<SessionToolAuthentication>),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What all entries have.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionInputBase {
    /// Its name in the session.
    pub id: InputNeededId,
    /// The chat to answer on.
    pub chat: Uri,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionChatInput {
    /// What all entries have.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// The question.
    pub request: InputRequest,
}

/// A tool call that may not run, or whose result may not be used, before
/// someone agrees.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolConfirmation {
    /// What all entries have.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// The turn of the call.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call: ToolCallConfirmation,
}

/// A tool call that waits for a confirmation.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status", case = "kebab")]
pub enum ToolCallConfirmation {
    /// Before it runs.
    PendingConfirmation(ToolCallPendingConfirmation),
    /// Before its result is used.
    PendingResultConfirmation(ToolCallPendingResultConfirmation),
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A tool call that a client carries out.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolClientExecution {
    /// What all entries have.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// The turn of the call.
    pub turn_id: TurnId,
    /// The client; the contributor of the call names it, too.
    pub client_id: ClientId,
    /// The call; always running.
    pub tool_call: Standalone<ToolCallRunning>,
}

/// A tool call that needs a token.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionToolAuthentication {
    /// What all entries have.
    #[wire(flatten)]
    pub base: SessionInputBase,
    /// The turn of the call.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call: Standalone<ToolCallAuthRequired>,
}

impl SessionInputRequest {
    /// The name it goes by, if it has one.
    pub fn key(&self) -> Option<&str> {
        match self {
            SessionInputRequest::ChatInput(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolConfirmation(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolClientExecution(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::ToolAuthentication(entry) => Some(entry.base.id.as_str()),
            SessionInputRequest::Unknown(entry) => entry.text("id"),
        }
    }

    /// The chat that it is about, if it says.
    pub fn chat(&self) -> Option<&Uri> {
        match self {
            SessionInputRequest::ChatInput(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolConfirmation(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolClientExecution(entry) => Some(&entry.base.chat),
            SessionInputRequest::ToolAuthentication(entry) => Some(&entry.base.chat),
            SessionInputRequest::Unknown(_) => None,
        }
    }

    /// Whether it waits for a person rather than for a client's work (AGG-5).
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
