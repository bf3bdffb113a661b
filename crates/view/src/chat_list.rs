//! The chats of a session: tabs, and worker chats as a tree with their requests.

use agenthost_protocol::chat::{ChatInteractivity, ChatOrigin, ChatSummary};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::session::SessionState;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::request::RequestCard;
use crate::session_list::SessionActivity;
use crate::visible_text::visible_order;

/// Levels of worker chats that are shown as a tree.
const MAX_WORKER_DEPTH: usize = 16;

/// A chat of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatRow {
    /// URI of the chat channel.
    pub key: Uri,
    /// Title of the chat.
    pub title: String,
    pub origin: ChatRowOrigin,
    /// Chat that this one was made from, or whose tool call spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Uri>,
    /// Tool call that spawned the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<ToolCallId>,
    /// Level in the tree of workers; 0 for other chats.
    pub depth: usize,
    /// Activity of the chat.
    pub status: SessionActivity,
    /// Text about the current activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// `true` if the chat changed since the user has read it.
    pub unread: bool,
    /// `true` if the user can't send messages to the chat.
    pub read_only: bool,
    /// `true` if `moveChat` may move the chat.
    pub movable: bool,
    /// `true` if clients use this chat unless the user selects another one.
    pub is_default: bool,
    /// Number of open requests of the chat.
    pub waiting: usize,
    /// Open requests of the chat.
    pub requests: Vec<RequestCard>,
}

/// The origin of a chat, as clients show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChatRowOrigin {
    /// A user created the chat.
    User,
    /// A copy of another chat.
    Fork,
    /// A side chat with another chat as context.
    SideChat,
    /// A chat that a tool call spawned.
    Worker,
}

/// Returns the chats of a session in the order of the host, with workers below the chat that
/// spawned them. Hidden chats are left out.
pub fn chat_rows(uri: &Uri, session: &SessionState) -> Vec<ChatRow> {
    let mut requests = RequestCard::of_session(uri, session);
    let mut rest: Vec<_> = session
        .chats
        .items()
        .filter(|chat| chat.interactivity != Some(ChatInteractivity::Hidden))
        .map(|chat| chat_row(chat, session, &mut requests))
        .collect();
    let mut rows = Vec::with_capacity(rest.len());
    let keys: Vec<_> = rest.iter().map(|row| row.key.clone()).collect();
    let is_root = |row: &ChatRow| {
        let parent = row.parent.as_ref();
        row.origin != ChatRowOrigin::Worker || parent.is_none_or(|parent| !keys.contains(parent))
    };
    for root in rest.extract_if(.., |row| is_root(row)).collect::<Vec<_>>() {
        push_tree(root, 0, &mut rest, &mut rows);
    }
    // Workers that spawned each other are possible only in a malformed state.
    rows.append(&mut rest);
    rows
}

/// Returns `true` if a tool call spawned the chat.
pub(crate) fn is_worker(chat: &ChatSummary) -> bool {
    matches!(chat.origin, Some(ChatOrigin::Tool(_)))
}

fn push_tree(mut row: ChatRow, depth: usize, rest: &mut Vec<ChatRow>, rows: &mut Vec<ChatRow>) {
    row.depth = depth;
    let key = row.key.clone();
    rows.push(row);
    if depth >= MAX_WORKER_DEPTH {
        return;
    }
    let children = rest.extract_if(.., |row| row.parent.as_ref() == Some(&key));
    for child in children.collect::<Vec<_>>() {
        push_tree(child, depth + 1, rest, rows);
    }
}

fn chat_row(
    chat: &ChatSummary,
    session: &SessionState,
    requests: &mut Vec<RequestCard>,
) -> ChatRow {
    let (origin, parent, call_id) = match &chat.origin {
        Some(ChatOrigin::Fork(fork)) => (ChatRowOrigin::Fork, Some(fork.chat.clone()), None),
        Some(ChatOrigin::SideChat(side)) => {
            (ChatRowOrigin::SideChat, Some(side.chat.clone()), None)
        }
        Some(ChatOrigin::Tool(tool)) => (
            ChatRowOrigin::Worker,
            Some(tool.chat.clone()),
            Some(tool.tool_call_id.clone()),
        ),
        Some(ChatOrigin::User | ChatOrigin::Unknown(_)) | None => (ChatRowOrigin::User, None, None),
    };
    let own = requests.extract_if(.., |card| *card.chat() == chat.resource);
    let requests: Vec<_> = own.collect();
    ChatRow {
        key: chat.resource.clone(),
        title: visible_order(&chat.title),
        origin,
        parent,
        call_id,
        depth: 0,
        status: SessionActivity::of_status(chat.status),
        activity: chat
            .activity
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(visible_order),
        unread: !chat.status.contains(SessionStatus::IS_READ),
        read_only: chat.interactivity == Some(ChatInteractivity::ReadOnly),
        movable: chat.movable == Some(true),
        is_default: session.default_chat.as_ref() == Some(&chat.resource),
        waiting: requests.len(),
        requests,
    }
}

#[cfg(test)]
#[path = "chat_list_tests.rs"]
mod tests;
