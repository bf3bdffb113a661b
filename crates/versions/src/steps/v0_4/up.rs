//! What a client of 0.4 chooses, as what is being typed in a chat.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::uri::{Uri, default_chat};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::selection::{Selection, main_chat};
use super::values;
use crate::chain::Chain;
use crate::document::Dispatch;
use crate::edit::{object_mut, remove, set, text};
use crate::step::Refused;
use crate::world::Moment;

/// Takes up what a new session is to have: its chat begins with a draft.
pub(super) fn create_session(at: &Moment<'_>, params: &mut Object) -> Vec<Dispatch> {
    let Some(session) = text(params, "channel").map(Uri::from) else {
        return Vec::new();
    };
    let chosen = take_chosen(at, params);
    if chosen.is_empty() {
        return Vec::new();
    }
    begin(&default_chat(&session), chosen)
}

/// Takes up what a new chat is to have: it goes to its first message, and to
/// the draft that comes after. What a chat does not have of its own, it has
/// from its session.
pub(super) fn create_chat(at: &Moment<'_>, params: &mut Object) -> Vec<Dispatch> {
    let mut selection = Object::new();
    if let Some(session) = text(params, "channel").map(Uri::from) {
        Selection::of_session(at, &session).address(&mut selection);
    }
    let chosen = take_chosen(at, params);
    let has_own = !chosen.is_empty();
    selection.extend(chosen);
    if let Some(message) = object_mut(params, "initialMessage") {
        message.extend(selection.clone());
    }
    match text(params, "chat").map(Uri::from) {
        Some(chat) if has_own => begin(&chat, selection),
        _ => Vec::new(),
    }
}

/// Takes up that another model or custom agent was chosen for a session.
pub(super) fn choose(at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
    let (field, wanted) = match dispatch.kind() {
        "session/modelChanged" => ("model", true),
        _ => ("agent", false),
    };
    let given = dispatch.action.get(field);
    let is_right = match given {
        Some(given) => given.is_object() || !wanted && given.is_null(),
        None => !wanted,
    };
    if !is_right {
        return Err(Refused::Invalid(format!("`{field}` has to be an object")));
    }
    let session = Uri::from(dispatch.channel.as_str());
    let kind = at.world.state(&session).map(|state| state.kind());
    if kind.is_some_and(|kind| kind != ChannelKind::Session) {
        let kind = dispatch.kind();
        let reason = format!("`{kind}` does not belong on this channel");
        return Err(Refused::Invalid(reason));
    }
    let chat = main_chat(at, &session).unwrap_or_else(|| default_chat(&session));
    let current = Selection::of_chat(at, &chat);
    let mut draft = draft(at, &chat);
    remove(&mut draft, &["model", "agent"]);
    current.address(&mut draft);
    if dispatch.kind() == "session/agentChanged" {
        remove(&mut draft, &["agent"]);
    }
    let mut action = std::mem::take(&mut dispatch.action);
    if let Some(Json::Object(mut model)) = action.shift_remove("model") {
        values::read_model_options(at, current.model.as_ref(), &mut model);
        set(&mut draft, "model", model);
    }
    if let Some(agent) = action.shift_remove("agent").filter(Json::is_object) {
        set(&mut draft, "agent", agent);
    }
    dispatch.channel = chat.to_string();
    dispatch.action = draft_changed(draft);
    Ok(())
}

/// A message goes to what is chosen for its chat, or else for its session. One
/// that has waited goes to what it was waiting for.
pub(super) fn address(at: &Moment<'_>, dispatch: &mut Dispatch) {
    let chat = Uri::from(dispatch.channel.as_str());
    let waiting = text(&dispatch.action, "queuedMessageId");
    let selection = match waiting.and_then(|id| of_waiting(at, &chat, id)) {
        Some(selection) => selection,
        None => chosen_for(at, &chat),
    };
    if let Some(message) = object_mut(&mut dispatch.action, "message") {
        selection.address(message);
    }
}

fn chosen_for(at: &Moment<'_>, chat: &Uri) -> Selection {
    let own = Selection::of_chat(at, chat);
    let Some(session) = at.world.session_of(chat) else {
        return own;
    };
    let chosen = match own == Selection::default() {
        true => Selection::of_session(at, &session),
        false => own,
    };
    chosen.that_exists(at, &session)
}

fn of_waiting(at: &Moment<'_>, chat: &Uri, id: &str) -> Option<Selection> {
    let chat = at.world.chat(chat)?;
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    let mut waiting = queued.chain(&chat.steering_message);
    let waiting = waiting.find(|waiting| waiting.id.as_str() == id)?;
    Some(Selection::of_message(&waiting.message))
}

/// Takes `model` and `agent` out of parameters, in the words of 0.5.0.
fn take_chosen(at: &Moment<'_>, params: &mut Object) -> Object {
    let mut chosen = Object::new();
    if let Some(Json::Object(mut model)) = params.shift_remove("model") {
        values::read_model_options(at, None, &mut model);
        set(&mut chosen, "model", model);
    }
    if let Some(agent) = params.shift_remove("agent").filter(Json::is_object) {
        set(&mut chosen, "agent", agent);
    }
    chosen
}

fn begin(chat: &Uri, selection: Object) -> Vec<Dispatch> {
    let mut draft = empty_draft();
    draft.extend(selection);
    vec![Dispatch {
        channel: chat.to_string(),
        action: draft_changed(draft),
    }]
}

/// What is being typed in a chat, in the words of 0.5.0.
fn draft(at: &Moment<'_>, chat: &Uri) -> Object {
    let draft = at.world.chat(chat).and_then(|chat| chat.draft.clone());
    let draft = draft.map(|draft| Chain::to(Release::V0_5_0).part(at, "Message", &draft));
    match draft {
        Some(Ok(Some(draft))) => draft,
        _ => empty_draft(),
    }
}

fn empty_draft() -> Object {
    let mut draft = Object::new();
    set(&mut draft, "text", "");
    set(&mut draft, "origin", json!({ "kind": "user" }));
    draft
}

fn draft_changed(draft: Object) -> Object {
    let mut action = Object::new();
    set(&mut action, "type", "chat/draftChanged");
    set(&mut action, "draft", draft);
    action
}
