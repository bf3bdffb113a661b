//! From 0.3 to 0.4.

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::CONVERSATION;
use crate::document::{Call, Dispatch};
use crate::edit::{list_mut, object_mut, set, text};
use crate::step::Refused;
use crate::world::Moment;

/// Who can have written a message, in 0.4.
const ORIGINS: &[&str] = &["user", "agent", "tool", "systemNotification"];

/// Sends what happens in a conversation to its chat.
pub(super) fn dispatch(at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
    let Some(name) = dispatch.kind().strip_prefix("session/") else {
        return Ok(());
    };
    let channel = Uri::from(dispatch.channel.as_str());
    if CONVERSATION.contains(&name) {
        let name = format!("chat/{name}");
        set(&mut dispatch.action, "type", name);
        dispatch.channel = chat_of(at, &channel)?.to_string();
        return Ok(());
    }
    if at.world.chat(&channel).is_some() {
        // The client takes a chat for a session. The session has other chats:
        // they are not meant.
        return Err(Refused::Unknown(
            "this belongs to the session, and this channel is one of its chats".to_owned(),
        ));
    }
    Ok(())
}

/// Sends what is asked of a conversation to its chat.
pub(super) fn params(at: &Moment<'_>, call: &mut Call) -> Result<(), Refused> {
    match call.method.as_str() {
        "fetchTurns" | "completions" => {
            if let Some(channel) = text(&call.params, "channel") {
                let chat = chat_of(at, &Uri::from(channel))?;
                set(&mut call.params, "channel", chat.as_str());
            }
        }
        "reconnect" => add_chats(at, &mut call.params),
        "invokeChangesetOperation" => {
            if let Some(target) = object_mut(&mut call.params, "target") {
                widen_range(target);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A message of 0.3 can say anything of where it is from.
pub(super) fn give_origin(message: &mut Object) {
    let kind = message.get("origin").and_then(|origin| origin.get("kind"));
    let known = kind.and_then(Json::as_str);
    if !known.is_some_and(|kind| ORIGINS.contains(&kind)) {
        set(message, "origin", json!({ "kind": "user" }));
    }
}

/// The chat of a session; a chat that is taken for a session is its own.
fn chat_of(at: &Moment<'_>, channel: &Uri) -> Result<Uri, Refused> {
    if at.world.chat(channel).is_some() {
        return Ok(channel.clone());
    }
    let none = || Refused::Unknown("the session has no chat".to_owned());
    at.chat_behind(channel).ok_or_else(none)
}

/// Whoever followed a session followed its chat.
fn add_chats(at: &Moment<'_>, params: &mut Object) {
    let Some(subscriptions) = list_mut(params, "subscriptions") else {
        return;
    };
    let chats: Vec<Json> = subscriptions
        .iter()
        .filter_map(|channel| at.chat_behind(&Uri::from(channel.as_str()?)))
        .map(|chat| Json::from(chat.as_str()))
        .collect();
    for chat in chats {
        if !subscriptions.contains(&chat) {
            subscriptions.push(chat);
        }
    }
}

/// Where 0.3 counts lines, 0.4 has positions.
fn widen_range(target: &mut Object) {
    let Some(range) = object_mut(target, "range") else {
        return;
    };
    for end in ["start", "end"] {
        if let Some(line) = range.get(end).and_then(Json::as_u64) {
            set(range, end, json!({ "line": line, "character": 0 }));
        }
    }
}
