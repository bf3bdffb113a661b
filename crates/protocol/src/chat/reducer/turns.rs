//! Reducer functions that start, end, resume, truncate and load turns.

use std::sync::Arc;

use indexmap::IndexSet;

use crate::chat::actions::{
    ChatError, Truncated, TurnCancelled, TurnComplete, TurnResume, TurnStarted, TurnsLoaded, Usage,
};
use crate::chat::parts::ResponseParts;
use crate::chat::response::{ErrorPart, ResponsePart};
use crate::chat::state::ChatState;
use crate::chat::turn::{ActiveTurn, Turn, TurnState};
use crate::common::SessionStatus;
use crate::ids::TurnId;
use crate::list::List;
use crate::number::Millis;
use crate::outcome::{Invalid, Outcome};

/// The outcome of a turn, with the error of a failed one.
enum TurnOutcome<'a> {
    Complete,
    Cancelled,
    Failed(&'a ErrorPart),
}

impl ChatState {
    /// Starts a turn. A second turn would discard the response of the active turn, so it is
    /// invalid; the same turn id again is a no-op (CRT-6).
    pub(super) fn start_turn(&mut self, action: &TurnStarted) -> Outcome {
        if let Some(active) = &self.active_turn {
            if active.id == action.turn_id {
                return Outcome::NoOp;
            }
            return Outcome::Invalid(Invalid::TurnInProgress {
                active: active.id.clone(),
            });
        }
        self.active_turn = Some(Arc::new(ActiveTurn {
            id: action.turn_id.clone(),
            started_at: action.started_at.clone(),
            message: Arc::clone(&action.message),
            response_parts: ResponseParts::default(),
            usage: None,
        }));
        self.summary.modified_at = action.started_at.clone();
        self.refresh_activity();
        self.mark_unread();
        if let Some(waited) = &action.queued_message_id {
            self.take_pending_message(waited);
        }
        Outcome::Applied
    }

    pub(super) fn set_usage(&mut self, action: &Usage) -> Outcome {
        let Some(active) = self.active(&action.turn_id) else {
            return Outcome::NoOp;
        };
        active.usage = Some(action.usage.clone());
        Outcome::Applied
    }

    pub(super) fn complete_turn(&mut self, action: &TurnComplete) -> Outcome {
        self.end_turn(&action.turn_id, action.duration, TurnOutcome::Complete)
    }

    pub(super) fn cancel_turn(&mut self, action: &TurnCancelled) -> Outcome {
        self.end_turn(&action.turn_id, action.duration, TurnOutcome::Cancelled)
    }

    pub(super) fn fail_turn(&mut self, action: &ChatError) -> Outcome {
        self.end_turn(
            &action.turn_id,
            action.duration,
            TurnOutcome::Failed(&action.part),
        )
    }

    fn end_turn(&mut self, turn: &TurnId, duration: Millis, end: TurnOutcome<'_>) -> Outcome {
        let Some(active) = self.active_turn.take_if(|active| active.id == *turn) else {
            return Outcome::NoOp;
        };
        let duration = duration.max(Millis(0));
        let modified_at = match active.started_at.plus(duration) {
            Ok(modified_at) => modified_at,
            Err(error) => {
                self.active_turn = Some(active);
                return Outcome::Invalid(error.into());
            }
        };
        let active = Arc::unwrap_or_clone(active);
        let mut response_parts = active.response_parts.into_list();
        cancel_open_calls(&mut response_parts);
        let (state, activity) = match end {
            TurnOutcome::Complete => (TurnState::Complete, SessionStatus::IDLE),
            TurnOutcome::Cancelled => (TurnState::Cancelled, SessionStatus::IDLE),
            TurnOutcome::Failed(part) => {
                response_parts.push(ResponsePart::Error(part.clone()));
                (TurnState::Error, SessionStatus::ERROR)
            }
        };
        self.turns.push(Turn {
            id: active.id,
            started_at: Some(active.started_at),
            duration: Some(duration),
            message: active.message,
            response_parts,
            usage: active.usage,
            state,
        });
        self.summary.modified_at = modified_at;
        self.summary.status = self.summary.status.with_activity(activity);
        Outcome::Applied
    }

    pub(super) fn resume_turn(&mut self, action: &TurnResume) -> Outcome {
        if self.active_turn.is_some() {
            return Outcome::NoOp;
        }
        let Some(latest) = self.turns.last_item() else {
            return Outcome::NoOp;
        };
        let resumable = matches!(
            latest.response_parts.last_item(),
            Some(ResponsePart::Error(ErrorPart {
                resumable: Some(true),
                ..
            }))
        );
        if latest.id != action.turn_id || latest.state != TurnState::Error || !resumable {
            return Outcome::NoOp;
        }
        let Some(turn) = self.turns.pop().map(Arc::unwrap_or_clone) else {
            return Outcome::NoOp;
        };
        self.active_turn = Some(Arc::new(ActiveTurn {
            id: turn.id,
            started_at: turn
                .started_at
                .unwrap_or_else(|| self.summary.modified_at.clone()),
            message: turn.message,
            response_parts: turn.response_parts.into(),
            usage: turn.usage,
        }));
        self.refresh_activity();
        self.mark_unread();
        Outcome::Applied
    }

    pub(super) fn truncate(&mut self, action: &Truncated) -> Outcome {
        match &action.turn_id {
            None => {
                self.turns.truncate(0);
                self.turns_next_cursor = None;
            }
            Some(last) => {
                let Some(index) = self.turns.find(|turn| turn.id == *last) else {
                    return Outcome::NoOp;
                };
                self.turns.truncate(index + 1);
            }
        }
        self.active_turn = None;
        self.refresh_activity();
        Outcome::Applied
    }

    pub(super) fn load_turns(&mut self, action: &TurnsLoaded) -> Outcome {
        let known: IndexSet<&TurnId> = self.turns.items().map(|turn| &turn.id).collect();
        let older = action.turns.iter().filter(|turn| !known.contains(&turn.id));
        self.turns = older.chain(self.turns.iter()).cloned().collect();
        self.turns_next_cursor.clone_from(&action.turns_next_cursor);
        Outcome::Applied
    }
}

/// Cancels tool calls that have not ended when their turn ends, as skipped (TUR-12).
fn cancel_open_calls(parts: &mut List<ResponsePart>) {
    for index in 0..parts.len() {
        let Some(ResponsePart::ToolCall(part)) = parts.item(index) else {
            continue;
        };
        if let Some(cancelled) = part.tool_call.skipped() {
            parts.replace(index, cancelled);
        }
    }
}
