//! Forms: input requests with their questions and shared answers.

use agenthost_protocol::chat::{
    Answer, AnswerValue, Answers, Choice, InputRequest, NumberQuestion, Question, QuestionBase,
};
use agenthost_protocol::ids::{ChoiceId, QuestionId};
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

use super::{FormCard, RequestScope};
use crate::markdown::is_safe_url;
use crate::visible_text::visible_order;

/// A question of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionRow {
    /// Id of the question, unique in the form.
    pub id: QuestionId,
    /// Kind of the input element.
    pub kind: QuestionKind,
    /// Label: the title of the question, or else its text.
    pub label: String,
    /// Text of the question, if it also has a title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the form can't be accepted without an answer.
    pub required: bool,
    /// Choices in display order.
    pub options: Vec<ChoiceRow>,
    /// `true` if the user may enter text beside the choices.
    pub allow_other: bool,
    /// Current answer, shared by all clients: a text, number or boolean, and for choices
    /// `{values, other?}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Json>,
    /// Initial value of the input element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Json>,
    /// Minimum value, length or number of choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Json>,
    /// Maximum value, length or number of choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Json>,
    /// Format hint of a text, such as `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// `true` if the answer may have several lines.
    pub multiline: bool,
    /// `true` if the input hides its text.
    pub secret: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionKind {
    /// The answer is a text.
    Text,
    /// The answer is a number.
    Number,
    /// The answer is a whole number.
    Integer,
    /// The answer is yes or no.
    Boolean,
    /// The answer is one choice.
    Choice,
    /// The answer is any number of choices.
    Choices,
}

/// A choice of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceRow {
    /// Id of the choice, which is the answer.
    pub value: String,
    /// Display name of the choice.
    pub label: String,
    /// Longer description of the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the agent recommends the choice.
    pub recommended: bool,
}

impl FormCard {
    pub(super) fn of_input(scope: &RequestScope, request: &InputRequest) -> Self {
        let questions = request.questions.iter().flatten();
        let rows =
            questions.filter_map(|question| question_row(question, request.answers.as_ref()));
        FormCard {
            key: format!("form {} {}", request.id, scope.chat),
            session: scope.session.clone(),
            chat: scope.chat.clone(),
            request_id: request.id.clone(),
            worker: scope.worker.clone(),
            message: request.message.as_deref().map(visible_order),
            url: request.url.clone().filter(|url| is_safe_url(url.as_str())),
            questions: rows.collect(),
        }
    }
}

/// Returns the row of a question; `None` for an unknown kind, which no client can show.
fn question_row(question: &Question, answers: Option<&Answers>) -> Option<QuestionRow> {
    let base = question.base()?;
    let mut row = match question {
        Question::Text(text) => {
            let mut row = plain_row(QuestionKind::Text, base);
            let format = text.format.as_deref();
            row.multiline = matches!(format, Some("multiline" | "textarea"));
            row.secret = matches!(format, Some("password" | "secret"));
            row.format.clone_from(&text.format);
            row.initial = text.default_value.clone().map(Json::from);
            (row.min, row.max) = (text.min.map(Json::from), text.max.map(Json::from));
            row
        }
        Question::Number(number) => number_row(QuestionKind::Number, number),
        Question::Integer(number) => number_row(QuestionKind::Integer, number),
        Question::Boolean(boolean) => {
            let mut row = plain_row(QuestionKind::Boolean, base);
            row.initial = boolean.default_value.map(Json::from);
            row
        }
        Question::SingleSelect(select) => {
            let mut row = plain_row(QuestionKind::Choice, base);
            row.options = choice_rows(&select.options);
            row.allow_other = select.allow_freeform_input == Some(true);
            row
        }
        Question::MultiSelect(select) => {
            let mut row = plain_row(QuestionKind::Choices, base);
            row.options = choice_rows(&select.options);
            row.allow_other = select.allow_freeform_input == Some(true);
            (row.min, row.max) = (select.min.map(Json::from), select.max.map(Json::from));
            row
        }
        Question::Unknown(_) => return None,
    };
    row.answer = answers
        .and_then(|answers| answers.get(&base.id))
        .and_then(answer_value);
    Some(row)
}

fn plain_row(kind: QuestionKind, base: &QuestionBase) -> QuestionRow {
    let (label, description) = match &base.title {
        Some(title) if !title.is_empty() => (title, Some(&base.message)),
        Some(_) | None => (&base.message, None),
    };
    QuestionRow {
        id: base.id.clone(),
        kind,
        label: visible_order(label),
        description: description
            .filter(|text| !text.is_empty())
            .map(|text| visible_order(text)),
        required: base.required == Some(true),
        options: Vec::new(),
        allow_other: false,
        answer: None,
        initial: None,
        min: None,
        max: None,
        format: None,
        multiline: false,
        secret: false,
    }
}

fn number_row(kind: QuestionKind, question: &NumberQuestion) -> QuestionRow {
    let mut row = plain_row(kind, &question.base);
    row.initial = question.default_value.map(Json::from);
    row.min = question.min.map(Json::from);
    row.max = question.max.map(Json::from);
    row
}

fn choice_rows(choices: &[Choice]) -> Vec<ChoiceRow> {
    let rows = choices.iter().map(|choice| ChoiceRow {
        value: choice.id.to_string(),
        label: visible_order(&choice.label),
        description: choice.description.as_deref().map(visible_order),
        recommended: choice.recommended == Some(true),
    });
    rows.collect()
}

/// Returns an answer in the form in which clients edit it; `None` if the user has skipped the
/// question.
fn answer_value(answer: &Answer) -> Option<Json> {
    let value = match answer {
        Answer::Draft(answered) | Answer::Submitted(answered) => &answered.value,
        Answer::Skipped(_) => return None,
    };
    match value {
        AnswerValue::Text(text) => Some(Json::from(text.value.as_str())),
        AnswerValue::Number(number) => Some(Json::from(number.value)),
        AnswerValue::Boolean(boolean) => Some(Json::from(boolean.value)),
        AnswerValue::Selected(selected) => {
            let ids = std::slice::from_ref(&selected.value);
            Some(choice_answer(ids, selected.freeform_values.as_deref()))
        }
        AnswerValue::SelectedMany(selected) => Some(choice_answer(
            &selected.value,
            selected.freeform_values.as_deref(),
        )),
        AnswerValue::Unknown(_) => None,
    }
}

/// Returns `{values, other?}`. An empty id means that the user entered a text instead.
fn choice_answer(ids: &[ChoiceId], other: Option<&[String]>) -> Json {
    let ids = ids.iter().filter(|id| !id.as_str().is_empty());
    let values: Json = ids.map(|id| Json::from(id.as_str())).collect();
    let mut answer = Object::from_iter([("values".to_owned(), values)]);
    if let Some(other) = other.filter(|other| !other.is_empty()) {
        answer.insert("other".to_owned(), Json::from(other.join(", ")));
    }
    Json::Object(answer)
}
