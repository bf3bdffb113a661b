//! The inbox: open requests and unread results of all sessions.

use agenthost_protocol::chat::{ResponsePart, Turn};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::customizations::{CodeCard, TokenRequirement, required_tokens};
use crate::request::{ApprovalCard, ApprovalPhase, RequestCard, RequestOptionKind};
use crate::session_list::{SessionActivity, SessionEntry};
use crate::title::first_line;
use crate::visible_text::visible_order;

/// A session with the turn that ended last, if the client knows it.
#[derive(Debug, Clone, Copy)]
pub struct InboxEntry<'a> {
    /// The session as the client knows it.
    pub session: SessionEntry<'a>,
    /// Latest turn of its default chat that has ended.
    pub last_turn: Option<&'a Turn>,
    /// Tokens that the host has requested for the session.
    pub tokens: &'a [TokenRequirement],
}

/// The inbox over all sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxView {
    /// Open requests in the order of the sessions, then code that waits for approval and tokens
    /// that are required, then unread results.
    pub rows: Vec<InboxRow>,
    /// Groups of approvals that are alike.
    pub alike: Vec<InboxGroup>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxRow {
    /// Key of the row; that of the card if it is a request.
    pub key: String,
    /// URI of the session channel.
    pub session: Uri,
    pub session_title: String,
    /// Display name of the agent.
    pub agent: String,
    /// Path of the first working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Time of the last change of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The request or the result.
    #[serde(flatten)]
    pub item: InboxItem,
}

/// The content of a row of the inbox.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "item",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum InboxItem {
    /// A request that waits for the user.
    Request {
        /// The card with all information for an answer.
        card: RequestCard,
    },
    /// Code that waits for approval.
    Code {
        /// The container with the code.
        card: CodeCard,
    },
    /// A token that an agent or an MCP server of the session requires.
    Token { token: TokenRequirement },
    /// A session that has ended its work and was not read since.
    Finished {
        /// Turn that ended last, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// First line of the last answer, or the error.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// `true` if the turn or the session failed.
        failed: bool,
    },
}

/// Approvals that are alike: the same tool with the same arguments. Each keeps an answer of its
/// own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxGroup {
    /// Keys of at least two rows, in their order.
    pub keys: Vec<String>,
    /// The whole command or arguments that the cards share.
    pub label: String,
    /// Answers that all cards offer. Ids of options differ, so the label identifies an answer.
    pub answers: Vec<GroupAnswer>,
}

/// An answer that all cards of a group offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupAnswer {
    /// Label of the option on each card.
    pub label: String,
    /// Effect of the answer.
    pub kind: RequestOptionKind,
}

impl InboxView {
    /// Computes the inbox of all sessions. Archived sessions have no unread results. Code and
    /// tokens that several sessions wait for are listed once.
    pub fn compute<'a>(
        entries: impl IntoIterator<Item = InboxEntry<'a>>,
        agents: &[AgentInfo],
    ) -> Self {
        let mut requests = Vec::new();
        let mut finished = Vec::new();
        let mut pending = Vec::new();
        let mut asked = SortedSet::new();
        for entry in entries {
            let session = entry.session;
            let summary = session.summary;
            let row = |key: String, item| InboxRow {
                key,
                session: summary.resource.clone(),
                session_title: visible_order(&summary.metadata.title),
                agent: session.agent_name(agents),
                folder: session.folder().as_deref().map(visible_order),
                at: Some(summary.modified_at.clone()),
                item,
            };
            let cards = session
                .state
                .map(|state| RequestCard::of_session(&summary.resource, state));
            for card in cards.into_iter().flatten() {
                let key = card.key().to_owned();
                if let RequestCard::SignIn(card) = &card {
                    asked.insert(token_key(&card.token));
                }
                requests.push(row(key, InboxItem::Request { card }));
            }
            let code = session.state.map(CodeCard::of_session).unwrap_or_default();
            for card in code {
                pending.push(row(format!("code {}", card.code), InboxItem::Code { card }));
            }
            let tokens = session.state.map(required_tokens).unwrap_or_default();
            for token in tokens.into_iter().chain(entry.tokens.iter().cloned()) {
                pending.push(row(token_key(&token), InboxItem::Token { token }));
            }
            if let Some(item) = finished_item(&entry) {
                finished.push(row(format!("finished {}", summary.resource), item));
            }
        }
        let alike = group_alike(&requests);
        pending.retain(|row| asked.insert(row.key.clone()));
        requests.append(&mut pending);
        requests.append(&mut finished);
        InboxView {
            rows: requests,
            alike,
        }
    }
}

