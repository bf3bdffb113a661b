//! Renders the turns of a chat as text for an agent session that does not contain them.

use agenthost_core::agent::ChatContext;
use agenthost_protocol::chat::{Message, ResponsePart, ToolCall, Turn};
use agenthost_protocol::list::List;

/// The maximum size of a transcript in bytes. The latest turns take precedence.
const MAX_TRANSCRIPT_BYTES: usize = 64 * 1024;

/// The maximum size in bytes of one message, or of one part of a response.
const MAX_TRANSCRIPT_PART_BYTES: usize = 12 * 1024;

/// Renders all turns, or as many of the last ones as fit.
pub(crate) fn render_history(turns: &List<Turn>) -> String {
    let mut rendered = Vec::new();
    let mut budget = MAX_TRANSCRIPT_BYTES;
    for turn in turns.items().rev() {
        let mut text = render_turn(&turn.message, &turn.response_parts);
        if text.len() > budget {
            // A single turn that exceeds the budget is truncated, not left out.
            if rendered.is_empty() {
                text.truncate(text.floor_char_boundary(budget));
                rendered.push(text);
            }
            rendered.push("(There is more before this, which is left out.)".to_owned());
            break;
        }
        budget -= text.len();
        rendered.push(text);
    }
    rendered.reverse();
    rendered.join("\n\n")
}

/// Renders the context of a chat that is no part of its own conversation.
pub(crate) fn render_context(context: &ChatContext) -> String {
    match context {
        ChatContext::History { turns, .. } => render_history(turns),
        ChatContext::SideChat {
            turns,
            running,
            selection,
        } => {
            let mut rendered = render_history(turns);
            if let Some(running) = running {
                rendered.push_str("\n\n");
                let mut text = render_turn(&running.message, &running.response_parts);
                text.truncate(text.floor_char_boundary(MAX_TRANSCRIPT_BYTES));
                rendered.push_str(&text);
            }
            if let Some(selection) = selection {
                rendered.push_str("\n\nWhat follows is about this part of it:\n\n");
                rendered.push_str(truncate_part(selection));
            }
            rendered
        }
    }
}

fn render_turn(message: &Message, parts: &List<ResponsePart>) -> String {
    let parts = parts.items().filter_map(|part| match part {
        ResponsePart::Markdown(part) => Some(truncate_part(&part.content).to_owned()),
        ResponsePart::ToolCall(part) => summarize_call(&part.tool_call),
        ResponsePart::Error(part) => Some(format!("(It failed: {})", part.error.message)),
        ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Unknown(_) => None,
    });
    let answer = parts.collect::<Vec<_>>().join("\n\n");
    format!("User: {}\n\nAgent: {answer}", truncate_part(&message.text))
}

/// Summarizes a tool call in one line, without its result: the agent can read the files again.
fn summarize_call(call: &ToolCall) -> Option<String> {
    let (message, outcome) = match call {
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
    Some(format!("[{outcome}: {}]", truncate_part(message.as_str())))
}

fn truncate_part(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_TRANSCRIPT_PART_BYTES);
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
    fn a_transcript_has_messages_and_no_reasoning() {
        let turns = [turn("hello", "hi"), turn("and now?", "lunch")];
        let turns = turns.into_iter().map(std::sync::Arc::new).collect();
        expect![[r"
            User: hello

            Agent: hi

            User: and now?

            Agent: lunch"]]
        .assert_eq(&render_history(&turns));
    }

    #[test]
    fn a_long_transcript_keeps_the_last_turns() {
        let long = "é".repeat(MAX_TRANSCRIPT_BYTES);
        let turns: Vec<_> = (0..20)
            .map(|n| turn(&format!("{n} {long}"), &long))
            .collect();
        let turns = turns.into_iter().map(std::sync::Arc::new).collect();
        let rendered = render_history(&turns);
        assert!(
            rendered.len() < MAX_TRANSCRIPT_BYTES + 100,
            "{}",
            rendered.len()
        );
        assert!(rendered.starts_with("(There is more"));
        assert!(rendered.contains("User: 19 ") && rendered.contains("User: 18 "));
        assert!(!rendered.contains("User: 17 "));
    }
}
