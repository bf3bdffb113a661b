//! Whether a tool call may run, and whether its result may be used.

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ConfirmationOption, ConfirmationOptionKind, ConfirmationReason,
    ToolCallConfirmed, ToolCallPendingConfirmation, ToolCallPendingResultConfirmation,
    ToolCallResultConfirmed, ToolCallTarget, ToolInput,
};

use super::form::yes_or_no;

/// Asks whether a tool call may run.
#[derive(PartialEq)]
pub(super) struct Confirmation {
    target: ToolCallTarget,
    text: String,
    options: Vec<ConfirmationOption>,
}

impl Confirmation {
    pub(super) fn new(target: ToolCallTarget, call: &ToolCallPendingConfirmation) -> Self {
        let title = call.question.confirmation_title.as_ref();
        let title = title.map_or(call.head.display_name.as_str(), |title| title.as_str());
        let input = call.parameters.tool_input.as_ref();
        let input = input.and_then(|input| match input {
            ToolInput::Inline(text) => Some(text.as_str()),
            ToolInput::Referenced(_) => None,
        });
        let message = call.parameters.invocation_message.as_str();
        let what = input.unwrap_or(message);
        Confirmation {
            target,
            text: format!("{title}: {what}"),
            options: call.question.options.clone().unwrap_or_default(),
        }
    }

    pub(super) fn prompt(&self) -> (String, String) {
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

    pub(super) fn understand(&self, line: &str) -> Option<ChatAction> {
        match yes_or_no(line) {
            Some(true) => return Some(self.agree()),
            Some(false) => return Some(self.deny()),
            None => {}
        }
        let index: usize = line.parse().ok()?;
        let chosen = self.options.get(index.checked_sub(1)?)?;
        let approved = chosen.kind == ConfirmationOptionKind::Approve;
        Some(self.confirm(Some(chosen), approved))
    }

    pub(super) fn agree(&self) -> ChatAction {
        self.confirm(self.option(ConfirmationOptionKind::Approve), true)
    }

    pub(super) fn deny(&self) -> ChatAction {
        self.confirm(self.option(ConfirmationOptionKind::Deny), false)
    }

    fn option(&self, kind: ConfirmationOptionKind) -> Option<&ConfirmationOption> {
        self.options.iter().find(|option| option.kind == kind)
    }

    fn confirm(&self, chosen: Option<&ConfirmationOption>, approved: bool) -> ChatAction {
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

/// Asks whether the result of a tool call may be used.
#[derive(PartialEq)]
pub(super) struct ResultConfirmation {
    target: ToolCallTarget,
    text: String,
}

impl ResultConfirmation {
    pub(super) fn new(target: ToolCallTarget, call: &ToolCallPendingResultConfirmation) -> Self {
        let done = call.result.past_tense_message.as_str();
        ResultConfirmation {
            target,
            text: format!(
                "{}: {done}. May the agent see the result?",
                call.head.display_name
            ),
        }
    }

    pub(super) fn prompt(&self) -> (String, String) {
        (self.text.clone(), "y) Yes   n) No".to_owned())
    }

    pub(super) fn understand(&self, line: &str) -> Option<ChatAction> {
        yes_or_no(line).map(|approved| self.decide(approved))
    }

    pub(super) fn decide(&self, approved: bool) -> ChatAction {
        ChatAction::ToolCallResultConfirmed(ToolCallResultConfirmed {
            target: self.target.clone(),
            approved,
        })
    }
}
