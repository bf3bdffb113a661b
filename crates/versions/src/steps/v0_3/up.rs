//! Upgrades from 0.3 to 0.4.

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::CHAT_ACTIONS;
use crate::document::{JsonCall, JsonDispatch};
use crate::edit::{list_mut, object_mut, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step::UpgradeRefusal;

/// Message origins that 0.4 defines.
const MESSAGE_ORIGINS: &[&str] = &["user", "agent", "tool", "systemNotification"];

/// Redirects actions on the chat of a session to the chat channel.
pub(super) fn route_dispatch(
    context: &TranslationContext<'_>,
    dispatch: &mut JsonDispatch,
) -> Result<(), UpgradeRefusal> {
    let Some(name) = dispatch.action_type().strip_prefix("session/") else {
        return Ok(());
    };
    let channel = Uri::from(dispatch.channel.as_str());
    if CHAT_ACTIONS.contains(&name) {
        let name = format!("chat/{name}");
        set_field(&mut dispatch.action, "type", name);
        dispatch.channel = chat_of(context, &channel)?.to_string();
        return Ok(());
    }
    if context.states.chat(&channel).is_some() {
        // The client addresses a chat as a session. The action would affect the whole session,
        // including its other chats.
        return Err(UpgradeRefusal::Unknown(
            "this action belongs to the session channel, not to a chat".to_owned(),
        ));
    }
    Ok(())
}

/// Redirects requests about the chat of a session to the chat channel.
pub(super) fn route_params(
    context: &TranslationContext<'_>,
    call: &mut JsonCall,
) -> Result<(), UpgradeRefusal> {
    match call.method.as_str() {
        "fetchTurns" | "completions" => {
            if let Some(channel) = text_field(&call.params, "channel") {
                let chat = chat_of(context, &Uri::from(channel))?;
                set_field(&mut call.params, "channel", chat.as_str());
            }
        }
        "reconnect" => add_chat_subscriptions(context, &mut call.params),
        "invokeChangesetOperation" => {
            if let Some(target) = object_mut(&mut call.params, "target") {
                to_position_range(target);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Replaces an unknown origin, because 0.3 does not restrict it.
pub(super) fn set_message_origin(message: &mut Object) {
    let kind = message.get("origin").and_then(|origin| origin.get("kind"));
    let known = kind.and_then(Json::as_str);
    if !known.is_some_and(|kind| MESSAGE_ORIGINS.contains(&kind)) {
        set_field(message, "origin", json!({ "kind": "user" }));
    }
}

/// Returns the chat of a session, or the channel itself if it is a chat that the client
/// addresses as a session.
fn chat_of(context: &TranslationContext<'_>, channel: &Uri) -> Result<Uri, UpgradeRefusal> {
    if context.states.chat(channel).is_some() {
        return Ok(channel.clone());
    }
    let none = || UpgradeRefusal::Unknown("the session has no chat".to_owned());
    context.chat_for_session(channel).ok_or_else(none)
}

/// Adds the chats of the subscribed sessions, because the client was subscribed to both.
fn add_chat_subscriptions(context: &TranslationContext<'_>, params: &mut Object) {
    let Some(subscriptions) = list_mut(params, "subscriptions") else {
        return;
    };
    let chats: Vec<Json> = subscriptions
        .iter()
        .filter_map(|channel| context.chat_for_session(&Uri::from(channel.as_str()?)))
        .map(|chat| Json::from(chat.as_str()))
        .collect();
    for chat in chats {
        if !subscriptions.contains(&chat) {
            subscriptions.push(chat);
        }
    }
}

/// Converts line numbers of 0.3 to positions.
fn to_position_range(target: &mut Object) {
    let Some(range) = object_mut(target, "range") else {
        return;
    };
    for end in ["start", "end"] {
        if let Some(line) = range.get(end).and_then(Json::as_u64) {
            set_field(range, end, json!({ "line": line, "character": 0 }));
        }
    }
}
