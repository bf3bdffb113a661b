//! Asking the person at the terminal.

use std::collections::{BTreeSet, VecDeque};

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ChatState, ConfirmationOption, ConfirmationOptionKind,
    ConfirmationReason, ResponsePart, ToolCall, ToolCallConfirmed, ToolCallPendingConfirmation,
    ToolCallTarget, ToolInput,
};
use agenthost_protocol::ids::{ToolCallId, TurnId};

use crate::output;

/// Asks what tool calls wait for, one after the other.
#[derive(Default)]
pub(crate) struct Asker {
    asked: BTreeSet<(TurnId, ToolCallId)>,
    open: VecDeque<Question>,
    shown: bool,
}

struct Question {
    target: ToolCallTarget,
    text: String,
    choices: String,
    options: Vec<ConfirmationOption>,
}

/// What a line was.
pub(crate) enum Taken {
    /// An answer to the question that is open.
    Answer(ChatAction),
    /// Something else.
    Unclear,
}

impl Asker {
    /// Looks for what has to be asked, and for what was answered elsewhere:
    /// another client may be quicker.
    pub(crate) fn look(&mut self, chat: &ChatState) {
        let Some(turn) = &chat.active_turn else {
            self.open.clear();
            self.shown = false;
            return;
        };
        let mut waiting = BTreeSet::new();
        for part in turn.response_parts.items() {
            let ResponsePart::ToolCall(part) = part else {
                continue;
            };
            let ToolCall::PendingConfirmation(call) = &part.tool_call else {
                continue;
            };
            let id = &call.head.tool_call_id;
            waiting.insert(id.clone());
            if self.asked.insert((turn.id.clone(), id.clone())) {
                let target = ToolCallTarget {
                    turn_id: turn.id.clone(),
                    tool_call_id: id.clone(),
                    meta: None,
                };
                self.open.push_back(question(target, call));
            }
        }
        let first = |open: &VecDeque<Question>| {
            let first = open.front();
            first.map(|question| question.target.tool_call_id.clone())
        };
        let before = first(&self.open);
        self.open
            .retain(|open| waiting.contains(&open.target.tool_call_id));
        if before != first(&self.open) {
            self.shown = false;
        }
    }

    /// Whether a question is open.
    pub(crate) fn is_asking(&self) -> bool {
        !self.open.is_empty()
    }

    /// Says what is asked, once.
    pub(crate) fn prompt(&mut self) {
        if let (Some(question), false) = (self.open.front(), self.shown) {
            output::note(&question.text);
            output::note(&question.choices);
            self.shown = true;
        }
    }

    /// Takes a line for an answer, if it is one. If not, it is asked again.
    pub(crate) fn take(&mut self, line: &str) -> Taken {
        self.shown = false;
        let answer = self.open.front();
        match answer.and_then(|question| understand(question, line.trim())) {
            Some(answer) => {
                self.open.pop_front();
                Taken::Answer(answer)
            }
            None => Taken::Unclear,
        }
    }

    /// Agrees to the question that is open.
    pub(crate) fn agree(&mut self) -> Option<ChatAction> {
        let question = self.open.pop_front()?;
        let chosen = option(&question.options, ConfirmationOptionKind::Approve);
        Some(confirm(&question, chosen, true))
    }

    /// Denies what the question that is open asks for.
    pub(crate) fn deny(&mut self) -> Option<ChatAction> {
        let question = self.open.pop_front()?;
        let chosen = option(&question.options, ConfirmationOptionKind::Deny);
        Some(confirm(&question, chosen, false))
    }
}

fn question(target: ToolCallTarget, call: &ToolCallPendingConfirmation) -> Question {
    let title = call.question.confirmation_title.as_ref();
    let title = title.map_or(call.head.display_name.as_str(), |title| title.as_str());
    let options = call.question.options.clone().unwrap_or_default();
    let input = call.parameters.tool_input.as_ref();
    let input = input.and_then(|input| match input {
        ToolInput::Inline(text) => Some(text.as_str()),
        ToolInput::Referenced(_) => None,
    });
    let message = call.parameters.invocation_message.as_str();
    let what = input.unwrap_or(message);
    let choices: Vec<_> = options
        .iter()
        .enumerate()
        .map(|(index, option)| format!("{}) {}", index + 1, option.label))
        .collect();
    let choices = if choices.is_empty() {
        "y) Allow   n) Deny".to_owned()
    } else {
        format!("{}   (or y, n)", choices.join("   "))
    };
    Question {
        target,
        text: format!("{title}: {what}"),
        choices,
        options,
    }
}

fn understand(question: &Question, line: &str) -> Option<ChatAction> {
    let approve = option(&question.options, ConfirmationOptionKind::Approve);
    let deny = option(&question.options, ConfirmationOptionKind::Deny);
    match line.to_lowercase().as_str() {
        "y" | "yes" => return Some(confirm(question, approve, true)),
        "n" | "no" => return Some(confirm(question, deny, false)),
        _ => {}
    }
    let index: usize = line.parse().ok()?;
    let chosen = question.options.get(index.checked_sub(1)?)?;
    let approved = chosen.kind == ConfirmationOptionKind::Approve;
    Some(confirm(question, Some(chosen), approved))
}

fn option(
    options: &[ConfirmationOption],
    kind: ConfirmationOptionKind,
) -> Option<&ConfirmationOption> {
    options.iter().find(|option| option.kind == kind)
}

fn confirm(question: &Question, chosen: Option<&ConfirmationOption>, approved: bool) -> ChatAction {
    ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
        target: question.target.clone(),
        approved,
        confirmed: approved.then_some(ConfirmationReason::UserAction),
        reason: (!approved).then_some(CancellationReason::Denied),
        edited_tool_input: None,
        user_suggestion: None,
        reason_message: None,
        selected_option_id: chosen.map(|option| option.id.clone()),
    }))
}
