//! Questions put to the user in the middle of a turn, and the answers.

use indexmap::IndexMap;

use crate::ids::{ChoiceId, InputRequestId, QuestionId};
use crate::number::Number;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// A request for input: questions, a page to visit, or both.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequest {
    /// Its name in the chat.
    pub id: InputRequestId,
    /// What it is about.
    pub message: Option<String>,
    /// A page to look at.
    pub url: Option<Uri>,
    /// The questions in order.
    pub questions: Option<Vec<Question>>,
    /// Answers so far, shared by all clients.
    pub answers: Option<Answers>,
}

/// Answers by question.
pub type Answers = IndexMap<QuestionId, Answer>;

/// How a request was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum InputResponseKind {
    /// The answers count.
    Accept,
    /// The user says no.
    Decline,
    /// The user goes away.
    Cancel,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind", case = "kebab")]
pub enum Question {
    /// Asks for text.
    Text(TextQuestion),
    /// Asks for a number.
    Number(NumberQuestion),
    /// Asks for a whole number.
    Integer(NumberQuestion),
    /// Asks yes or no.
    Boolean(BooleanQuestion),
    /// Asks for one of several choices.
    SingleSelect(SingleSelectQuestion),
    /// Asks for some of several choices.
    MultiSelect(MultiSelectQuestion),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

impl Question {
    /// What all questions have; `None` for a kind that is not known.
    pub fn base(&self) -> Option<&QuestionBase> {
        match self {
            Question::Text(question) => Some(&question.base),
            Question::Number(question) | Question::Integer(question) => Some(&question.base),
            Question::Boolean(question) => Some(&question.base),
            Question::SingleSelect(question) => Some(&question.base),
            Question::MultiSelect(question) => Some(&question.base),
            Question::Unknown(_) => None,
        }
    }
}

/// What all questions have.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct QuestionBase {
    /// Its name in the request.
    pub id: QuestionId,
    /// Short title.
    pub title: Option<String>,
    /// The question itself.
    pub message: String,
    /// Whether the request can't be accepted without an answer.
    pub required: Option<bool>,
}

/// Asks for text.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TextQuestion {
    /// What all questions have.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// A hint such as `email`, `uri`, `date` or `date-time`.
    pub format: Option<String>,
    /// Shortest length.
    pub min: Option<u64>,
    /// Longest length.
    pub max: Option<u64>,
    /// Text to start from.
    pub default_value: Option<String>,
}

/// Asks for a number.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct NumberQuestion {
    /// What all questions have.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Least value.
    pub min: Option<Number>,
    /// Greatest value.
    pub max: Option<Number>,
    /// Number to start from.
    pub default_value: Option<Number>,
}

/// Asks yes or no.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BooleanQuestion {
    /// What all questions have.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Answer to start from.
    pub default_value: Option<bool>,
}

/// One choice of a select question.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Choice {
    /// Its name in the question.
    pub id: ChoiceId,
    /// Name for people.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
    /// Whether it is what the asker would pick.
    pub recommended: Option<bool>,
}

/// Asks for one of several choices.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SingleSelectQuestion {
    /// What all questions have.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// The choices.
    pub options: Vec<Choice>,
    /// Whether text may be given instead.
    pub allow_freeform_input: Option<bool>,
}

/// Asks for some of several choices.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MultiSelectQuestion {
    /// What all questions have.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// The choices.
    pub options: Vec<Choice>,
    /// Whether text may be given besides.
    pub allow_freeform_input: Option<bool>,
    /// Fewest choices.
    pub min: Option<u64>,
    /// Most choices.
    pub max: Option<u64>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "state")]
pub enum Answer {
    /// Somebody is still typing.
    Draft(Answered),
    /// Given.
    Submitted(Answered),
    /// Passed over.
    Skipped(Skipped),
}

/// An answer with a value.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Answered {
    /// The value.
    pub value: AnswerValue,
}

/// No answer, perhaps with a remark.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Skipped {
    /// What the user wrote instead.
    pub freeform_values: Option<Vec<String>>,
}

/// The value of an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind", case = "kebab")]
pub enum AnswerValue {
    /// Text.
    Text(TextValue),
    /// A number.
    Number(NumberValue),
    /// Yes or no.
    Boolean(BooleanValue),
    /// One choice.
    Selected(SelectedValue),
    /// Several choices.
    SelectedMany(SelectedManyValue),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Text as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TextValue {
    /// The text.
    pub value: String,
}

/// A number as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct NumberValue {
    /// The number.
    pub value: Number,
}

/// Yes or no as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BooleanValue {
    /// The answer.
    pub value: bool,
}

/// A choice as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SelectedValue {
    /// The choice.
    pub value: ChoiceId,
    /// Text given instead.
    pub freeform_values: Option<Vec<String>>,
}

/// Choices as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SelectedManyValue {
    /// The choices.
    pub value: Vec<ChoiceId>,
    /// Text given besides.
    pub freeform_values: Option<Vec<String>>,
}
