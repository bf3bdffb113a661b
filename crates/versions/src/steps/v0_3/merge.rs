//! Merges the states of a session and a chat.

use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use super::StepV0_3;
use crate::chain::{VersionChain, downgrade_parts};
use crate::edit::{object_mut, remove_fields, set_default, set_field, take_object, text_field};
use crate::graph::PART_GRAPH;
use crate::state_source::TranslationContext;

/// Fields of a chat that are fields of the session in 0.3.
const CHAT_FIELDS: &[&str] = &[
    "turns",
    "activeTurn",
    "steeringMessage",
    "queuedMessages",
    "inputRequests",
];

/// Mask of the activity bits of a status. The other bits are flags.
const ACTIVITY_MASK: u64 = (1 << 5) - 1;
const IDLE: u64 = 1;
const ERROR: u64 = 1 << 1;
const IN_PROGRESS: u64 = 1 << 3;
const INPUT_NEEDED: u64 = 1 << 3 | 1 << 4;

/// Statuses of tool calls that wait for the user.
const WAITING_STATES: &[&str] = &["pending-confirmation", "pending-result-confirmation"];

/// Adds the fields of the mapped chat to its session.
pub(super) fn add_chat_to_session(
    context: &TranslationContext<'_>,
    session: &Uri,
    state: &mut Object,
) {
    let chat = context.chat_for_session(session);
    let mut chat = chat
        .and_then(|chat| downgrade_channel(context, &chat))
        .unwrap_or_default();
    let activity = chat_activity(&chat);
    remove_fields(state, &["chats", "defaultChat"]);
    move_chat_fields(&mut chat, state);
    let Some(summary) = object_mut(state, "summary") else {
        return;
    };
    if let (Some(flags), Some(activity)) = (status_bits(summary), activity) {
        set_field(summary, "status", flags & !ACTIVITY_MASK | activity);
    }
    for field in ["model", "agent"] {
        if let Some(chosen) = chat.shift_remove(field) {
            set_default(summary, field, chosen);
        }
    }
}

/// Converts a chat to a session, with the missing fields from the session of the chat.
pub(super) fn chat_to_session(context: &TranslationContext<'_>, address: &Uri, state: &mut Object) {
    let mut chat = std::mem::take(state);
    if let (Some(flags), Some(activity)) = (status_bits(&chat), chat_activity(&chat)) {
        set_field(&mut chat, "status", flags & !ACTIVITY_MASK | activity);
    }
    let owner = context.states.session_of(address);
    let mut session = owner
        .and_then(|owner| downgrade_channel(context, &owner))
        .unwrap_or_default();
    let mut summary = take_object(&mut session, "summary").unwrap_or_default();
    // These fields belong to the session as a whole.
    remove_fields(&mut summary, &["activity", "changes", "model", "agent"]);
    remove_fields(&mut session, &["chats", "defaultChat", "changesets"]);
    set_field(&mut summary, "resource", address.as_str());
    for field in [
        "title",
        "status",
        "activity",
        "model",
        "agent",
        "workingDirectory",
    ] {
        if let Some(own) = chat.shift_remove(field) {
            set_field(&mut summary, field, own);
        }
    }
    let modified = text_field(&chat, "modifiedAt").map(Timestamp::from);
    let modified = modified.and_then(|time| time.to_millis().ok());
    let modified = modified.map_or(0, |millis| millis.0);
    set_field(&mut summary, "modifiedAt", modified);
    set_default(&mut summary, "createdAt", modified);
    set_default(&mut summary, "provider", "");

    state.insert("summary".to_owned(), Json::Object(summary));
    state.extend(session);
    set_default(state, "lifecycle", "ready");
    move_chat_fields(&mut chat, state);
    if let Some(own) = chat.shift_remove("_meta") {
        set_field(state, "_meta", own);
    }
}

/// Returns the state of a channel in the 0.4 encoding, with its parts in the 0.3 encoding.
fn downgrade_channel(context: &TranslationContext<'_>, channel: &Uri) -> Option<Object> {
    let state = context.states.state(channel)?;
    let mut resource = channel.to_string();
    let newer =
        VersionChain::for_release(Release::V0_4).downgrade_state(context, &mut resource, &state);
    let mut looked = newer.ok()??;
    downgrade_parts(
        &StepV0_3,
        context,
        PART_GRAPH.state_node(state.kind()),
        &mut looked,
    );
    Some(looked)
}

fn move_chat_fields(chat: &mut Object, state: &mut Object) {
    for field in CHAT_FIELDS {
        if let Some(part) = chat.shift_remove(*field) {
            set_field(state, field, part);
        }
    }
    set_default(state, "turns", Json::Array(Vec::new()));
}

fn status_bits(summary: &Object) -> Option<u64> {
    summary.get("status")?.as_u64()
}

/// Returns the activity bits of a chat as a client of 0.3 derives them: only from the state
/// that it receives, independent of requests that later releases have.
fn chat_activity(chat: &Object) -> Option<u64> {
    let told = status_bits(chat)?;
    let turn = chat.get("activeTurn");
    let parts = turn.and_then(|turn| turn.get("responseParts")?.as_array());
    let calls = parts.into_iter().flatten();
    let mut calls = calls.filter_map(|part| part.get("toolCall")?.get("status")?.as_str());
    let asks = chat.get("inputRequests").and_then(Json::as_array);
    let asks = asks.is_some_and(|requests| !requests.is_empty());
    Some(
        if asks || calls.any(|status| WAITING_STATES.contains(&status)) {
            INPUT_NEEDED
        } else if turn.is_some() {
            IN_PROGRESS
        } else if told & ACTIVITY_MASK == ERROR {
            ERROR
        } else {
            IDLE
        },
    )
}
