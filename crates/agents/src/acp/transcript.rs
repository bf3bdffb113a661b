//! What was said in a chat, as text for an agent that was not there.

use agenthost_core::agent::ChatContext;
use agenthost_protocol::chat::{Message, ResponsePart, ToolCall, Turn};
use agenthost_protocol::list::List;

/// Most bytes that are told. The latest turns count most.
const LONGEST: usize = 64 * 1024;

/// Most bytes of one message, or of one part of an answer.
const LONGEST_PART: usize = 12 * 1024;

/// All turns, or as many of the last ones as fit.
pub(crate) fn of(turns: &List<Turn>) -> String {
    let mut told = Vec::new();
    let mut room = LONGEST;
    for turn in turns.items().rev() {
        let mut text = retell(&turn.message, &turn.response_parts);
        if text.len() > room {
            // A turn that is longer than all there is room for is not left out
            // if it is the only one.
            if told.is_empty() {
                text.truncate(text.floor_char_boundary(room));
                told.push(text);
            }
            told.push("(There is more before this, which is left out.)".to_owned());
            break;
        }
        room -= text.len();
        told.push(text);
    }
    told.reverse();
    told.join("\n\n")
}

/// What a chat has to know that nobody said in it.
pub(crate) fn context(context: &ChatContext) -> String {
    match context {
        ChatContext::Own { turns, .. } => of(turns),
        ChatContext::Beside {
            turns,
            running,
            selection,
        } => {
            let mut told = of(turns);
            if let Some(running) = running {
                told.push_str("\n\n");
                let mut text = retell(&running.message, &running.response_parts);
                text.truncate(text.floor_char_boundary(LONGEST));
                told.push_str(&text);
            }
            if let Some(selection) = selection {
                told.push_str("\n\nWhat follows is about this part of it:\n\n");
                told.push_str(cut(selection));
            }
            told
        }
    }
}

/// What was said in a turn.
fn retell(message: &Message, parts: &List<ResponsePart>) -> String {
    let parts = parts.items().filter_map(|part| match part {
        ResponsePart::Markdown(part) => Some(cut(&part.content).to_owned()),
        ResponsePart::ToolCall(part) => did(&part.tool_call),
        ResponsePart::Error(part) => Some(format!("(It failed: {})", part.error.message)),
        ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Unknown(_) => None,
    });
    let answer = parts.collect::<Vec<_>>().join("\n\n");
    format!("User: {}\n\nAgent: {answer}", cut(&message.text))
}

/// What was done, in a line: what came of it can be looked at again.
fn did(call: &ToolCall) -> Option<String> {
    let (what, how) = match call {
        ToolCall::Completed(call) if call.result.success => {
            (&call.result.past_tense_message, "done")
        }
        ToolCall::Completed(call) => (&call.result.past_tense_message, "failed"),
        ToolCall::Cancelled(call) => (&call.parameters.invocation_message, "not done"),
        ToolCall::Running(call) => (&call.parameters.invocation_message, "not finished"),
        ToolCall::Streaming(_)
        | ToolCall::PendingConfirmation(_)
        | ToolCall::AuthRequired(_)
        | ToolCall::PendingResultConfirmation(_)
        | ToolCall::Unknown(_) => return None,
    };
    Some(format!("[{how}: {}]", cut(what.as_str())))
}

fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(LONGEST_PART);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use agenthost_protocol::wire;
    use expect_test::expect;

    use super::*;

    fn turn(message: &str, answer: &str) -> Turn {
        let parts = serde_json::json!([
            {"kind": "reasoning", "id": "1", "content": "a thought"},
            {"kind": "markdown", "id": "2", "content": answer},
        ]);
        let turn = serde_json::json!({
            "id": "t", "message": {"text": message, "origin": {"kind": "user"}},
            "responseParts": parts, "state": "complete", "startedAt": "2026-01-05T09:00:00Z",
            "duration": 0,
        });
        wire::from_str(&turn.to_string()).unwrap()
    }

    #[test]
    fn words_are_retold_and_thoughts_are_not() {
        let turns = [turn("hello", "hi"), turn("and now?", "lunch")];
        let turns = turns.into_iter().map(std::sync::Arc::new).collect();
        expect![[r"
            User: hello

            Agent: hi

            User: and now?

            Agent: lunch"]]
        .assert_eq(&of(&turns));
    }

    #[test]
    fn the_last_turns_count_most() {
        let long = "é".repeat(LONGEST);
        let turns: Vec<_> = (0..20)
            .map(|n| turn(&format!("{n} {long}"), &long))
            .collect();
        let turns = turns.into_iter().map(std::sync::Arc::new).collect();
        let told = of(&turns);
        assert!(told.len() < LONGEST + 100, "{}", told.len());
        assert!(told.starts_with("(There is more"));
        assert!(told.contains("User: 19 ") && told.contains("User: 18 "));
        assert!(!told.contains("User: 17 "));
    }
}
