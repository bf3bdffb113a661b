//! Moves open input requests, and hides authentication requests from lists and statuses.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::{SessionInputRequest, SessionState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::is_open_request;
use crate::document::JsonEnvelope;
use crate::edit::{
    clear_input_needed, list_mut, list_objects_mut, object_mut, remove_fields, set_field,
    text_field,
};
use crate::state_source::TranslationContext;

/// Removes the open input requests from a turn and returns them.
pub(super) fn take_open_requests(turn: &mut Object) -> Vec<Json> {
    let mut requests = Vec::new();
    if let Some(Json::Array(parts)) = turn.get_mut("responseParts") {
        parts.retain_mut(|part| {
            if let Json::Object(part) = part
                && is_open_request(part)
            {
                requests.extend(part.shift_remove("request"));
                return false;
            }
            true
        });
    }
    requests
}

/// Moves the open input requests of the active turn to the chat, and clears input needed from
/// the status if nothing else waits for the user.
pub(super) fn move_requests_to_chat(chat: &mut Object) {
    let Some(turn) = object_mut(chat, "activeTurn") else {
        return;
    };
    let requests = take_open_requests(turn);
    let asks = list_objects_mut(turn, "responseParts").any(|part| {
        let call = part.get("toolCall").and_then(Json::as_object);
        let status = call.and_then(|call| text_field(call, "status"));
        matches!(
            status,
            Some("pending-confirmation" | "pending-result-confirmation")
        )
    });
    if !requests.is_empty() {
        set_field(chat, "inputRequests", requests);
    } else if !asks {
        clear_input_needed(chat);
    }
}

/// Moves the open input requests of the chat into the active turn.
pub(super) fn move_requests_into_turn(chat: &mut Object) {
    let Some(Json::Array(requests)) = chat.shift_remove("inputRequests") else {
        return;
    };
    let turn = object_mut(chat, "activeTurn");
    if let Some(parts) = turn.and_then(|turn| list_mut(turn, "responseParts")) {
        let asked = |request| json!({ "kind": "inputRequest", "request": request });
        parts.extend(requests.into_iter().map(asked));
    }
}

/// Converts an added response part that is an open input request to `chat/inputRequested`.
pub(super) fn part_to_request(action: &mut Object) {
    let Some(Json::Object(part)) = action.get_mut("part") else {
        return;
    };
    if !is_open_request(part) {
        return;
    }
    let request = part.shift_remove("request");
    remove_fields(action, &["part", "turnId", "_meta"]);
    set_field(action, "type", "chat/inputRequested");
    action.extend(request.map(|request| ("request".to_owned(), request)));
}

/// Removes tool calls that wait for a token from the open requests of a session.
pub(super) fn strip_authentication(session: &mut Object) {
    let Some(Json::Array(entries)) = session.get_mut("inputNeeded") else {
        return;
    };
    let (forgotten, kept): (Vec<_>, Vec<_>) = std::mem::take(entries)
        .into_iter()
        .partition(is_token_request);
    let nothing_left = kept.is_empty();
    for chat in list_objects_mut(session, "chats") {
        let resource = text_field(chat, "resource").map(str::to_owned);
        let about = |entry: &&Json| entry.get("chat").and_then(Json::as_str) == resource.as_deref();
        let forgets = forgotten.iter().any(|entry| about(&entry));
        if forgets && !kept.iter().filter(about).any(awaits_user) {
            clear_input_needed(chat);
        }
    }
    if nothing_left {
        session.shift_remove("inputNeeded");
        if !forgotten.is_empty() {
            clear_input_needed(session);
        }
    } else {
        set_field(session, "inputNeeded", kept);
    }
}

/// Downgrades a change of the open requests. A hidden request can still change the visible
/// status of a chat.
pub(super) fn downgrade_input_needed(
    context: &TranslationContext<'_>,
    envelope: JsonEnvelope,
) -> Vec<JsonEnvelope> {
    let chats = chat_status_updates(context, &envelope);
    let chats = chats.into_iter().map(|chat| envelope.with_action(chat));
    let chats: Vec<_> = chats.collect();
    let mut said = match envelope.action_type() {
        "session/inputNeededSet" => downgrade_input_needed_set(context, envelope),
        _ if was_authentication(context, &envelope) => Vec::new(),
        _ => vec![envelope],
    };
    said.extend(chats);
    said
}

