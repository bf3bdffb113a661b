//! A session and a chat as one state.

use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use super::Step;
use crate::chain::{Chain, parts};
use crate::edit::{default, object_mut, remove, set, take_object, text};
use crate::graph::GRAPH;
use crate::world::Moment;

/// What a chat has that was its session's.
const CONVERSATION: &[&str] = &[
    "turns",
    "activeTurn",
    "steeringMessage",
    "queuedMessages",
    "inputRequests",
];

/// The bits of a status that say what is going on. The others are flags.
const ACTIVITY: u64 = (1 << 5) - 1;
const IDLE: u64 = 1;
const ERROR: u64 = 1 << 1;
const IN_PROGRESS: u64 = 1 << 3;
const INPUT_NEEDED: u64 = 1 << 3 | 1 << 4;

/// What tool calls are in when they wait for a person.
const WAITING: &[&str] = &["pending-confirmation", "pending-result-confirmation"];

/// Puts the conversation into a session that it is the chat of.
pub(super) fn add_conversation(at: &Moment<'_>, session: &Uri, state: &mut Object) {
    let chat = at.chat_behind(session);
    let mut chat = chat.and_then(|chat| look(at, &chat)).unwrap_or_default();
    let activity = activity(&chat);
    remove(state, &["chats", "defaultChat"]);
    move_conversation(&mut chat, state);
    let Some(summary) = object_mut(state, "summary") else {
        return;
    };
    if let (Some(flags), Some(activity)) = (status(summary), activity) {
        set(summary, "status", flags & !ACTIVITY | activity);
    }
    for field in ["model", "agent"] {
        if let Some(chosen) = chat.shift_remove(field) {
            default(summary, field, chosen);
        }
    }
}

/// Makes a session of a chat: what it does not have itself is its session's.
pub(super) fn make_session(at: &Moment<'_>, address: &Uri, state: &mut Object) {
    let mut chat = std::mem::take(state);
    if let (Some(flags), Some(activity)) = (status(&chat), activity(&chat)) {
        set(&mut chat, "status", flags & !ACTIVITY | activity);
    }
    let owner = at.world.session_of(address);
    let mut session = owner.and_then(|owner| look(at, &owner)).unwrap_or_default();
    let mut summary = take_object(&mut session, "summary").unwrap_or_default();
    // These are about the session as a whole.
    remove(&mut summary, &["activity", "changes", "model", "agent"]);
    remove(&mut session, &["chats", "defaultChat", "changesets"]);
    set(&mut summary, "resource", address.as_str());
    for field in [
        "title",
        "status",
        "activity",
        "model",
        "agent",
        "workingDirectory",
    ] {
        if let Some(own) = chat.shift_remove(field) {
            set(&mut summary, field, own);
        }
    }
    let modified = text(&chat, "modifiedAt").map(Timestamp::from);
    let modified = modified.and_then(|time| time.to_millis().ok());
    let modified = modified.map_or(0, |millis| millis.0);
    set(&mut summary, "modifiedAt", modified);
    default(&mut summary, "createdAt", modified);
    default(&mut summary, "provider", "");

    state.insert("summary".to_owned(), Json::Object(summary));
    state.extend(session);
    default(state, "lifecycle", "ready");
    move_conversation(&mut chat, state);
    if let Some(own) = chat.shift_remove("_meta") {
        set(state, "_meta", own);
    }
}

/// The state of a channel as 0.4 has it, with its parts as 0.3 has them.
fn look(at: &Moment<'_>, channel: &Uri) -> Option<Object> {
    let state = at.world.state(channel)?;
    let mut resource = channel.to_string();
    let newer = Chain::to(Release::V0_4).state(at, &mut resource, &state);
    let mut looked = newer.ok()??;
    parts(&Step, at, GRAPH.state(state.kind()), &mut looked);
    Some(looked)
}

fn move_conversation(chat: &mut Object, state: &mut Object) {
    for field in CONVERSATION {
        if let Some(part) = chat.shift_remove(*field) {
            set(state, field, part);
        }
    }
    default(state, "turns", Json::Array(Vec::new()));
}

fn status(summary: &Object) -> Option<u64> {
    summary.get("status")?.as_u64()
}

/// What is going on in a chat, as a client of 0.3 works it out for itself: by
/// what is in the state, whatever newer ones may wait for.
fn activity(chat: &Object) -> Option<u64> {
    let told = status(chat)?;
    let turn = chat.get("activeTurn");
    let parts = turn.and_then(|turn| turn.get("responseParts")?.as_array());
    let calls = parts.into_iter().flatten();
    let mut calls = calls.filter_map(|part| part.get("toolCall")?.get("status")?.as_str());
    let asks = chat.get("inputRequests").and_then(Json::as_array);
    let asks = asks.is_some_and(|requests| !requests.is_empty());
    Some(if asks || calls.any(|status| WAITING.contains(&status)) {
        INPUT_NEEDED
    } else if turn.is_some() {
        IN_PROGRESS
    } else if told & ACTIVITY == ERROR {
        ERROR
    } else {
        IDLE
    })
}
