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

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum TurnState {
    /// By itself.
    Complete,
    /// Someone stopped it.
    Cancelled,
    /// It failed; its last part says why.
    Error,
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Turn {
    /// Its name in the chat.
    pub id: TurnId,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// How long it took.
    pub duration: Option<Millis>,
    /// The message that began it.
    pub message: Arc<Message>,
    /// The response.
    pub response_parts: List<ResponsePart>,
    /// What it cost.
    pub usage: Option<UsageInfo>,
    /// How it ended.
    pub state: TurnState,
}

/// A turn that is running.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveTurn {
    /// Its name in the chat.
    pub id: TurnId,
    /// When it began.
    pub started_at: Timestamp,
    /// The message that began it.
    pub message: Arc<Message>,
    /// The response so far.
    pub response_parts: ResponseParts,
    /// What it has cost so far.
    pub usage: Option<UsageInfo>,
}
