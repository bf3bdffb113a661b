//! Asks the user to approve tool calls and the use of their results.

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ConfirmationOption, ConfirmationOptionKind, ConfirmationReason,
    RiskAssessment, ToolCallConfirmed, ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation, ToolCallResultConfirmed, ToolCallTarget, ToolInput,
};
use agenthost_protocol::text::MaybeMarkdown;

use agenthost_view::request::{RequestScope, call_command};
use serde_json::Value;

use super::form::parse_yes_no;
use super::note::NoteLine;
use crate::output::shorten_home;
use crate::terminal::palette::{Role, patch_role};

/// Maximum number of lines of an argument that are printed.
const MAX_ARGUMENT_LINES: usize = 40;

/// The indentation of a command, a diff and arguments.
const INDENT: &str = "  ";

/// A prompt to approve a tool call before it runs.
#[derive(PartialEq)]
pub(crate) struct ToolConfirmation {
    target: ToolCallTarget,
    lines: Vec<NoteLine>,
    options: Vec<ConfirmationOption>,
}

impl ToolConfirmation {
    pub(crate) fn new(
        target: ToolCallTarget,
        call: &ToolCallPendingConfirmation,
        scope: Option<&RequestScope>,
    ) -> Self {
        let mut lines = describe_call(call);
        if let Some(intention) = &call.head.intention {
            lines.push(NoteLine::plain(format!("{INDENT}{intention}")));
        }
        let folder = scope.and_then(|scope| scope.folder.as_deref());
        if let Some(folder) = folder {
            let folder = format!("{INDENT}in {}", shorten_home(folder));
            lines.push(NoteLine::styled(Role::Faint, folder));
        }
        if let Some(worker) = scope.and_then(|scope| scope.worker.as_deref()) {
            let worker = format!("{INDENT}for the worker {worker}");
            lines.push(NoteLine::styled(Role::Faint, worker));
        }
        if let Some(RiskAssessment::Complete(risk)) = &call.question.risk_assessment {
            let reason = to_plain_text(&risk.reason);
            let reason = reason.lines().map(|line| format!("{INDENT}risk: {line}"));
            lines.extend(reason.map(|line| NoteLine::styled(Role::Warning, line)));
        }
        ToolConfirmation {
            target,
            lines,
            options: call.question.options.clone().unwrap_or_default(),
        }
    }

    /// Returns the tool call that waits.
    pub(crate) fn target(&self) -> &ToolCallTarget {
        &self.target
    }

    pub(crate) fn prompt(&self) -> Vec<NoteLine> {
        let numbered = self.options.iter().enumerate();
        let choices: Vec<_> = numbered
            .map(|(index, option)| format!("{}) {}", index + 1, option.label))
            .collect();
        let choices = if choices.is_empty() {
            "y) Allow   n) Deny".to_owned()
        } else {
            format!("{}   (or y, n)", choices.join("   "))
        };
        let mut lines = self.lines.clone();
        lines.push(NoteLine::plain(choices));
        lines
    }

    pub(crate) fn parse_answer(&self, line: &str) -> Option<ChatAction> {
        match parse_yes_no(line) {
            Some(true) => return Some(self.approve()),
            Some(false) => return Some(self.deny()),
            None => {}
        }
        let index: usize = line.parse().ok()?;
        let chosen = self.options.get(index.checked_sub(1)?)?;
        let approved = chosen.kind == ConfirmationOptionKind::Approve;
        Some(self.to_action(Some(chosen), approved))
    }

    pub(crate) fn approve(&self) -> ChatAction {
        self.to_action(self.find_option(ConfirmationOptionKind::Approve), true)
    }

    pub(crate) fn deny(&self) -> ChatAction {
        self.to_action(self.find_option(ConfirmationOptionKind::Deny), false)
    }

    fn find_option(&self, kind: ConfirmationOptionKind) -> Option<&ConfirmationOption> {
        self.options.iter().find(|option| option.kind == kind)
    }

    fn to_action(&self, chosen: Option<&ConfirmationOption>, approved: bool) -> ChatAction {
        ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
            target: self.target.clone(),
            approved,
            confirmed: approved.then_some(ConfirmationReason::UserAction),
            reason: (!approved).then_some(CancellationReason::Denied),
            edited_tool_input: None,
            user_suggestion: None,
            reason_message: None,
            selected_option_id: chosen.map(|option| option.id.clone()),
        }))
    }
}

/// Describes a tool call: its command line, its diff, or its arguments.
fn describe_call(call: &ToolCallPendingConfirmation) -> Vec<NoteLine> {
    let title = call.question.confirmation_title.as_ref();
    let title = title.map_or(call.head.display_name.as_str(), |title| title.as_str());
    if let Some(command) = call_command(&call.head, &call.parameters) {
        return describe_command(title, command.trim_end());
    }
    let message = &call.parameters.invocation_message;
    let edits = call.question.edits.as_ref();
    if edits.is_some_and(|edits| !edits.items.is_empty()) {
        // The message contains the diff.
        return message_lines(message);
    }
    let text = to_plain_text(message);
    let mut lines = match &call.parameters.tool_input {
        Some(ToolInput::Inline(input)) if !input.starts_with('{') => {
            return describe_command(title, input);
        }
        _ if text.starts_with(title) => message_lines(message),
        _ => {
            let mut lines = vec![NoteLine::styled(Role::Strong, title)];
            let message = message_lines(message).into_iter();
            lines.extend(message.map(|line| NoteLine::plain(INDENT).append(line)));
            lines
        }
    };
    match &call.parameters.tool_input {
        Some(ToolInput::Inline(input)) => lines.extend(argument_lines(input)),
        Some(ToolInput::Referenced(content)) => {
            let size = "its arguments are too large to print";
            lines.push(NoteLine::plain(format!("{INDENT}{size}: {}", content.uri)));
        }
        None => {}
    }
    lines
}

