//! Checks the answers of users to input requests of an agent.

use agenthost_protocol::chat::{
    Answer, AnswerValue, Answers, ChatState, Choice, InputAnswerChanged, InputCompleted,
    InputRequest, InputResponseKind, Question, QuestionBase, ResponsePart,
};
use agenthost_protocol::ids::{ChoiceId, InputRequestId};
use agenthost_protocol::number::Number;
use agenthost_protocol::wire::encoded_len;

use super::{formats, unknown};
use crate::host::error::Refusal;
use crate::policy::limits::{MAX_ANSWERS_BYTES, check_bytes};

/// Subject of the refusal when the answers exceed their limit.
const ANSWERS_LABEL: &str = "the answers to a request";

/// Checks an answer that a client shares. A draft may be incomplete, but its value must have
/// the right kind.
pub(super) fn check_answer(chat: &ChatState, change: &InputAnswerChanged) -> Result<(), Refusal> {
    let request = find_open_request(chat, &change.request_id)?;
    let question = find_question(request, change.question_id.as_str())?;
    let others = request.answers.iter().flatten();
    let others = others.filter(|(id, _)| **id != change.question_id);
    let others: usize = others.map(|(_, answer)| encoded_len(answer)).sum();
    let bytes = others.saturating_add(change.answer.as_ref().map_or(0, encoded_len));
    check_bytes(ANSWERS_LABEL, bytes, MAX_ANSWERS_BYTES)?;
    match &change.answer {
        None | Some(Answer::Skipped(_)) => Ok(()),
        Some(Answer::Draft(answer)) => check_value_kind(question, &answer.value),
        Some(Answer::Submitted(answer)) => check_answer_value(question, &answer.value),
    }
}

