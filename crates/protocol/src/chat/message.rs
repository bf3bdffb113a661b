//! Messages, which start or steer a turn, and pending messages.

use std::sync::Arc;

use super::attachment::Attachment;
use crate::common::{AgentSelection, Meta, ModelSelection};
use crate::ids::PendingMessageId;
use crate::wire::Wire;

/// The kind of actor that produced a message.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum MessageKind {
    /// A user of a client.
    User,
    /// The agent, for example to start a chat that it spawned.
    Agent,
    /// A tool, for example with the prompt of a worker chat.
    Tool,
    /// A run of an automation.
    Automation,
    /// The host, for a system notification.
    SystemNotification,
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// The origin of a message. Clients may only send `user` (DSP-15).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MessageOrigin {
    /// Kind of actor that produced the message.
    pub kind: MessageKind,
}

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Message {
    /// Text of the message.
    pub text: String,
    /// Origin of the message.
    pub origin: MessageOrigin,
    /// Attached files, selections, images, other chats …
    pub attachments: Option<Vec<Attachment>>,
    /// Model for the turn; absent means the host's default.
    pub model: Option<ModelSelection>,
    /// Custom agent for the turn; absent means none.
    pub agent: Option<AgentSelection>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

impl Message {
    /// Creates a message of a user, without attachments.
    pub fn of_user(text: impl Into<String>) -> Self {
        Message {
            text: text.into(),
            origin: MessageOrigin {
                kind: MessageKind::User,
            },
            attachments: None,
            model: None,
            agent: None,
            meta: None,
        }
    }
}

/// The way in which a pending message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum PendingMessageKind {
    /// The agent receives the message during the active turn.
    Steering,
    /// The message starts a new turn after the active turn has completed.
    Queued,
}

/// A message that waits to be delivered.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessage {
    /// Id of the pending message, unique in the chat.
    pub id: PendingMessageId,
    /// The message to deliver.
    pub message: Arc<Message>,
}
