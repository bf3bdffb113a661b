//! Converts elicitations of an agent to input requests, and the answers to responses.
//!
//! The questions have the order of the fields in the form. With a field `x_custom` next to a
//! choice `x`, an agent lets the user type another answer; both fields become one question.

use agenthost_core::resource::links::is_web_page;
use agenthost_protocol::chat::{
    Answer, AnswerValue, Answers, BooleanQuestion, Choice, InputRequest, InputResponseKind,
    MultiSelectQuestion, NumberQuestion, Question, QuestionBase, SingleSelectQuestion,
    TextQuestion,
};
use agenthost_protocol::ids::{ChoiceId, InputRequestId, QuestionId};
use agenthost_protocol::number::Number;
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

use crate::transport::JsonParams;

/// The suffix of a field for a typed answer instead of a choice.
const CUSTOM_FIELD_SUFFIX: &str = "_custom";

/// The form of a pending elicitation, which is necessary to encode the response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ElicitationForm {
    /// The names and schemas of the fields, in order.
    fields: Vec<(String, JsonParams)>,
}

/// Parses an elicitation; `None` if its kind is not supported.
pub(crate) fn parse_elicitation(
    id: InputRequestId,
    params: &JsonParams,
) -> Option<(InputRequest, ElicitationForm)> {
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    let mode = text("mode").unwrap_or_else(|| "form".to_owned());
    let mut request = InputRequest {
        id,
        message: text("message"),
        url: None,
        questions: None,
        answers: None,
    };
    if mode == "url" {
        // Clients open this URL for users. A URL of another scheme could run a program.
        let url = Uri::from(text("url")?);
        request.url = Some(Some(url).filter(is_web_page)?);
        return Some((request, ElicitationForm { fields: Vec::new() }));
    }
    if mode != "form" {
        return None;
    }
    let schema = params.get("requestedSchema")?;
    let properties = schema.get("properties")?.as_object()?;
    let required_names = schema.get("required").and_then(Value::as_array);
    let fields: Vec<_> = properties
        .iter()
        .filter_map(|(name, field)| Some((name.clone(), field.as_object()?.clone())))
        .collect();
    let form = ElicitationForm { fields };
    let questions = form.fields.iter().filter(|(name, _)| !form.is_custom(name));
    let questions = questions.map(|(name, field)| {
        let is_required = required_names.is_some_and(|names| names.contains(&json!(name)));
        form.to_question(name, field, is_required.then_some(true))
    });
    request.questions = Some(questions.collect());
    Some((request, form))
}

impl ElicitationForm {
    /// Encodes the user's answers as the response to the elicitation.
    pub(crate) fn to_response(&self, response: InputResponseKind, answers: &Answers) -> Value {
        match response {
            InputResponseKind::Decline => json!({"action": "decline"}),
            InputResponseKind::Cancel => json!({"action": "cancel"}),
            InputResponseKind::Accept if self.fields.is_empty() => json!({"action": "accept"}),
            InputResponseKind::Accept => {
                json!({"action": "accept", "content": self.response_content(answers)})
            }
        }
    }

    fn response_content(&self, answers: &Answers) -> JsonParams {
        let mut content = JsonParams::new();
        for (id, answer) in answers {
            let name = id.as_str();
            let Some((_, field)) = self.fields.iter().find(|(field, _)| field == name) else {
                continue;
            };
            let (value, freeform) = match answer {
                Answer::Submitted(value_answer) | Answer::Draft(value_answer) => {
                    answer_value(&value_answer.value)
                }
                Answer::Skipped(skipped) => (None, skipped.freeform_values.clone()),
            };
            let freeform = freeform.and_then(|freeform| freeform.into_iter().next());
            let custom_field = format!("{name}{CUSTOM_FIELD_SUFFIX}");
            match freeform {
                Some(freeform) if self.has_field(&custom_field) => {
                    content.insert(custom_field, json!(freeform));
                }
                Some(freeform) if value.is_none() => {
                    content.insert(name.to_owned(), json!(freeform));
                    continue;
                }
                Some(_) | None => {}
            }
            // Numbers of AHP are floating-point numbers.
            let is_integer = field.get("type").and_then(Value::as_str) == Some("integer");
            let value = match value {
                Some(Value::Number(number)) if is_integer => {
                    number.as_f64().map(|n| json!(n as i64))
                }
                other => other,
            };
            content.extend(value.map(|value| (name.to_owned(), value)));
        }
        content
    }

    fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name)
    }

    /// Returns `true` if a field contains the typed answer of a choice.
    fn is_custom(&self, name: &str) -> bool {
        let mut fields = self.fields.iter();
        let choice = name.strip_suffix(CUSTOM_FIELD_SUFFIX);
        fields.any(|(field, schema)| {
            Some(field.as_str()) == choice && parse_choices(schema).is_some()
        })
    }

    fn to_question(&self, name: &str, field: &JsonParams, required: Option<bool>) -> Question {
        let text = |key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| field.get(key).and_then(Value::as_f64).map(Number);
        let count = |key: &str| field.get(key).and_then(Value::as_u64);
        let title = text("title");
        let message = text("description").or_else(|| title.clone());
        let base = QuestionBase {
            id: QuestionId::from(name),
            message: message.unwrap_or_else(|| name.to_owned()),
            title,
            required,
        };
        let allows_freeform = self
            .has_field(&format!("{name}{CUSTOM_FIELD_SUFFIX}"))
            .then_some(true);
        let kind = field
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("string");
        let number_question = |base| NumberQuestion {
            base,
            min: number("minimum"),
            max: number("maximum"),
            default_value: number("default"),
        };
        match (kind, parse_choices(field)) {
            ("array", choices) => Question::MultiSelect(MultiSelectQuestion {
                base,
                options: choices.unwrap_or_default(),
                allow_freeform_input: allows_freeform,
                min: count("minItems"),
                max: count("maxItems"),
            }),
            (_, Some(options)) => Question::SingleSelect(SingleSelectQuestion {
                base,
                options,
                allow_freeform_input: allows_freeform,
            }),
            ("boolean", None) => Question::Boolean(BooleanQuestion {
                base,
                default_value: field.get("default").and_then(Value::as_bool),
            }),
            ("integer", None) => Question::Integer(number_question(base)),
            ("number", None) => Question::Number(number_question(base)),
            (_, None) => Question::Text(TextQuestion {
                base,
                format: text("format"),
                min: count("minLength"),
                max: count("maxLength"),
                default_value: text("default"),
            }),
        }
    }
}

/// Returns the choices of a field; `None` if it has no choices.
fn parse_choices(field: &JsonParams) -> Option<Vec<Choice>> {
    let schemas = [Some(field), field.get("items").and_then(Value::as_object)];
    let mut schemas = schemas.into_iter().flatten();
    let items = schemas.find_map(|schema| {
        let keys = ["oneOf", "anyOf", "enum"];
        keys.iter().find_map(|key| schema.get(*key)?.as_array())
    })?;
    let to_choice = |item: &Value| {
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = item.as_str().map(str::to_owned).or_else(|| text("const"))?;
        Some(Choice {
            label: text("title").unwrap_or_else(|| id.clone()),
            id: ChoiceId::from(id),
            description: text("description"),
            recommended: None,
        })
    };
    Some(items.iter().filter_map(to_choice).collect())
}

/// Returns the value of an answer, and the text that the user typed in addition.
fn answer_value(value: &AnswerValue) -> (Option<Value>, Option<Vec<String>>) {
    match value {
        AnswerValue::Text(text) => (Some(json!(text.value)), None),
        AnswerValue::Number(number) => (Some(json!(number.value.0)), None),
        AnswerValue::Boolean(boolean) => (Some(json!(boolean.value)), None),
        AnswerValue::Selected(selection) => {
            let value = Some(selection.value.as_str()).filter(|id| !id.is_empty());
            (value.map(|id| json!(id)), selection.freeform_values.clone())
        }
        AnswerValue::SelectedMany(selection) => {
            let ids: Vec<_> = selection.value.iter().map(ChoiceId::as_str).collect();
            (Some(json!(ids)), selection.freeform_values.clone())
        }
        AnswerValue::Unknown(_) => (None, None),
    }
}
