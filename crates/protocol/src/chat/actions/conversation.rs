//! Payloads of the actions on turns, response text and input requests.

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

/// A turn was started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnStarted {
    /// Id of the new turn, unique in the chat.
    pub turn_id: TurnId,
    /// Time at which the turn started. Must be RFC 3339, because otherwise the turn could never
    /// be closed (TUR-6).
    pub started_at: Timestamp,
    /// Message that starts the turn.
    pub message: Arc<Message>,
    /// Pending message that the turn was started from; it is removed from the queue.
    pub queued_message_id: Option<PendingMessageId>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Text was appended to a text part.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Delta {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Id of the text part.
    pub part_id: PartId,
    /// Text to append to the part.
    pub content: String,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// A part was added to the response. An error part is ignored here; errors are only added by
/// `chat/error` (TUR-8).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResponsePartAdded {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// The part to add.
    pub part: Arc<ResponsePart>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Text was appended to a reasoning part.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Reasoning {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Id of the reasoning part.
    pub part_id: PartId,
    /// Text to append to the part.
    pub content: String,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The token usage of the turn changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Usage {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Total usage so far; replaces the previous value.
    pub usage: UsageInfo,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The agent completed the turn.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnComplete {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Duration of the turn; a negative value counts as zero.
    pub duration: Millis,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The turn was cancelled.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnCancelled {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Duration of the turn; a negative value counts as zero.
    pub duration: Millis,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The active turn failed with an error.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatError {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Duration of the turn; a negative value counts as zero.
    pub duration: Millis,
    /// Error of the turn; becomes the last part of the response.
    pub part: Standalone<ErrorPart>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// A failed turn is resumed. It must be the latest turn, and its last part must be a resumable
/// error.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnResume {
    /// Id of the turn to resume.
    pub turn_id: TurnId,
}

/// Turns were removed from the end of the history.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Truncated {
    /// Last turn to retain; absent removes all turns.
    #[wire(no_null)]
    pub turn_id: Option<TurnId>,
}

/// Earlier turns were loaded.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TurnsLoaded {
    /// Loaded turns, oldest first. The reducer skips turns that are already in the state.
    pub turns: List<Turn>,
    /// Cursor of the next page; absent if there are no earlier turns.
    pub turns_next_cursor: Option<String>,
}

/// The agent requests input from the user. An open request with the same id is replaced.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequested {
    /// The request. If it has no answers, the current answers of the replaced request are
    /// retained.
    pub request: InputRequest,
}

/// A shared answer was set or cleared.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputAnswerChanged {
    /// Id of the open request.
    pub request_id: InputRequestId,
    /// Id of the question.
    pub question_id: QuestionId,
    /// The answer; absent clears it.
    pub answer: Option<Answer>,
}

/// An input request was resolved.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputCompleted {
    /// Id of the open request.
    pub request_id: InputRequestId,
    /// Resolution of the request.
    pub response: InputResponseKind,
    /// Final answers, which override the shared ones.
    pub answers: Option<Answers>,
}
