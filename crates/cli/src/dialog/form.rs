//! Asks the user the questions of an input request, which an agent sends in the middle of a
//! turn.

use agenthost_protocol::chat::{
    Answer, AnswerValue, Answered, Answers, BooleanValue, ChatAction, Choice, InputAnswerChanged,
    InputCompleted, InputRequest, InputResponseKind, NumberValue, Question, SelectedManyValue,
    SelectedValue, Skipped, TextValue,
};
use agenthost_protocol::ids::{ChoiceId, QuestionId};
use agenthost_protocol::number::Number;

use super::note::NoteLine;

/// The line that declines all questions of a form.
pub(crate) const DECLINE_COMMAND: &str = "/decline";

/// An input request, positioned at its first question without an answer.
pub(crate) struct InputForm {
    request: InputRequest,
    question: Option<Question>,
    /// Number of unanswered questions after the current one.
    remaining: usize,
}

/// Compares the request and the current question only: drafts that other clients type must
/// not cause the question to be printed again.
impl PartialEq for InputForm {
    fn eq(&self, other: &Self) -> bool {
        self.request.id == other.request.id
            && self.question == other.question
            && self.remaining == other.remaining
    }
}

impl InputForm {
    pub(crate) fn new(request: &InputRequest) -> Self {
        let answers = request.answers.as_ref();
        let is_open = |question: &&Question| {
            let id = question.base().map(|base| &base.id);
            let answer = id.and_then(|id| answers?.get(id));
            !matches!(answer, Some(Answer::Submitted(_) | Answer::Skipped(_)))
        };
        let questions = request.questions.iter().flatten();
        let open: Vec<_> = questions.filter(is_open).collect();
        InputForm {
            request: request.clone(),
            question: open.first().map(|question| (*question).clone()),
            remaining: open.len().saturating_sub(1),
        }
    }

    pub(crate) fn prompt(&self) -> Vec<NoteLine> {
        let (question, hint) = self.question();
        let lines = question.lines().chain(hint.lines());
        lines.map(NoteLine::plain).collect()
    }

    /// Returns the question, and how to answer it.
    fn question(&self) -> (String, String) {
        let Some(question) = &self.question else {
            let message = self.request.message.as_deref();
            let mut text = message.unwrap_or("The agent needs your input").to_owned();
            if let Some(url) = &self.request.url {
                text = format!("{text}\n{url}");
            }
            return (text, "y) Done   n) Decline".to_owned());
        };
        let message = question
            .base()
            .map_or("A question of an unsupported kind", |b| &b.message);
        let first = self.request.answers.as_ref().is_none_or(|a| a.is_empty());
        let about = self.request.message.as_deref().filter(|_| first);
        let text = match about {
            Some(about) => format!("{about}\n{message}"),
            None => message.to_owned(),
        };
        let hint = answer_hint(question);
        let skip = match (default_value(question), is_required(question)) {
            (Some(_), _) => "; Enter takes the default",
            (None, false) => "; Enter skips it",
            (None, true) => "",
        };
        (text, format!("{hint}{skip}; {DECLINE_COMMAND} declines"))
    }

    pub(crate) fn parse_answer(&self, line: &str) -> Option<ChatAction> {
        if line == DECLINE_COMMAND {
            return Some(self.decline());
        }
        let Some(question) = &self.question else {
            return parse_yes_no(line).map(|done| {
                if done {
                    self.complete_with_answer(InputResponseKind::Accept, None)
                } else {
                    self.decline()
                }
            });
        };
        let id = question.base()?.id.clone();
        let answer = if line.is_empty() {
            match default_value(question) {
                Some(value) => to_submitted(value),
                None if is_required(question) => return None,
                None => Answer::Skipped(Skipped {
                    freeform_values: None,
                }),
            }
        } else {
            to_submitted(parse_value(question, line)?)
        };
        if self.remaining == 0 {
            return Some(self.complete_with_answer(InputResponseKind::Accept, Some((id, answer))));
        }
        Some(ChatAction::InputAnswerChanged(InputAnswerChanged {
            request_id: self.request.id.clone(),
            question_id: id,
            answer: Some(answer),
        }))
    }

    /// Completes the form with default values. Declines it if a required question has no
    /// default and no answer.
    pub(crate) fn accept_defaults(&self) -> ChatAction {
        let questions = self.request.questions.iter().flatten();
        let mut answers = Answers::default();
        for question in questions {
            let given = self.request.answers.as_ref();
            let given = question.base().and_then(|base| given?.get(&base.id));
            match (question.base(), default_value(question)) {
                _ if given.is_some() => {}
                (Some(base), Some(value)) => {
                    answers.insert(base.id.clone(), to_submitted(value));
                }
                _ if is_required(question) => return self.decline(),
                _ => {}
            }
        }
        self.complete_with_answers(InputResponseKind::Accept, Some(answers))
    }

    pub(crate) fn decline(&self) -> ChatAction {
        self.complete_with_answer(InputResponseKind::Decline, None)
    }

    fn complete_with_answer(
        &self,
        how: InputResponseKind,
        last: Option<(QuestionId, Answer)>,
    ) -> ChatAction {
        let answers = last.map(|(id, answer)| Answers::from_iter([(id, answer)]));
        self.complete_with_answers(how, answers)
    }

    fn complete_with_answers(
        &self,
        response: InputResponseKind,
        answers: Option<Answers>,
    ) -> ChatAction {
        ChatAction::InputCompleted(InputCompleted {
            request_id: self.request.id.clone(),
            response,
            answers: answers.filter(|answers| !answers.is_empty()),
        })
    }
}

