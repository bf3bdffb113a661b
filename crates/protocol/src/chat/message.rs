//! Messages: what starts or steers a turn.

use std::sync::Arc;

use super::attachment::Attachment;
use crate::common::{AgentSelection, Meta, ModelSelection};
use crate::ids::PendingMessageId;
use crate::wire::Wire;

/// Who produced a message.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum MessageKind {
    /// The user.
    User,
    /// The agent, for example to open a chat that it spawned.
    Agent,
    /// A tool, for example with the task of a worker chat.
    Tool,
    /// A run of an automation.
    Automation,
    /// The host itself.
    SystemNotification,
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// Where a message comes from. Clients may only send `user` (DSP-15).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MessageOrigin {
    /// Who produced it.
    pub kind: MessageKind,
}

/// What is said to the agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Message {
    /// The text.
    pub text: String,
    /// Who says it.
    pub origin: MessageOrigin,
    /// Files, selections, images, other chats …
    pub attachments: Option<Vec<Attachment>>,
    /// The model it goes to; absent means the host's default.
    pub model: Option<ModelSelection>,
    /// The custom agent it goes to; absent means none.
    pub agent: Option<AgentSelection>,
    /// Free data.
    pub meta: Option<Meta>,
}

impl Message {
    /// What a user says, with nothing attached.
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

/// How a pending message will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum PendingMessageKind {
    /// Put into the running turn when it is convenient.
    Steering,
    /// Sent as a turn of its own when the running one is done.
    Queued,
}

/// A message that waits for its time.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessage {
    /// Its name in this chat.
    pub id: PendingMessageId,
    /// The message.
    pub message: Arc<Message>,
}
