//! Reducer of the chat channel.

mod input;
mod messages;
mod tool_calls;
mod turns;

use std::sync::Arc;

use super::actions::{BackgroundWorkRemoved, BackgroundWorkSet, ChatAction};
use super::response::ResponsePart;
use super::state::ChatState;
use super::turn::ActiveTurn;
use crate::common::{SessionStatus, add_directory, remove_directory};
use crate::ids::TurnId;
use crate::outcome::Outcome;

impl ChatState {
    /// Applies an action to the chat.
    pub fn reduce(&mut self, action: &ChatAction) -> Outcome {
        match action {
            ChatAction::TurnStarted(action) => self.start_turn(action),
            ChatAction::Delta(action) => self.change_part(
                &action.turn_id,
                action.part_id.as_str(),
                |part| {
                    let ResponsePart::Markdown(part) = part else {
                        return None;
                    };
                    Some(&mut part.content)
                },
                &action.content,
            ),
            ChatAction::ResponsePart(action) => self.add_part(&action.turn_id, &action.part),
            ChatAction::Reasoning(action) => self.change_part(
                &action.turn_id,
                action.part_id.as_str(),
                |part| {
                    let ResponsePart::Reasoning(part) = part else {
                        return None;
                    };
                    Some(&mut part.content)
                },
                &action.content,
            ),
            ChatAction::Usage(action) => self.set_usage(action),
            ChatAction::TurnComplete(action) => self.complete_turn(action),
            ChatAction::TurnCancelled(action) => self.cancel_turn(action),
            ChatAction::Error(action) => self.fail_turn(action),
            ChatAction::TurnResume(action) => self.resume_turn(action),
            ChatAction::ToolCallStart(action) => self.start_call(action),
            ChatAction::ToolCallDelta(action) => self.extend_call(action),
            ChatAction::ToolCallReady(action) => self.ready_call(action),
            ChatAction::ToolCallConfirmed(action) => self.confirm_call(action),
            ChatAction::ToolCallComplete(action) => self.complete_call(action),
            ChatAction::ToolCallResultConfirmed(action) => self.confirm_result(action),
            ChatAction::ToolCallContentChanged(action) => self.change_call_content(action),
            ChatAction::ToolCallAuthRequired(action) => self.require_auth(action),
            ChatAction::ToolCallAuthResolved(action) => self.resolve_auth(action),
            ChatAction::ActivityChanged(action) => {
                self.summary.activity.clone_from(&action.activity);
                Outcome::Applied
            }
            ChatAction::BackgroundWorkSet(action) => self.set_background_work(action),
            ChatAction::BackgroundWorkRemoved(action) => self.remove_background_work(action),
            ChatAction::MovableChanged(action) => {
                self.summary.movable = Some(action.movable);
                Outcome::Applied
            }
            ChatAction::ChangesetsChanged(action) => {
                self.changesets.clone_from(&action.changesets);
                Outcome::Applied
            }
            ChatAction::CanvasesChanged(action) => {
                self.canvases.clone_from(&action.canvases);
                Outcome::Applied
            }
            ChatAction::WorkingDirectorySet(action) => {
                add_directory(&mut self.summary.working_directories, &action.directory)
            }
            ChatAction::WorkingDirectoryRemoved(action) => {
                remove_directory(&mut self.summary.working_directories, &action.directory)
            }
            ChatAction::PendingMessageSet(action) => self.set_pending_message(action),
            ChatAction::PendingMessageRemoved(action) => self.remove_pending_message(action),
            ChatAction::QueuedMessagesReordered(action) => self.reorder_queue(action),
            ChatAction::DraftChanged(action) => {
                self.draft.clone_from(&action.draft);
                Outcome::Applied
            }
            ChatAction::IsReadChanged(action) => self.flag(SessionStatus::IS_READ, action.is_read),
            ChatAction::IsArchivedChanged(action) => {
                self.flag(SessionStatus::IS_ARCHIVED, action.is_archived)
            }
            ChatAction::InputRequested(action) => self.request_input(action),
            ChatAction::InputAnswerChanged(action) => self.change_answer(action),
            ChatAction::InputCompleted(action) => self.complete_input(action),
            ChatAction::Truncated(action) => self.truncate(action),
            ChatAction::TurnsLoaded(action) => self.load_turns(action),
        }
    }

    /// Returns the active turn for modification, if it has the given id.
    fn active(&mut self, turn: &TurnId) -> Option<&mut ActiveTurn> {
        self.active_turn
            .as_mut()
            .filter(|active| active.id == *turn)
            .map(Arc::make_mut)
    }

    /// Appends text to a part, if `text_of` returns the text of this kind of part.
    fn change_part(
        &mut self,
        turn: &TurnId,
        key: &str,
        text_of: impl FnOnce(&mut ResponsePart) -> Option<&mut String>,
        text: &str,
    ) -> Outcome {
        let Some(active) = self.active(turn) else {
            return Outcome::NoOp;
        };
        let Some(index) = active.response_parts.position(key) else {
            return Outcome::NoOp;
        };
        let appended = active.response_parts.change(index, |part| {
            text_of(part)
                .map(|content| content.push_str(text))
                .is_some()
        });
        Outcome::applied_if(appended == Some(true))
    }

    fn add_part(&mut self, turn: &TurnId, part: &Arc<ResponsePart>) -> Outcome {
        if let ResponsePart::Error(_) = &**part {
            return Outcome::NoOp;
        }
        let Some(active) = self.active(turn) else {
            return Outcome::NoOp;
        };
        active.response_parts.push(Arc::clone(part));
        Outcome::Applied
    }

    fn flag(&mut self, flag: SessionStatus, set: bool) -> Outcome {
        self.summary.status = self.summary.status.flagged(flag, set);
        Outcome::Applied
    }

    /// Derives the activity bits of the status from the active turn (TUR-19).
    fn refresh_activity(&mut self) {
        let activity = match &self.active_turn {
            Some(turn) if turn.response_parts.awaits_user() => SessionStatus::INPUT_NEEDED,
            Some(_) => SessionStatus::IN_PROGRESS,
            None => SessionStatus::IDLE,
        };
        self.summary.status = self.summary.status.with_activity(activity);
    }

    fn mark_unread(&mut self) {
        self.summary.status = self.summary.status.without(SessionStatus::IS_READ);
    }

    fn set_background_work(&mut self, action: &BackgroundWorkSet) -> Outcome {
        let Some(key) = action.work.key() else {
            return Outcome::NoOp;
        };
        self.background_work
            .get_or_insert_default()
            .upsert(Arc::clone(&action.work), |work| work.key() == Some(key));
        Outcome::Applied
    }

    fn remove_background_work(&mut self, action: &BackgroundWorkRemoved) -> Outcome {
        let Some(list) = &mut self.background_work else {
            return Outcome::NoOp;
        };
        let Some(index) = list.find(|work| work.key() == Some(action.id.as_str())) else {
            return Outcome::NoOp;
        };
        list.remove(index);
        Outcome::Applied
    }
}