fn to_submitted(value: AnswerValue) -> Answer {
    Answer::Submitted(Answered { value })
}

fn is_required(question: &Question) -> bool {
    question
        .base()
        .is_none_or(|base| base.required == Some(true))
}

fn default_value(question: &Question) -> Option<AnswerValue> {
    let boolean = |value| AnswerValue::Boolean(BooleanValue { value });
    match question {
        Question::Text(question) => question.default_value.clone().map(text_value),
        Question::Number(question) | Question::Integer(question) => {
            let value = question.default_value?;
            Some(AnswerValue::Number(NumberValue { value }))
        }
        Question::Boolean(question) => question.default_value.map(boolean),
        Question::SingleSelect(question) => {
            let mut options = question.options.iter();
            let choice = options.find(|choice| choice.recommended == Some(true))?;
            Some(selected_value(choice.id.clone()))
        }
        Question::MultiSelect(_) | Question::Unknown(_) => None,
    }
}

/// Describes the expected answer of a question, for the prompt.
fn answer_hint(question: &Question) -> String {
    let numbered = |options: &[Choice]| {
        let numbered = options.iter().enumerate();
        let choices = numbered.map(|(index, choice)| format!("{}) {}", index + 1, choice.label));
        choices.collect::<Vec<_>>().join("   ")
    };
    match question {
        Question::Text(question) => match &question.default_value {
            Some(default) => format!("text [{default}]"),
            None => "text".to_owned(),
        },
        Question::Number(question) => match question.default_value {
            Some(default) => format!("a number [{}]", default.0),
            None => "a number".to_owned(),
        },
        Question::Integer(question) => match question.default_value {
            Some(default) => format!("a whole number [{}]", default.0),
            None => "a whole number".to_owned(),
        },
        Question::Boolean(question) => match question.default_value {
            Some(true) => "y or n [y]".to_owned(),
            Some(false) => "y or n [n]".to_owned(),
            None => "y or n".to_owned(),
        },
        Question::SingleSelect(question) => numbered(&question.options),
        Question::MultiSelect(question) => {
            format!("{} (several with commas)", numbered(&question.options))
        }
        Question::Unknown(_) => "this client cannot answer it".to_owned(),
    }
}

/// Parses the answer to a question. Returns `None` if the line is not a valid answer.
fn parse_value(question: &Question, line: &str) -> Option<AnswerValue> {
    match question {
        Question::Text(_) => Some(text_value(line.to_owned())),
        Question::Number(_) | Question::Integer(_) => {
            let value: f64 = line.parse().ok()?;
            let is_whole = value.fract() == 0.0 || matches!(question, Question::Number(_));
            let value = Number((value.is_finite() && is_whole).then_some(value)?);
            Some(AnswerValue::Number(NumberValue { value }))
        }
        Question::Boolean(_) => {
            let value = parse_yes_no(line)?;
            Some(AnswerValue::Boolean(BooleanValue { value }))
        }
        Question::SingleSelect(question) => {
            if let Some(choice) = find_choice(&question.options, line) {
                return Some(selected_value(choice));
            }
            let free = question.allow_freeform_input == Some(true);
            free.then(|| {
                AnswerValue::Selected(SelectedValue {
                    value: ChoiceId::from(""),
                    freeform_values: Some(vec![line.to_owned()]),
                })
            })
        }
        Question::MultiSelect(question) => {
            let (mut value, mut other) = (Vec::new(), Vec::new());
            for word in line
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
            {
                match find_choice(&question.options, word) {
                    Some(choice) => value.push(choice),
                    None if question.allow_freeform_input == Some(true) => {
                        other.push(word.to_owned());
                    }
                    None => return None,
                }
            }
            Some(AnswerValue::SelectedMany(SelectedManyValue {
                value,
                freeform_values: (!other.is_empty()).then_some(other),
            }))
        }
        Question::Unknown(_) => None,
    }
}

/// Finds a choice by its number, its id or its label.
fn find_choice(options: &[Choice], word: &str) -> Option<ChoiceId> {
    let number = word.parse::<usize>().ok();
    let by_number = number.and_then(|number| options.get(number.checked_sub(1)?));
    let named =
        |choice: &&Choice| choice.id.as_str() == word || choice.label.eq_ignore_ascii_case(word);
    let found = by_number.or_else(|| options.iter().find(named));
    found.map(|choice| choice.id.clone())
}

fn text_value(value: String) -> AnswerValue {
    AnswerValue::Text(TextValue { value })
}

fn selected_value(value: ChoiceId) -> AnswerValue {
    AnswerValue::Selected(SelectedValue {
        value,
        freeform_values: None,
    })
}

/// Parses `y`, `yes`, `n` or `no`, in any case.
pub(crate) fn parse_yes_no(line: &str) -> Option<bool> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_a_whole_number() {
        let parsed = |kind: &str, line: &str| {
            let question = format!(r#"{{"kind": "{kind}", "id": "q", "message": "How many?"}}"#);
            let question: Question = agenthost_protocol::wire::from_str(&question).unwrap();
            parse_value(&question, line).is_some()
        };
        assert!(parsed("number", "1.5") && parsed("integer", "-2") && parsed("integer", "3.0"));
        assert!(!parsed("integer", "1.5") && !parsed("integer", "inf"));
    }
}
