//! Converts text answers of clients that only have text fields.

use agenthost_protocol::chat::{
    Answer, AnswerValue, Answers, ChatState, InputCompleted, NumberValue, Question, SelectedValue,
};
use agenthost_protocol::number::Number;

use crate::policy::find_open_request;

/// Converts text answers to the types of their questions. Answers to unknown questions are
/// dropped. An answer that can't be parsed stays, and is refused by the usual checks.
pub(super) fn parse_text_answers(chat: &ChatState, completed: &mut InputCompleted) {
    let (Ok(request), Some(answers)) = (
        find_open_request(chat, &completed.request_id),
        completed.answers.as_mut(),
    ) else {
        return;
    };
    let questions: Vec<_> = request.questions.iter().flatten().collect();
    let asked = |id: &str| {
        let mut questions = questions.iter();
        questions.any(|question| question.base().is_some_and(|base| base.id.as_str() == id))
    };
    answers.retain(|id, _| asked(id.as_str()));
    for question in &questions {
        parse_text_answer(question, answers);
    }
}

fn parse_text_answer(question: &Question, answers: &mut Answers) {
    let answer = question.base().and_then(|base| answers.get_mut(&base.id));
    let Some(Answer::Submitted(answer)) = answer else {
        return;
    };
    let AnswerValue::Text(text) = &answer.value else {
        return;
    };
    let read = match question {
        Question::Number(_) | Question::Integer(_) => {
            let number: Result<f64, _> = text.value.trim().parse();
            let number = number.ok().filter(|number| number.is_finite());
            number.map(|number| {
                AnswerValue::Number(NumberValue {
                    value: Number(number),
                })
            })
        }
        Question::SingleSelect(_) => Some(AnswerValue::Selected(SelectedValue {
            value: "".into(),
            freeform_values: Some(vec![text.value.clone()]),
        })),
        Question::Text(_)
        | Question::Boolean(_)
        | Question::MultiSelect(_)
        | Question::Unknown(_) => None,
    };
    if let Some(read) = read {
        answer.value = read;
    }
}
