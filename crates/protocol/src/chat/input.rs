//! Input requests, their questions and the answers of the user.

use indexmap::IndexMap;

use crate::ids::{ChoiceId, InputRequestId, QuestionId};
use crate::number::Number;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// A request for user input during a turn: questions, a page to visit, or both.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequest {
    /// Id of the request, unique in the chat.
    pub id: InputRequestId,
    /// Explanation for the user.
    pub message: Option<String>,
    /// Page that the user should visit.
    pub url: Option<Uri>,
    /// Questions in display order.
    pub questions: Option<Vec<Question>>,
    /// Current answers, shared by all clients.
    pub answers: Option<Answers>,
}

/// Answers by the id of their question.
pub type Answers = IndexMap<QuestionId, Answer>;

/// The resolution of an input request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum InputResponseKind {
    /// The user submitted the answers.
    Accept,
    /// The user declined to answer.
    Decline,
    /// The user dismissed the request.
    Cancel,
}

/// A question of an input request.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind", case = "kebab")]
pub enum Question {
    /// A question that requests a text.
    Text(TextQuestion),
    /// A question that requests a number.
    Number(NumberQuestion),
    /// A question that requests an integer.
    Integer(NumberQuestion),
    /// A question that requests yes or no.
    Boolean(BooleanQuestion),
    /// Requests one choice of a list.
    SingleSelect(SingleSelectQuestion),
    /// Requests any number of choices of a list.
    MultiSelect(MultiSelectQuestion),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

impl Question {
    /// Returns the fields that all question kinds share; `None` for an unknown kind.
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

/// Fields that all question kinds share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct QuestionBase {
    /// Id of the question, unique in the request.
    pub id: QuestionId,
    /// Short title of the question.
    pub title: Option<String>,
    /// Text of the question.
    pub message: String,
    /// `true` if the request can't be accepted without an answer.
    pub required: Option<bool>,
}

/// A question that requests a text.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TextQuestion {
    /// Fields that all question kinds share.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Format hint, such as `email`, `uri`, `date` or `date-time`.
    pub format: Option<String>,
    /// Minimum length of the text.
    pub min: Option<u64>,
    /// Maximum length of the text.
    pub max: Option<u64>,
    /// Initial value of the input.
    pub default_value: Option<String>,
}

/// A question that requests a number or an integer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct NumberQuestion {
    /// Fields that all question kinds share.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Minimum value of the answer.
    pub min: Option<Number>,
    /// Maximum value of the answer.
    pub max: Option<Number>,
    /// Initial value of the input.
    pub default_value: Option<Number>,
}

/// A question that requests yes or no.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BooleanQuestion {
    /// Fields that all question kinds share.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Initial value of the input.
    pub default_value: Option<bool>,
}

/// A choice of a select question.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Choice {
    /// Id of the choice, unique in the question.
    pub id: ChoiceId,
    /// Display name for the user interface.
    pub label: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
    /// `true` if the agent recommends this choice.
    pub recommended: Option<bool>,
}

/// A question that requests one choice of a list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SingleSelectQuestion {
    /// Fields that all question kinds share.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Choices in display order.
    pub options: Vec<Choice>,
    /// `true` if the user may enter text instead of a choice.
    pub allow_freeform_input: Option<bool>,
}

/// A question that requests any number of choices of a list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MultiSelectQuestion {
    /// Fields that all question kinds share.
    #[wire(flatten)]
    pub base: QuestionBase,
    /// Choices in display order.
    pub options: Vec<Choice>,
    /// `true` if the user may enter text in addition to choices.
    pub allow_freeform_input: Option<bool>,
    /// Minimum number of choices.
    pub min: Option<u64>,
    /// Maximum number of choices.
    pub max: Option<u64>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "state")]
pub enum Answer {
    /// A draft that a user is still editing.
    Draft(Answered),
    /// An answer that the user has submitted.
    Submitted(Answered),
    /// A question that the user has skipped.
    Skipped(Skipped),
}

/// An answer with a value.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Answered {
    /// Value of the answer.
    pub value: AnswerValue,
}

/// A skipped question, optionally with a remark.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Skipped {
    /// Text that the user entered instead of an answer.
    pub freeform_values: Option<Vec<String>>,
}

/// The value of an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind", case = "kebab")]
pub enum AnswerValue {
    /// A text that the user entered.
    Text(TextValue),
    /// A number that the user entered.
    Number(NumberValue),
    /// A choice between yes and no.
    Boolean(BooleanValue),
    /// One selected choice of a list.
    Selected(SelectedValue),
    /// Any number of selected choices.
    SelectedMany(SelectedManyValue),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A text as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TextValue {
    /// The text that the user entered.
    pub value: String,
}

/// A number as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct NumberValue {
    /// The number that the user entered.
    pub value: Number,
}

/// A boolean as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BooleanValue {
    /// `true` if the user answered yes.
    pub value: bool,
}

/// A selected choice as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SelectedValue {
    /// Id of the selected choice.
    pub value: ChoiceId,
    /// Text that the user entered instead of a choice.
    pub freeform_values: Option<Vec<String>>,
}

/// Selected choices as an answer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SelectedManyValue {
    /// Ids of the selected choices.
    pub value: Vec<ChoiceId>,
    /// Text that the user entered in addition to choices.
    pub freeform_values: Option<Vec<String>>,
}