fn token_key(token: &TokenRequirement) -> String {
    format!("token {}", token.resource)
}

/// Returns the unread result of a session; `None` while it works or waits.
fn finished_item(entry: &InboxEntry<'_>) -> Option<InboxItem> {
    let session = entry.session;
    // The title comes from the first message: a session without one has done nothing yet.
    let is_unused = session.summary.metadata.title.is_empty();
    if !session.is_unread() || session.is_archived() || is_unused {
        return None;
    }
    let failed = match session.activity() {
        SessionActivity::Idle => false,
        SessionActivity::Error => true,
        SessionActivity::Running | SessionActivity::Waiting | SessionActivity::Creating => {
            return None;
        }
    };
    Some(InboxItem::Finished {
        turn_id: entry.last_turn.map(|turn| turn.id.clone()),
        text: entry.last_turn.and_then(last_words),
        failed,
    })
}

/// Returns the first line of the last answer of a turn, or its error.
pub(crate) fn last_words(turn: &Turn) -> Option<String> {
    let mut parts = turn.response_parts.items().rev();
    parts.find_map(|part| {
        let text = match part {
            ResponsePart::Markdown(text) => first_line(&text.content),
            ResponsePart::Error(error) => first_line(&error.error.message),
            ResponsePart::ContentRef(_)
            | ResponsePart::ToolCall(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::SystemNotification(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Unknown(_) => return None,
        };
        (!text.is_empty()).then(|| visible_order(text))
    })
}

/// Returns the groups of approvals that show the same: tool, arguments, folder, title and all
/// other text.
/// Approvals without arguments and approvals of edits are never alike: each needs a look of its
/// own.
fn group_alike(rows: &[InboxRow]) -> Vec<InboxGroup> {
    let mut groups: Vec<Vec<&ApprovalCard>> = Vec::new();
    for row in rows {
        let InboxItem::Request {
            card: RequestCard::Approval(card),
        } = &row.item
        else {
            continue;
        };
        let has_arguments = card.command.is_some() || card.input.is_some();
        if !has_arguments
            || card.phase != ApprovalPhase::Call
            || !card.edits.is_empty()
            || card.truncated
        {
            continue;
        }
        let mut all = groups.iter_mut();
        match all.find(|group| group.first().is_some_and(|first| is_alike(first, card))) {
            Some(group) => group.push(card),
            None => groups.push(vec![card]),
        }
    }
    let groups = groups.into_iter().filter(|cards| cards.len() > 1);
    groups.filter_map(|cards| alike_group(&cards)).collect()
}

/// Returns `true` if two cards tell the user the same.
fn is_alike(one: &ApprovalCard, other: &ApprovalCard) -> bool {
    (&one.tool, &one.command, &one.input) == (&other.tool, &other.command, &other.input)
        && (&one.title, &one.details, &one.parameters)
            == (&other.title, &other.details, &other.parameters)
        && (&one.intention, &one.risk, &one.folder)
            == (&other.intention, &other.risk, &other.folder)
}

fn alike_group(cards: &[&ApprovalCard]) -> Option<InboxGroup> {
    let (first, others) = cards.split_first()?;
    let answers = first.options.iter().map(|option| GroupAnswer {
        label: option.label.clone(),
        kind: option.kind,
    });
    let is_offered = |card: &&&ApprovalCard, answer: &GroupAnswer| {
        let mut options = card.options.iter();
        options.any(|option| option.label == answer.label && option.kind == answer.kind)
    };
    let arguments = first.command.clone().or_else(|| first.input.clone());
    let common = answers.filter(|answer| others.iter().all(|card| is_offered(&card, answer)));
    Some(InboxGroup {
        keys: cards.iter().map(|card| card.key.clone()).collect(),
        label: arguments.unwrap_or_else(|| first.title.clone()),
        answers: common.collect(),
    })
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
