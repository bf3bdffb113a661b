//! Reducer functions for input requests and answers.

use crate::chat::actions::{InputAnswerChanged, InputCompleted, InputRequested};
use crate::chat::parts::ResponseParts;
use crate::chat::response::{InputRequestPart, ResponsePart};
use crate::chat::state::ChatState;
use crate::ids::InputRequestId;
use crate::outcome::Outcome;

use std::sync::Arc;

impl ChatState {
    pub(super) fn request_input(&mut self, action: &InputRequested) -> Outcome {
        let Some(active) = self.active_turn.as_mut().map(Arc::make_mut) else {
            return Outcome::NoOp;
        };
        let mut request = action.request.clone();
        let replaced =
            change_open_request(&mut active.response_parts, &action.request.id, |part| {
                if request.answers.is_none() {
                    request.answers = part.request.answers.take();
                }
                part.request = request;
            });
        if replaced.is_none() {
            active
                .response_parts
                .push(ResponsePart::InputRequest(Box::new(InputRequestPart {
                    request: action.request.clone(),
                    response: None,
                })));
        }
        self.refresh_activity();
        self.mark_unread();
        Outcome::Applied
    }

    pub(super) fn change_answer(&mut self, action: &InputAnswerChanged) -> Outcome {
        let Some(active) = self.active_turn.as_mut().map(Arc::make_mut) else {
            return Outcome::NoOp;
        };
        let changed = change_open_request(&mut active.response_parts, &action.request_id, |part| {
            let answers = part.request.answers.get_or_insert_default();
            match &action.answer {
                Some(answer) => answers.insert(action.question_id.clone(), answer.clone()),
                None => answers.shift_remove(&action.question_id),
            };
            part.request.answers.take_if(|answers| answers.is_empty());
        });
        Outcome::applied_if(changed.is_some())
    }

    pub(super) fn complete_input(&mut self, action: &InputCompleted) -> Outcome {
        let Some(active) = self.active_turn.as_mut().map(Arc::make_mut) else {
            return Outcome::NoOp;
        };
        let completed =
            change_open_request(&mut active.response_parts, &action.request_id, |part| {
                let answers = part.request.answers.get_or_insert_default();
                for (question, answer) in action.answers.iter().flatten() {
                    answers.insert(question.clone(), answer.clone());
                }
                part.request.answers.take_if(|answers| answers.is_empty());
                part.response = Some(action.response);
            });
        if completed.is_none() {
            return Outcome::NoOp;
        }
        self.refresh_activity();
        Outcome::Applied
    }
}

/// Changes the open input request with the given id; returns `None` if there is none.
fn change_open_request<R>(
    parts: &mut ResponseParts,
    id: &InputRequestId,
    change: impl FnOnce(&mut InputRequestPart) -> R,
) -> Option<R> {
    let index = parts.position_of_open_input(id.as_str())?;
    parts
        .change(index, |part| {
            let ResponsePart::InputRequest(open) = part else {
                return None;
            };
            Some(change(open))
        })
        .flatten()
}
