//! Lines about tool calls and about the end of a turn.

use agenthost_protocol::chat::{
    ChatState, ResponsePart, ToolCall, ToolCallParameters, ToolCallTarget, ToolInput,
    ToolResultContent,
};
use agenthost_protocol::common::UsageInfo;
use agenthost_protocol::number::Millis;
use agenthost_view::request::call_command;
use agenthost_view::title::plain_title;
use agenthost_view::usage::{CostAmount, UsageRow};

use super::PrinterMode;
use crate::dialog::note::NoteLine;
use crate::terminal::palette::Role;

/// The tool name of calls that show the plan of the agent.
const PLAN_TOOL_NAME: &str = "update_plan";

/// The tool name of calls with which the host reports files that have changed.
const SURVEY_TOOL_NAME: &str = "changes";

/// Maximum number of characters of the line of a tool call.
const MAX_CALL_CHARS: usize = 200;

/// Returns the line of a tool call; `None` if the message of the user says the same, or if the
/// call is a plan.
pub(super) fn call_line(chat: &ChatState, target: &ToolCallTarget) -> Option<NoteLine> {
    let call = find_call(chat, target)?;
    let head = call.head()?;
    // The plan is printed at the end, and `agenthost diff` prints changed files.
    if [PLAN_TOOL_NAME, SURVEY_TOOL_NAME].contains(&head.tool_name.as_str()) {
        return None;
    }
    let parameters = parameters_of(call)?;
    let command = call_command(head, parameters);
    let message = chat.active_turn.as_ref().map(|turn| &turn.message.text);
    let typed = message.map(|text| text.trim().trim_start_matches('!').trim());
    let input = match &parameters.tool_input {
        Some(ToolInput::Inline(input)) => Some(input.trim()),
        Some(ToolInput::Referenced(_)) | None => None,
    };
    if input.is_some() && input == typed {
        return None;
    }
    let text = match command {
        Some(command) => format!("$ {command}"),
        None => format!("- {}", plain_title(&parameters.invocation_message)),
    };
    let first = text.lines().next().unwrap_or_default();
    let mut line: String = first.chars().take(MAX_CALL_CHARS).collect();
    if line.len() < text.len() {
        line.push('…');
    }
    Some(NoteLine::styled(Role::Faint, line))
}

/// Returns the text of the plan of a tool call; `None` if the call is no plan.
pub(super) fn plan_of(chat: &ChatState, target: &ToolCallTarget) -> Option<String> {
    let call = find_call(chat, target)?;
    if call.head()?.tool_name != PLAN_TOOL_NAME {
        return None;
    }
    let [ToolResultContent::Text(content)] = call.content() else {
        return None;
    };
    Some(content.text.clone())
}

fn find_call<'a>(chat: &'a ChatState, target: &ToolCallTarget) -> Option<&'a ToolCall> {
    let find = |part: &'a ResponsePart| match part {
        ResponsePart::ToolCall(part) => {
            let is_it = part.tool_call.head()?.tool_call_id == target.tool_call_id;
            is_it.then_some(&part.tool_call)
        }
        _ => None,
    };
    // The turn may have ended since the action, because the state is ahead of the updates.
    let active = chat.active_turn.as_ref();
    let active = active.filter(|turn| turn.id == target.turn_id);
    match active {
        Some(turn) => turn.response_parts.items().find_map(find),
        None => {
            let last = chat.turns.last_item();
            let last = last.filter(|turn| turn.id == target.turn_id)?;
            last.response_parts.items().find_map(find)
        }
    }
}

fn parameters_of(call: &ToolCall) -> Option<&ToolCallParameters> {
    match call {
        ToolCall::PendingConfirmation(call) => Some(&call.parameters),
        ToolCall::Running(call) => Some(&call.parameters),
        ToolCall::AuthRequired(call) => Some(&call.parameters),
        ToolCall::PendingResultConfirmation(call) => Some(&call.parameters),
        ToolCall::Completed(call) => Some(&call.parameters),
        ToolCall::Cancelled(call) => Some(&call.parameters),
        ToolCall::Streaming(_) | ToolCall::Unknown(_) => None,
    }
}

/// Returns the line at the end of a turn: its usage, and in a session also its duration.
pub(super) fn turn_summary(
    mode: PrinterMode,
    duration: Option<Millis>,
    usage: Option<&UsageInfo>,
) -> Option<NoteLine> {
    let mut facts: Vec<String> = Vec::new();
    let row = usage.map(|usage| {
        // The running total of the chat, because one turn is all that is known here.
        let total = CostAmount::of_usage(usage);
        UsageRow::of_turn(
            usage,
            total.as_ref().filter(|_| mode == PrinterMode::OneTurn),
        )
    });
    if let (PrinterMode::Session, Some(duration)) = (mode, duration) {
        facts.push(duration_text(duration));
    }
    if let Some(row) = row {
        facts.extend(row.model);
        facts.extend(row.input_tokens.map(|count| format!("{count} tokens in")));
        facts.extend(row.output_tokens.map(|count| format!("{count} out")));
        facts.extend(row.cost);
    }
    let facts = facts.join(", ");
    match mode {
        PrinterMode::OneTurn if facts.is_empty() => None,
        PrinterMode::OneTurn => Some(NoteLine::styled(Role::Faint, facts)),
        PrinterMode::Session => Some(NoteLine::styled(Role::Faint, format!("-- done: {facts}"))),
    }
}

/// Returns a duration as people say it.
fn duration_text(duration: Millis) -> String {
    let millis = duration.0.max(0);
    let seconds = millis / 1_000;
    match seconds {
        0..10 => format!("{}.{} s", seconds, millis % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let texts =
            [0, 1_260, 59_999, 61_000, 7_380_000].map(|millis| duration_text(Millis(millis)));
        assert_eq!(texts, ["0.0 s", "1.2 s", "59 s", "1 min 1 s", "2 h 3 min"]);
    }
}