/// Downgrades an added request. A hidden request that replaces a visible one removes it.
fn downgrade_input_needed_set(
    context: &TranslationContext<'_>,
    mut envelope: JsonEnvelope,
) -> Vec<JsonEnvelope> {
    let request = envelope.action.get("request");
    if !request.is_some_and(is_token_request) {
        return vec![envelope];
    }
    let id = request.and_then(|request| request.get("id")).cloned();
    let Some(Json::String(id)) = id else {
        return Vec::new();
    };
    let replaced = entry_before(context, &id).is_some_and(|entry| !is_authentication(entry));
    if !replaced {
        return Vec::new();
    }
    remove_fields(&mut envelope.action, &["request"]);
    set_field(&mut envelope.action, "type", "session/inputNeededRemoved");
    set_field(&mut envelope.action, "id", id);
    vec![envelope]
}

/// Returns `true` if the removed request was hidden.
fn was_authentication(context: &TranslationContext<'_>, envelope: &JsonEnvelope) -> bool {
    let entry = text_field(&envelope.action, "id").and_then(|id| entry_before(context, id));
    entry.is_some_and(is_authentication)
}

/// Returns updates for the chats whose visible status changes.
fn chat_status_updates(context: &TranslationContext<'_>, envelope: &JsonEnvelope) -> Vec<Object> {
    let session = envelope.channel.as_deref().map(Uri::from);
    let after = session.and_then(|session| context.states.session(&session));
    let (Some(ChannelState::Session(before)), Some(after)) = (context.state_before, after) else {
        return Vec::new();
    };
    let mut updates = Vec::new();
    for chat in after.chats.items() {
        let waited = waits_for_token(before, Some(&chat.resource));
        let waits = waits_for_token(&after, Some(&chat.resource));
        let mut changes = Object::new();
        set_field(&mut changes, "status", chat.status.bits());
        if waits {
            clear_input_needed(&mut changes);
        }
        // Only the status input needed has a different encoding.
        if waited != waits && chat.status.activity() == SessionStatus::INPUT_NEEDED {
            let mut action = Object::new();
            set_field(&mut action, "type", "session/chatUpdated");
            set_field(&mut action, "chat", chat.resource.as_str());
            set_field(&mut action, "changes", changes);
            updates.push(action);
        }
    }
    updates
}

/// Clears input needed from the status of a chat, in an action on its session, if the chat only
/// waits for tokens.
pub(super) fn fix_chat_status(
    context: &TranslationContext<'_>,
    envelope: &mut JsonEnvelope,
    chat: Option<Uri>,
    field: &str,
) {
    let session = envelope.channel.as_deref().map(Uri::from);
    if let (Some(session), Some(chat)) = (session, chat)
        && waits_only_for_token(context, &session, Some(&chat))
        && let Some(summary) = object_mut(&mut envelope.action, field)
    {
        clear_input_needed(summary);
    }
}

/// Returns `true` if a session, or one of its chats, waits for nothing but tokens.
pub(super) fn waits_only_for_token(
    context: &TranslationContext<'_>,
    session: &Uri,
    chat: Option<&Uri>,
) -> bool {
    let state = context.states.session(session);
    state.is_some_and(|state| waits_for_token(&state, chat))
}

fn waits_for_token(session: &SessionState, chat: Option<&Uri>) -> bool {
    let mut for_token = false;
    for entry in
        input_needed_entries(session).filter(|entry| chat.is_none() || entry.chat() == chat)
    {
        if is_authentication(entry) {
            for_token = true;
        } else if entry.awaits_user() {
            return false;
        }
    }
    for_token
}

fn entry_before<'a>(context: &TranslationContext<'a>, id: &str) -> Option<&'a SessionInputRequest> {
    let session = context.state_before?.as_session()?;
    input_needed_entries(session).find(|entry| entry.key() == Some(id))
}

fn input_needed_entries(session: &SessionState) -> impl Iterator<Item = &SessionInputRequest> {
    session.input_needed.iter().flat_map(|list| list.items())
}

fn is_authentication(entry: &SessionInputRequest) -> bool {
    matches!(entry, SessionInputRequest::ToolAuthentication(_))
}

fn is_token_request(entry: &Json) -> bool {
    entry.get("kind").and_then(Json::as_str) == Some("toolAuthentication")
}

fn awaits_user(entry: &Json) -> bool {
    entry.get("kind").and_then(Json::as_str) != Some("toolClientExecution")
}