/// Checks a response. Accepted answers must be complete and match their questions (INP-5,
/// INP-7).
pub(super) fn check_completion(
    chat: &ChatState,
    completed: &InputCompleted,
) -> Result<(), Refusal> {
    let request = find_open_request(chat, &completed.request_id)?;
    let bytes = completed.answers.as_ref().map_or(0, encoded_len);
    check_bytes(ANSWERS_LABEL, bytes, MAX_ANSWERS_BYTES)?;
    if completed.response != InputResponseKind::Accept {
        return Ok(());
    }
    for name in completed.answers.iter().flat_map(Answers::keys) {
        find_question(request, name.as_str())?;
    }
    for question in request.questions.iter().flatten() {
        let Some(base) = question.base() else {
            continue;
        };
        let given = completed.answers.as_ref();
        let given = given.and_then(|answers| answers.get(&base.id));
        let shared = request.answers.as_ref();
        let answer = given.or_else(|| shared?.get(&base.id));
        match answer {
            Some(Answer::Submitted(answer)) => check_answer_value(question, &answer.value)?,
            Some(Answer::Draft(_) | Answer::Skipped(_)) | None => {
                if base.required == Some(true) {
                    return Err(invalid(base, "needs an answer"));
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn find_open_request<'a>(
    chat: &'a ChatState,
    id: &InputRequestId,
) -> Result<&'a InputRequest, Refusal> {
    let parts = chat.active_turn.as_ref().map(|turn| &turn.response_parts);
    let open = parts.and_then(|parts| parts.item(parts.position_of_open_input(id.as_str())?));
    let Some(ResponsePart::InputRequest(part)) = open else {
        return Err(unknown("open request", id));
    };
    Ok(&part.request)
}

fn find_question<'a>(request: &'a InputRequest, name: &str) -> Result<&'a Question, Refusal> {
    let mut questions = request.questions.iter().flatten();
    let found = questions.find(|question| match question {
        Question::Unknown(unknown) => unknown.text("id") == Some(name),
        Question::Text(_)
        | Question::Number(_)
        | Question::Integer(_)
        | Question::Boolean(_)
        | Question::SingleSelect(_)
        | Question::MultiSelect(_) => {
            let base = question.base();
            base.is_some_and(|base| base.id.as_str() == name)
        }
    });
    found.ok_or_else(|| unknown("question", name))
}

fn invalid(base: &QuestionBase, problem: &str) -> Refusal {
    let name: String = base.id.as_str().chars().take(60).collect();
    Refusal::Invalid(format!("question `{name}` {problem}"))
}

/// Checks that a value has the kind of its question. A question of an unknown kind accepts any
/// value.
fn check_value_kind(question: &Question, value: &AnswerValue) -> Result<(), Refusal> {
    let (base, expected, fits) = match question {
        Question::Text(q) => (&q.base, "text", matches!(value, AnswerValue::Text(_))),
        Question::Number(q) | Question::Integer(q) => {
            (&q.base, "a number", matches!(value, AnswerValue::Number(_)))
        }
        Question::Boolean(q) => {
            let fits = matches!(value, AnswerValue::Boolean(_));
            (&q.base, "yes or no", fits)
        }
        Question::SingleSelect(q) => {
            let fits = matches!(value, AnswerValue::Selected(_));
            (&q.base, "one choice", fits)
        }
        Question::MultiSelect(q) => {
            let fits = matches!(value, AnswerValue::SelectedMany(_));
            (&q.base, "choices", fits)
        }
        Question::Unknown(_) => return Ok(()),
    };
    if fits {
        Ok(())
    } else {
        Err(invalid(base, &format!("asks for {expected}")))
    }
}

/// Checks that a value satisfies all constraints of its question.
fn check_answer_value(question: &Question, value: &AnswerValue) -> Result<(), Refusal> {
    check_value_kind(question, value)?;
    match (question, value) {
        (Question::Text(question), AnswerValue::Text(text)) => {
            // Lengths are counted in UTF-16 code units, as browsers do.
            let length = text.value.encode_utf16().count() as u64;
            check_count(
                &question.base,
                length,
                question.min,
                question.max,
                "characters",
            )?;
            let format = question.format.as_deref().unwrap_or_default();
            match formats::check_format(format, &text.value) {
                Ok(()) => Ok(()),
                Err(wanted) => Err(invalid(&question.base, &format!("asks for {wanted}"))),
            }
        }
        (Question::Number(question), AnswerValue::Number(number)) => {
            check_range(&question.base, number.value, question.min, question.max)
        }
        (Question::Integer(question), AnswerValue::Number(number)) => {
            if number.value.0.fract() != 0.0 {
                return Err(invalid(&question.base, "asks for a whole number"));
            }
            check_range(&question.base, number.value, question.min, question.max)
        }
        (Question::SingleSelect(question), AnswerValue::Selected(chosen)) => {
            let text = chosen.freeform_values.as_ref();
            let free = text.is_some_and(|text| !text.is_empty());
            if free && question.allow_freeform_input != Some(true) {
                return Err(invalid(&question.base, "does not accept text"));
            }
            if free || is_offered(&question.options, &chosen.value) {
                return Ok(());
            }
            Err(invalid(&question.base, "has no such choice"))
        }
        (Question::MultiSelect(question), AnswerValue::SelectedMany(chosen)) => {
            let free = chosen.freeform_values.as_ref().map_or(0, Vec::len);
            if free > 0 && question.allow_freeform_input != Some(true) {
                return Err(invalid(&question.base, "does not accept text"));
            }
            if !chosen
                .value
                .iter()
                .all(|id| is_offered(&question.options, id))
            {
                return Err(invalid(&question.base, "has no such choice"));
            }
            let count = (chosen.value.len() + free) as u64;
            check_count(&question.base, count, question.min, question.max, "choices")
        }
        (
            Question::Text(_)
            | Question::Number(_)
            | Question::Integer(_)
            | Question::Boolean(_)
            | Question::SingleSelect(_)
            | Question::MultiSelect(_)
            | Question::Unknown(_),
            _,
        ) => Ok(()),
    }
}

fn is_offered(options: &[Choice], id: &ChoiceId) -> bool {
    options.iter().any(|option| option.id == *id)
}

fn check_count(
    base: &QuestionBase,
    count: u64,
    min: Option<u64>,
    max: Option<u64>,
    what: &str,
) -> Result<(), Refusal> {
    match (min, max) {
        (Some(min), _) if count < min => {
            Err(invalid(base, &format!("asks for at least {min} {what}")))
        }
        (_, Some(max)) if count > max => {
            Err(invalid(base, &format!("asks for at most {max} {what}")))
        }
        _ => Ok(()),
    }
}

fn check_range(
    base: &QuestionBase,
    Number(value): Number,
    min: Option<Number>,
    max: Option<Number>,
) -> Result<(), Refusal> {
    match (min, max) {
        (Some(Number(min)), _) if value < min => {
            Err(invalid(base, &format!("asks for at least {min}")))
        }
        (_, Some(Number(max))) if value > max => {
            Err(invalid(base, &format!("asks for at most {max}")))
        }
        _ => Ok(()),
    }
}
