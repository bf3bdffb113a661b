//! The messages that wait to be delivered.

use agenthost_protocol::chat::{ChatState, PendingMessage};
use agenthost_protocol::ids::PendingMessageId;
use serde::Serialize;

/// A message that waits to be delivered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueRow {
    pub key: PendingMessageId,
    /// Way in which the message is delivered.
    pub kind: QueueKind,
    /// Text of the message.
    pub text: String,
    pub attachments: usize,
}

/// The way in which a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// The message starts a turn of its own.
    Queued,
    /// The agent receives the message during the active turn.
    Steering,
}

/// Returns the waiting messages in the order of delivery: the steering message first.
pub fn queue_rows(chat: &ChatState) -> Vec<QueueRow> {
    let steering = chat.steering_message.iter();
    let steering = steering.map(|message| queue_row(QueueKind::Steering, message));
    let queued = chat.queued_messages.iter().flat_map(|all| all.items());
    let queued = queued.map(|message| queue_row(QueueKind::Queued, message));
    steering.chain(queued).collect()
}

fn queue_row(kind: QueueKind, pending: &PendingMessage) -> QueueRow {
    QueueRow {
        key: pending.id.clone(),
        kind,
        text: pending.message.text.clone(),
        attachments: pending.message.attachments.as_ref().map_or(0, Vec::len),
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
