//! "Since you were away": the differences between two states of the same chats.

use std::collections::{HashMap, HashSet};

use agenthost_protocol::chat::{
    CancellationReason, ChatState, ConfirmationReason, ResponsePart, ToolCall, ToolResultContent,
    TurnState,
};
use agenthost_protocol::ids::{ClientId, ToolCallId, TurnId};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::file_edit::EditSummary;
use crate::inbox::last_words;
use crate::timeline::{TurnOutcome, answering_client, answering_client_id};
use crate::title::plain_title;
use crate::usage::{CostAmount, CostSum};

/// A chat at two times.
#[derive(Debug, Clone, Copy)]
pub struct AwayChat<'a> {
    /// State that the user saw last; `None` if the chat is new.
    pub before: Option<&'a ChatState>,
    /// State of the chat now.
    pub after: &'a ChatState,
}

/// The events between two states.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwayDigest {
    /// Turns that have ended.
    pub turns: Vec<AwayTurn>,
    /// Requests that other clients have answered.
    pub answers: Vec<AwayAnswer>,
    /// Paths of files that were edited, sorted.
    pub files: Vec<String>,
    /// Cost of the turns as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwayTurn {
    /// URI of the chat channel.
    pub chat: Uri,
    pub turn_id: TurnId,
    pub state: TurnOutcome,
    /// First line of the last answer, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A request that a client has answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwayAnswer {
    /// URI of the chat channel.
    pub chat: Uri,
    /// Turn with the tool call.
    pub turn_id: TurnId,
    pub call_id: ToolCallId,
    /// Title of the tool call.
    pub title: String,
    /// `true` if the call was approved.
    pub approved: bool,
    /// Name of the client that answered, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl AwayDigest {
    /// Compares two states of each chat. Answers of the client `own_id` are left out.
    pub fn compare<'a>(chats: impl IntoIterator<Item = AwayChat<'a>>, own_id: &ClientId) -> Self {
        let mut digest = AwayDigest::default();
        let mut files = SortedSet::new();
        let mut costs = CostSum::default();
        for chat in chats {
            digest.add_turns(&chat);
            let known = chat.before.into_iter();
            let known: HashMap<_, _> = known.flat_map(|before| calls_of(before, 0)).collect();
            for (key, call) in calls_of(chat.after, chat.first_turn()) {
                let before = known.get(&key).copied();
                if before != Some(call) {
                    let seen: SortedSet<_> = before.into_iter().flat_map(edited_paths).collect();
                    files.extend(edited_paths(call).filter(|path| !seen.contains(path)));
                    digest.add_answer(chat.after, key, before, call, own_id);
                }
            }
            if let Some(after) = total_cost(chat.after) {
                let before = chat.before.and_then(total_cost);
                let cost = after.since(before.as_ref());
                if cost.amount > 0.0 {
                    costs.add(cost);
                }
            }
        }
        digest.files = files.into_iter().collect();
        digest.cost = costs.to_text();
        digest
    }

    /// Returns `true` if nothing happened.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.answers.is_empty()
            && self.files.is_empty()
            && self.cost.is_none()
    }

    fn add_turns(&mut self, chat: &AwayChat<'_>) {
        let known = chat
            .before
            .into_iter()
            .flat_map(|before| before.turns.items());
        let known: HashSet<_> = known.map(|turn| &turn.id).collect();
        let ended = chat.after.turns.items();
        let ended = ended.skip(chat.first_turn());
        for turn in ended.filter(|turn| !known.contains(&turn.id)) {
            self.turns.push(AwayTurn {
                chat: chat.after.summary.resource.clone(),
                turn_id: turn.id.clone(),
                state: match turn.state {
                    TurnState::Complete => TurnOutcome::Complete,
                    TurnState::Cancelled => TurnOutcome::Cancelled,
                    TurnState::Error => TurnOutcome::Error,
                },
                text: last_words(turn),
            });
        }
    }

    fn add_answer(
        &mut self,
        chat: &ChatState,
        (turn, id): CallKey<'_>,
        before: Option<&ToolCall>,
        call: &ToolCall,
        own_id: &ClientId,
    ) {
        let (Some(approved), None) = (answer_of(call), before.and_then(answer_of)) else {
            return;
        };
        let meta = call.head().and_then(|head| head.meta.as_ref());
        if answering_client_id(meta) == Some(own_id.as_str()) {
            return;
        }
        self.answers.push(AwayAnswer {
            chat: chat.summary.resource.clone(),
            turn_id: turn.clone(),
            call_id: id.clone(),
            title: title_of(call),
            approved,
            by: answering_client(meta),
        });
    }
}

