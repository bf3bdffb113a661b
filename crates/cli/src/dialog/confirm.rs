//! Asks the user to approve tool calls and the use of their results.

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ConfirmationOption, ConfirmationOptionKind, ConfirmationReason,
    ToolCallConfirmed, ToolCallPendingConfirmation, ToolCallPendingResultConfirmation,
    ToolCallResultConfirmed, ToolCallTarget, ToolInput,
};
use agenthost_protocol::text::MaybeMarkdown;

use super::form::parse_yes_no;

/// A prompt to approve a tool call before it runs.
#[derive(PartialEq)]
pub(crate) struct ToolConfirmation {
    target: ToolCallTarget,
    text: String,
    options: Vec<ConfirmationOption>,
}

impl ToolConfirmation {
    pub(crate) fn new(target: ToolCallTarget, call: &ToolCallPendingConfirmation) -> Self {
        let title = call.question.confirmation_title.as_ref();
        let title = title.map_or(call.head.display_name.as_str(), |title| title.as_str());
        let input = call.parameters.tool_input.as_ref();
        let input = input.and_then(|input| match input {
            ToolInput::Inline(text) => Some(text.as_str()),
            ToolInput::Referenced(_) => None,
        });
        // Agents that send no arguments use an empty object.
        let input = input.filter(|input| *input != "{}");
        let message = to_plain_text(&call.parameters.invocation_message);
        let edits = call.question.edits.as_ref();
        let text = match input {
            // The message contains the diff.
            _ if edits.is_some_and(|edits| !edits.items.is_empty()) => message,
            Some(input) => format!("{title}: {input}"),
            None if message.starts_with(title) => message,
            None => format!("{title}: {message}"),
        };
        ToolConfirmation {
            target,
            text,
            options: call.question.options.clone().unwrap_or_default(),
        }
    }

    pub(crate) fn prompt(&self) -> (String, String) {
        let numbered = self.options.iter().enumerate();
        let choices: Vec<_> = numbered
            .map(|(index, option)| format!("{}) {}", index + 1, option.label))
            .collect();
        let choices = if choices.is_empty() {
            "y) Allow   n) Deny".to_owned()
        } else {
            format!("{}   (or y, n)", choices.join("   "))
        };
        (self.text.clone(), choices)
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

    pub(crate) fn prompt(&self) -> (String, String) {
        (self.text.clone(), "y) Yes   n) No".to_owned())
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
