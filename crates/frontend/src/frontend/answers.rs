//! Answers to requests: approvals and forms of any followed session.

use agenthost_protocol::chat::{
    Answer, AnswerValue, Answered, Answers, BooleanValue, CancellationReason, ChatAction,
    ConfirmationReason, InputAnswerChanged, InputCompleted, InputResponseKind, NumberValue,
    SelectedManyValue, SelectedValue, TextValue, ToolCallConfirmed, ToolCallResultConfirmed,
    ToolCallTarget,
};
use agenthost_protocol::ids::{ChoiceId, ConfirmationOptionId, QuestionId};
use agenthost_protocol::wire::{self, Json, Object};
use agenthost_view::request::{
    ApprovalCard, ApprovalPhase, FormCard, QuestionKind, QuestionRow, RequestCard,
};

use super::Frontend;
use super::races::RacedAction;
use super::responses::RejectionReport;
use crate::input::FormResponse;

/// The error for a request that is not open any more.
const ANSWERED: &str = "another device has answered this already";

impl Frontend {
    /// Returns an open request by its key.
    pub(super) fn find_request(&self, key: &str) -> Option<RequestCard> {
        let engine = self.engine.as_ref()?;
        let sessions = engine.channels().filter_map(|channel| {
            let state = self.session_state(channel)?;
            Some(RequestCard::of_session(channel, state))
        });
        sessions.flatten().find(|card| card.key() == key)
    }

    pub(super) fn answer_approval(
        &mut self,
        id: u64,
        key: &str,
        option_id: Option<String>,
        approve: bool,
        edited_input: Option<String>,
    ) {
        let Some(RequestCard::Approval(card)) = self.find_request(key) else {
            return self.fail(id, ANSWERED.to_owned());
        };
        let action = approval_action(&card, option_id, approve, edited_input);
        self.answer(id, RequestCard::Approval(card), action);
    }

    /// Dispatches an answer. The chat of an inbox entry is usually not subscribed to, so the
    /// session reports the result by removing the request.
    fn answer(&mut self, id: u64, card: RequestCard, action: ChatAction) {
        let chat = card.chat().clone();
        let report = RejectionReport::Race(RacedAction::Answer(Box::new(card)));
        self.dispatch_with(id, &chat, action.into(), report);
        self.dirty.sessions = true;
    }

    pub(super) fn answer_form(
        &mut self,
        id: u64,
        key: &str,
        response: FormResponse,
        answers: &Object,
    ) {
        let Some(RequestCard::Form(card)) = self.find_request(key) else {
            return self.fail(id, ANSWERED.to_owned());
        };
        let (response, answers) = match response {
            FormResponse::Accept => (InputResponseKind::Accept, Some(to_answers(&card, answers))),
            FormResponse::Decline => (InputResponseKind::Decline, None),
            FormResponse::Cancel => (InputResponseKind::Cancel, None),
        };
        let action = ChatAction::InputCompleted(InputCompleted {
            request_id: card.request_id.clone(),
            response,
            answers,
        });
        self.answer(id, RequestCard::Form(card), action);
    }

    pub(super) fn draft_form(&mut self, id: u64, key: &str, question_id: &str, answer: &Json) {
        let Some(RequestCard::Form(card)) = self.find_request(key) else {
            return self.fail(id, ANSWERED.to_owned());
        };
        let mut questions = card.questions.iter();
        let question = questions.find(|question| question.id.as_str() == question_id);
        let value = question.and_then(|question| to_value(question, answer));
        let action = ChatAction::InputAnswerChanged(InputAnswerChanged {
            request_id: card.request_id.clone(),
            question_id: QuestionId::from(question_id),
            answer: value.map(|value| Answer::Draft(Answered { value })),
        });
        let chat = card.chat;
        self.dispatch_with(id, &chat, action.into(), RejectionReport::CommandOnly);
    }
}

fn approval_action(
    card: &ApprovalCard,
    option_id: Option<String>,
    approved: bool,
    edited_tool_input: Option<String>,
) -> ChatAction {
    let target = ToolCallTarget {
        turn_id: card.turn_id.clone(),
        tool_call_id: card.call_id.clone(),
        meta: None,
    };
    match card.phase {
        ApprovalPhase::Result => {
            ChatAction::ToolCallResultConfirmed(ToolCallResultConfirmed { target, approved })
        }
        ApprovalPhase::Call => ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
            target,
            approved,
            confirmed: approved.then_some(ConfirmationReason::UserAction),
            reason: (!approved).then_some(CancellationReason::Denied),
            edited_tool_input,
            user_suggestion: None,
            reason_message: None,
            selected_option_id: option_id.as_deref().map(ConfirmationOptionId::from),
        })),
    }
}

fn to_answers(card: &FormCard, given: &Object) -> Answers {
    let answers = card.questions.iter().filter_map(|question| {
        let value = to_value(question, given.get(question.id.as_str())?)?;
        let answer = Answer::Submitted(Answered { value });
        Some((question.id.clone(), answer))
    });
    answers.collect()
}

/// Converts an answer of the page to the type of its question; `None` if it is empty or has
/// another type.
fn to_value(question: &QuestionRow, answer: &Json) -> Option<AnswerValue> {
    match question.kind {
        QuestionKind::Text => {
            let value = answer.as_str()?.to_owned();
            (!value.is_empty()).then_some(AnswerValue::Text(TextValue { value }))
        }
        QuestionKind::Number | QuestionKind::Integer => {
            let value = wire::from_str(&answer.as_number()?.to_string()).ok()?;
            Some(AnswerValue::Number(NumberValue { value }))
        }
        QuestionKind::Boolean => {
            let value = answer.as_bool()?;
            Some(AnswerValue::Boolean(BooleanValue { value }))
        }
        QuestionKind::Choice | QuestionKind::Choices => {
            let values = answer.get("values")?.as_array()?.iter();
            let values = values.filter_map(Json::as_str).map(ChoiceId::from);
            let mut values: Vec<_> = values.collect();
            let other = answer.get("other").and_then(Json::as_str);
            let other = other.filter(|text| !text.is_empty());
            let freeform_values = other.map(|text| vec![text.to_owned()]);
            if values.is_empty() && freeform_values.is_none() {
                return None;
            }
            Some(if question.kind == QuestionKind::Choices {
                AnswerValue::SelectedMany(SelectedManyValue {
                    value: values,
                    freeform_values,
                })
            } else {
                AnswerValue::Selected(SelectedValue {
                    value: values.pop().unwrap_or_else(|| ChoiceId::from("")),
                    freeform_values,
                })
            })
        }
    }
}
