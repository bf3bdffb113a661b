//! Upgrades selections of a model or agent in 0.4 to changes of a draft.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::uri::{Uri, default_chat_uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::selection::{ModelChoice, main_chat};
use super::values;
use crate::chain::VersionChain;
use crate::document::JsonDispatch;
use crate::edit::{object_mut, remove_fields, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step::UpgradeRefusal;

/// Upgrades the selection for a new session to a draft of its default chat.
pub(super) fn upgrade_create_session(
    context: &TranslationContext<'_>,
    params: &mut Object,
) -> Vec<JsonDispatch> {
    let Some(session) = text_field(params, "channel").map(Uri::from) else {
        return Vec::new();
    };
    let chosen = take_choice(context, params);
    if chosen.is_empty() {
        return Vec::new();
    }
    begin_draft(&default_chat_uri(&session), chosen)
}

/// Upgrades the selection for a new chat: it applies to the initial message and to a draft
/// after it. A chat without its own selection inherits that of its session.
pub(super) fn upgrade_create_chat(
    context: &TranslationContext<'_>,
    params: &mut Object,
) -> Vec<JsonDispatch> {
    let mut selection = Object::new();
    if let Some(session) = text_field(params, "channel").map(Uri::from) {
        ModelChoice::of_session(context, &session).write_to_message(&mut selection);
    }
    let chosen = take_choice(context, params);
    let has_own = !chosen.is_empty();
    selection.extend(chosen);
    if let Some(message) = object_mut(params, "initialMessage") {
        message.extend(selection.clone());
    }
    match text_field(params, "chat").map(Uri::from) {
        Some(chat) if has_own => begin_draft(&chat, selection),
        _ => Vec::new(),
    }
}

/// Upgrades the selection of another model or custom agent for a session.
pub(super) fn upgrade_choice(
    context: &TranslationContext<'_>,
    dispatch: &mut JsonDispatch,
) -> Result<(), UpgradeRefusal> {
    let (field, wanted) = match dispatch.action_type() {
        "session/modelChanged" => ("model", true),
        _ => ("agent", false),
    };
    let given = dispatch.action.get(field);
    let is_right = match given {
        Some(given) => given.is_object() || !wanted && given.is_null(),
        None => !wanted,
    };
    if !is_right {
        return Err(UpgradeRefusal::Invalid(format!(
            "`{field}` has to be an object"
        )));
    }
    let session = Uri::from(dispatch.channel.as_str());
    let kind = context.states.state(&session).map(|state| state.kind());
    if kind.is_some_and(|kind| kind != ChannelKind::Session) {
        let kind = dispatch.action_type();
        let reason = format!("`{kind}` does not belong on this channel");
        return Err(UpgradeRefusal::Invalid(reason));
    }
    let chat = main_chat(context, &session).unwrap_or_else(|| default_chat_uri(&session));
    let current = ModelChoice::of_chat(context, &chat);
    let mut draft = current_draft(context, &chat);
    remove_fields(&mut draft, &["model", "agent"]);
    current.write_to_message(&mut draft);
    if dispatch.action_type() == "session/agentChanged" {
        remove_fields(&mut draft, &["agent"]);
    }
    let mut action = std::mem::take(&mut dispatch.action);
    if let Some(Json::Object(mut model)) = action.shift_remove("model") {
        values::parse_model_options(context, current.model.as_ref(), &mut model);
        set_field(&mut draft, "model", model);
    }
    if let Some(agent) = action.shift_remove("agent").filter(Json::is_object) {
        set_field(&mut draft, "agent", agent);
    }
    dispatch.channel = chat.to_string();
    dispatch.action = draft_changed(draft);
    Ok(())
}

/// Adds the selection of the chat, or else of the session, to a message. A pending message
/// keeps its own selection.
pub(super) fn set_message_choice(context: &TranslationContext<'_>, dispatch: &mut JsonDispatch) {
    let chat = Uri::from(dispatch.channel.as_str());
    let waiting = text_field(&dispatch.action, "queuedMessageId");
    let selection = match waiting.and_then(|id| queued_message_choice(context, &chat, id)) {
        Some(selection) => selection,
        None => effective_choice(context, &chat),
    };
    if let Some(message) = object_mut(&mut dispatch.action, "message") {
        selection.write_to_message(message);
    }
}

fn effective_choice(context: &TranslationContext<'_>, chat: &Uri) -> ModelChoice {
    let own = ModelChoice::of_chat(context, chat);
    let Some(session) = context.states.session_of(chat) else {
        return own;
    };
    let chosen = if own == ModelChoice::default() {
        ModelChoice::of_session(context, &session)
    } else {
        own
    };
    chosen.retain_existing(context, &session)
}

fn queued_message_choice(
    context: &TranslationContext<'_>,
    chat: &Uri,
    id: &str,
) -> Option<ModelChoice> {
    let chat = context.states.chat(chat)?;
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    let mut waiting = queued.chain(&chat.steering_message);
    let waiting = waiting.find(|waiting| waiting.id.as_str() == id)?;
    Some(ModelChoice::of_message(&waiting.message))
}

/// Removes `model` and `agent` from parameters and returns them in the 0.5.0 encoding.
fn take_choice(context: &TranslationContext<'_>, params: &mut Object) -> Object {
    let mut chosen = Object::new();
    if let Some(Json::Object(mut model)) = params.shift_remove("model") {
        values::parse_model_options(context, None, &mut model);
        set_field(&mut chosen, "model", model);
    }
    if let Some(agent) = params.shift_remove("agent").filter(Json::is_object) {
        set_field(&mut chosen, "agent", agent);
    }
    chosen
}

fn begin_draft(chat: &Uri, selection: Object) -> Vec<JsonDispatch> {
    let mut draft = empty_draft();
    draft.extend(selection);
    vec![JsonDispatch {
        channel: chat.to_string(),
        action: draft_changed(draft),
    }]
}

/// Returns the draft of a chat in the 0.5.0 encoding.
fn current_draft(context: &TranslationContext<'_>, chat: &Uri) -> Object {
    let draft = context
        .states
        .chat(chat)
        .and_then(|chat| chat.draft.clone());
    let draft = draft.map(|draft| {
        VersionChain::for_release(Release::V0_5_0).downgrade_part(context, "Message", &draft)
    });
    match draft {
        Some(Ok(Some(draft))) => draft,
        _ => empty_draft(),
    }
}

fn empty_draft() -> Object {
    let mut draft = Object::new();
    set_field(&mut draft, "text", "");
    set_field(&mut draft, "origin", json!({ "kind": "user" }));
    draft
}

fn draft_changed(draft: Object) -> Object {
    let mut action = Object::new();
    set_field(&mut action, "type", "chat/draftChanged");
    set_field(&mut action, "draft", draft);
    action
}