/// Returns the title and the whole command line, in one line if possible.
fn describe_command(title: &str, command: &str) -> Vec<NoteLine> {
    if !command.contains('\n') {
        return vec![NoteLine::styled(Role::Strong, title).text(format!(": {command}"))];
    }
    let mut lines = vec![NoteLine::styled(Role::Strong, format!("{title}:"))];
    let command = command.lines().map(|line| format!("{INDENT}{line}"));
    lines.extend(command.map(NoteLine::plain));
    lines
}

/// Returns the arguments of a call as one line for each, without the syntax of JSON.
fn argument_lines(input: &str) -> Vec<NoteLine> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        let lines = input.lines().map(|line| format!("{INDENT}{line}"));
        return lines.map(NoteLine::plain).collect();
    };
    let mut lines = Vec::new();
    for (name, value) in arguments {
        let name = format!("{INDENT}{name}: ");
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let count = text.lines().count();
        if count <= 1 {
            lines.push(NoteLine::styled(Role::Faint, name).text(text.trim_end()));
            continue;
        }
        lines.push(NoteLine::styled(Role::Faint, name.trim_end()));
        let shown = text.lines().take(MAX_ARGUMENT_LINES);
        lines.extend(shown.map(|line| NoteLine::plain(format!("{INDENT}{INDENT}{line}"))));
        if count > MAX_ARGUMENT_LINES {
            let more = count - MAX_ARGUMENT_LINES;
            let note = format!("{INDENT}{INDENT}… {more} more lines");
            lines.push(NoteLine::styled(Role::Faint, note));
        }
    }
    lines
}

/// Returns the lines of a message: code as it is, a diff in its colors, other text without
/// Markdown escapes. The first line is its title.
fn message_lines(message: &MaybeMarkdown) -> Vec<NoteLine> {
    let MaybeMarkdown::Markdown(markdown) = message else {
        return message.as_str().lines().map(NoteLine::plain).collect();
    };
    let mut fence: Option<String> = None;
    let mut lines: Vec<NoteLine> = Vec::new();
    for line in markdown.lines() {
        if let Some(language) = line.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(language.trim().to_owned()),
            };
        } else if let Some(language) = &fence {
            lines.push(match patch_role(line).filter(|_| language == "diff") {
                Some(role) => NoteLine::styled(role, line),
                None => NoteLine::plain(line),
            });
        } else if lines.is_empty() {
            lines.push(NoteLine::styled(Role::Strong, unescape_markdown(line)));
        } else {
            lines.push(NoteLine::plain(unescape_markdown(line)));
        }
    }
    lines
}

/// Converts a message to plain text: removes code fences and Markdown escapes.
fn to_plain_text(message: &MaybeMarkdown) -> String {
    let MaybeMarkdown::Markdown(markdown) = message else {
        return message.as_str().to_owned();
    };
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            lines.push(line.to_owned());
        } else {
            lines.push(unescape_markdown(line));
        }
    }
    lines.join("\n")
}

fn unescape_markdown(line: &str) -> String {
    let mut letters = line.chars().peekable();
    let mut plain = String::with_capacity(line.len());
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation);
        plain.push(if escapes {
            letters.next().unwrap_or(letter)
        } else {
            letter
        });
    }
    plain
}

/// A prompt to approve that the agent uses the result of a tool call.
#[derive(PartialEq)]
pub(crate) struct ResultConfirmation {
    target: ToolCallTarget,
    text: String,
}

impl ResultConfirmation {
    pub(crate) fn new(target: ToolCallTarget, call: &ToolCallPendingResultConfirmation) -> Self {
        let done = call.result.past_tense_message.as_str();
        ResultConfirmation {
            target,
            text: format!(
                "{}: {done}. May the agent see the result?",
                call.head.display_name
            ),
        }
    }

    pub(crate) fn prompt(&self) -> Vec<NoteLine> {
        let text = self.text.lines().map(NoteLine::plain);
        text.chain([NoteLine::plain("y) Yes   n) No")]).collect()
    }

    pub(crate) fn parse_answer(&self, line: &str) -> Option<ChatAction> {
        parse_yes_no(line).map(|approved| self.to_action(approved))
    }

    pub(crate) fn to_action(&self, approved: bool) -> ChatAction {
        ChatAction::ToolCallResultConfirmed(ToolCallResultConfirmed {
            target: self.target.clone(),
            approved,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_shown_as_text() {
        let message = "Edit \\_\\_init\\_\\_.py\n\n```diff\n-a\\_\n+b\n```";
        let message = MaybeMarkdown::Markdown(message.to_owned());
        assert_eq!(to_plain_text(&message), "Edit __init__.py\n\n-a\\_\n+b");
        let message = MaybeMarkdown::Plain("a\\_b".to_owned());
        assert_eq!(to_plain_text(&message), "a\\_b");
    }
}
