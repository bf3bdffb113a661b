//! Turns, text and questions.

use std::sync::Arc;

use crate::chat::{
    Answer, Answers, ErrorPart, InputRequest, InputResponseKind, Message, ResponsePart, Turn,
};
use crate::common::{Meta, UsageInfo};
use crate::ids::{InputRequestId, PartId, PendingMessageId, QuestionId, TurnId};
use crate::list::List;
use crate::number::Millis;
use crate::timestamp::Timestamp;
use crate::wire::{Standalone, Wire};

/// A turn began.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnStarted {
    /// Its name, new in the chat.
    pub turn_id: TurnId,
    /// When it began. Must be RFC 3339, or the turn could never end (TUR-6).
    pub started_at: Timestamp,
    /// The message that began it.
    pub message: Arc<Message>,
    /// The waiting message that this was.
    pub queued_message_id: Option<PendingMessageId>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Text was added to the answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Delta {
    /// The running turn.
    pub turn_id: TurnId,
    /// The text part.
    pub part_id: PartId,
    /// The text to add.
    pub content: String,
    /// Free data.
    pub meta: Option<Meta>,
}

/// A part was added to the response. Errors come with `chat/error` only
/// (TUR-8).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResponsePartAdded {
    /// The running turn.
    pub turn_id: TurnId,
    /// The part.
    pub part: Arc<ResponsePart>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Text was added to the model's thoughts.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Reasoning {
    /// The running turn.
    pub turn_id: TurnId,
    /// The reasoning part.
    pub part_id: PartId,
    /// The text to add.
    pub content: String,
    /// Free data.
    pub meta: Option<Meta>,
}

/// The cost of the turn became known.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Usage {
    /// The running turn.
    pub turn_id: TurnId,
    /// The cost so far; replaces what was known.
    pub usage: UsageInfo,
    /// Free data.
    pub meta: Option<Meta>,
}

/// The turn ended by itself.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnComplete {
    /// The running turn.
    pub turn_id: TurnId,
    /// How long it took; below zero counts as zero.
    pub duration: Millis,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Someone stopped the turn.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnCancelled {
    /// The running turn.
    pub turn_id: TurnId,
    /// How long it took; below zero counts as zero.
    pub duration: Millis,
    /// Free data.
    pub meta: Option<Meta>,
}

/// The turn failed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatError {
    /// The running turn.
    pub turn_id: TurnId,
    /// How long it took; below zero counts as zero.
    pub duration: Millis,
    /// Why it failed; becomes the last part of the response.
    pub part: Standalone<ErrorPart>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// A turn that failed goes on. It must be the latest one, and its last part
/// a resumable error.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnResume {
    /// The turn.
    pub turn_id: TurnId,
}

/// Turns were cut off.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Truncated {
    /// The last turn to keep; absent means none.
    #[wire(no_null)]
    pub turn_id: Option<TurnId>,
}

/// Older turns were loaded.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnsLoaded {
    /// The turns, oldest first. Those already there are left out.
    pub turns: List<Turn>,
    /// Where to go on; absent means these were the oldest.
    pub turns_next_cursor: Option<String>,
}

/// The agent asks the user something. An open request of the same name is
/// replaced.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequested {
    /// The questions. Without answers, those already given stay.
    pub request: InputRequest,
}

/// An answer was drafted or taken back.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputAnswerChanged {
    /// The open request.
    pub request_id: InputRequestId,
    /// The question.
    pub question_id: QuestionId,
    /// The answer; absent takes it back.
    pub answer: Option<Answer>,
}

/// The questions were answered or declined.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputCompleted {
    /// The open request.
    pub request_id: InputRequestId,
    /// How.
    pub response: InputResponseKind,
    /// Answers that go over those already shared.
    pub answers: Option<Answers>,
}
