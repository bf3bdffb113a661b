//! Asking the person at the terminal.

use std::collections::{BTreeSet, VecDeque};

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ChatState, ConfirmationOption, ConfirmationOptionKind,
    ConfirmationReason, ResponsePart, ToolCall, ToolCallConfirmed, ToolCallPendingConfirmation,
    ToolCallTarget, ToolInput,
};
use agenthost_protocol::ids::ToolCallId;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::output;

/// Asks what tool calls wait for, one after the other.
pub(super) struct Asker {
    yes: bool,
    asked: BTreeSet<ToolCallId>,
    open: VecDeque<Question>,
    shown: bool,
    lines: Lines<BufReader<Stdin>>,
    ended: bool,
}

struct Question {
    target: ToolCallTarget,
    text: String,
    choices: String,
    options: Vec<ConfirmationOption>,
}

impl Asker {
    pub(super) fn new(yes: bool) -> Self {
        Asker {
            yes,
            asked: BTreeSet::new(),
            open: VecDeque::new(),
            shown: false,
            lines: BufReader::new(tokio::io::stdin()).lines(),
            ended: false,
        }
    }

    /// Looks for what has to be asked, and for what was answered elsewhere:
    /// another client may be quicker.
    pub(super) fn look(&mut self, chat: &ChatState) {
        let Some(turn) = &chat.active_turn else {
            self.open.clear();
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
            if self.asked.insert(id.clone()) {
                let target = ToolCallTarget {
                    turn_id: turn.id.clone(),
                    tool_call_id: id.clone(),
                    meta: None,
                };
                self.open.push_back(question(target, call));
            }
        }
        let head = self
            .open
            .front()
            .map(|open| open.target.tool_call_id.clone());
        self.open
            .retain(|open| waiting.contains(&open.target.tool_call_id));
        let now = self
            .open
            .front()
            .map(|open| open.target.tool_call_id.clone());
        if head != now {
            self.shown = false;
        }
    }

    /// The answer to the question that is open, if it comes. Waits forever if
    /// there is none. If waiting is given up, nothing is lost.
    pub(super) async fn answer(&mut self) -> Option<ChatAction> {
        let Some(question) = self.open.front() else {
            return std::future::pending().await;
        };
        if self.yes {
            let chosen = option(&question.options, ConfirmationOptionKind::Approve);
            let confirmed = confirm(question, chosen, true);
            self.open.pop_front();
            return Some(confirmed);
        }
        if !self.shown {
            output::note(&question.text);
            output::note(&question.choices);
            self.shown = true;
        }
        let line = if self.ended {
            None
        } else {
            self.lines.next_line().await.ok().flatten()
        };
        let Some(line) = line else {
            self.ended = true;
            output::note("nobody is here to agree, so it is denied; `--yes` agrees to everything");
            let chosen = option(&question.options, ConfirmationOptionKind::Deny);
            let confirmed = confirm(question, chosen, false);
            self.open.pop_front();
            return Some(confirmed);
        };
        let Some(confirmed) = understand(question, line.trim()) else {
            self.shown = false;
            return None;
        };
        self.open.pop_front();
        self.shown = false;
        Some(confirmed)
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
