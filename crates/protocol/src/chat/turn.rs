//! Turns: a message and the response to it.

use std::sync::Arc;

use super::message::Message;
use super::parts::ResponseParts;
use super::response::ResponsePart;
use crate::common::UsageInfo;
use crate::ids::TurnId;
use crate::list::List;
use crate::number::Millis;
use crate::timestamp::Timestamp;
use crate::wire::Wire;

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum TurnState {
    /// The agent completed the turn.
    Complete,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed; its last response part is the error.
    Error,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Turn {
    /// Id of the turn, unique in the chat.
    pub id: TurnId,
    /// Time at which the turn started.
    pub started_at: Option<Timestamp>,
    /// Duration of the turn.
    pub duration: Option<Millis>,
    /// Message that started the turn.
    pub message: Arc<Message>,
    /// Response parts in order.
    pub response_parts: List<ResponsePart>,
    /// Token usage of the turn.
    pub usage: Option<UsageInfo>,
    /// Outcome of the turn.
    pub state: TurnState,
}

/// The turn that is running.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveTurn {
    /// Id of the turn, unique in the chat.
    pub id: TurnId,
    /// Time at which the turn started.
    pub started_at: Timestamp,
    /// Message that started the turn.
    pub message: Arc<Message>,
    /// Response parts received so far.
    pub response_parts: ResponseParts,
    /// Token usage so far.
    pub usage: Option<UsageInfo>,
}