type CallKey<'a> = (&'a TurnId, &'a ToolCallId);

impl AwayChat<'_> {
    /// Returns the position of the first turn that can be new. Turns before the oldest one that
    /// the user saw were loaded later.
    fn first_turn(&self) -> usize {
        let oldest = self.before.and_then(|before| before.turns.item(0));
        let position = oldest.and_then(|oldest| self.after.turns.find(|turn| turn.id == oldest.id));
        position.unwrap_or(0)
    }
}

/// Returns all tool calls of a chat from a turn on.
fn calls_of(chat: &ChatState, first_turn: usize) -> impl Iterator<Item = (CallKey<'_>, &ToolCall)> {
    let ended = chat.turns.items().skip(first_turn);
    let ended = ended.map(|turn| (&turn.id, &turn.response_parts));
    let active = chat.active_turn.iter();
    let active = active.map(|turn| (&turn.id, &*turn.response_parts));
    ended.chain(active).flat_map(|(turn, parts)| {
        let calls = parts.items().filter_map(ResponsePart::as_tool_call);
        calls.filter_map(move |call| Some(((turn, &call.head()?.tool_call_id), call)))
    })
}

/// Returns the decision of a user about a call: `true` if it was approved.
fn answer_of(call: &ToolCall) -> Option<bool> {
    let approval = match call {
        ToolCall::Running(call) => &call.approval,
        ToolCall::AuthRequired(call) => &call.approval,
        ToolCall::PendingResultConfirmation(call) => &call.approval,
        ToolCall::Completed(call) => &call.approval,
        ToolCall::Cancelled(call) => {
            return match call.reason {
                CancellationReason::Denied | CancellationReason::ResultDenied => Some(false),
                CancellationReason::Skipped => None,
            };
        }
        ToolCall::Streaming(_) | ToolCall::PendingConfirmation(_) | ToolCall::Unknown(_) => {
            return None;
        }
    };
    match approval.confirmed {
        ConfirmationReason::UserAction => Some(true),
        ConfirmationReason::NotNeeded
        | ConfirmationReason::Setting
        | ConfirmationReason::Unknown(_) => None,
    }
}

fn title_of(call: &ToolCall) -> String {
    let parameters = match call {
        ToolCall::PendingConfirmation(call) => &call.parameters,
        ToolCall::Running(call) => &call.parameters,
        ToolCall::AuthRequired(call) => &call.parameters,
        ToolCall::PendingResultConfirmation(call) => &call.parameters,
        ToolCall::Completed(call) => &call.parameters,
        ToolCall::Cancelled(call) => &call.parameters,
        ToolCall::Streaming(_) | ToolCall::Unknown(_) => return String::new(),
    };
    plain_title(&parameters.invocation_message)
}

fn edited_paths(call: &ToolCall) -> impl Iterator<Item = String> {
    call.content().iter().filter_map(|block| match block {
        ToolResultContent::FileEdit(edit) => Some(EditSummary::of_edit(edit).path),
        ToolResultContent::Text(_)
        | ToolResultContent::EmbeddedResource(_)
        | ToolResultContent::Resource(_)
        | ToolResultContent::Terminal(_)
        | ToolResultContent::Subagent(_)
        | ToolResultContent::Unknown(_) => None,
    })
}

/// Returns the running total of the costs of a chat.
fn total_cost(chat: &ChatState) -> Option<CostAmount> {
    let active = chat.active_turn.as_ref().map(|turn| turn.usage.as_ref());
    let ended = chat.turns.items().rev().map(|turn| turn.usage.as_ref());
    let usages = active.into_iter().chain(ended).flatten();
    let mut totals = usages.filter_map(CostAmount::of_usage);
    totals.next()
}

#[cfg(test)]
#[path = "away_tests.rs"]
mod tests;
