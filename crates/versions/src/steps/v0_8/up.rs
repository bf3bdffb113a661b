//! Upgrades from 0.8 to 0.9.

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch};
use crate::edit::{object_mut, set_default, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step::UpgradeRefusal;

/// Requests that 0.8 does not have, because it can't show automations.
const COMMANDS_SINCE_V0_9: &[&str] = &[
    "listAutomationTriggerDefinitions",
    "runAutomation",
    "fetchAutomationRuns",
];

/// Key in `_meta` under which the host finds the source of a forked session. Since 0.9 there is
/// no field for it.
const FORK_META_KEY: &str = "agenthost.fork";

pub(super) fn upgrade_params(
    context: &TranslationContext<'_>,
    call: &mut JsonCall,
) -> Result<(), UpgradeRefusal> {
    match call.method.as_str() {
        "createTerminal" => set_claim_chat(context, &mut call.params),
        "createSession" => {
            move_fork_to_meta(&mut call.params);
            Ok(())
        }
        new if COMMANDS_SINCE_V0_9.contains(&new) => {
            Err(UpgradeRefusal::Unknown(format!("AHP 0.8 has no `{new}`")))
        }
        _ => Ok(()),
    }
}

fn move_fork_to_meta(params: &mut Object) {
    if let Some(fork) = params.shift_remove("fork") {
        set_default(params, "_meta", Object::new());
        if let Some(meta) = object_mut(params, "_meta") {
            set_field(meta, FORK_META_KEY, fork);
        }
    }
}

pub(super) fn upgrade_dispatch(
    context: &TranslationContext<'_>,
    dispatch: &mut JsonDispatch,
) -> Result<(), UpgradeRefusal> {
    match dispatch.action_type() {
        "terminal/claimed" => set_claim_chat(context, &mut dispatch.action),
        "annotations/set" => {
            let channel = Uri::from(dispatch.channel.as_str());
            match object_mut(&mut dispatch.action, "annotation") {
                Some(annotation) => set_annotation_origin(context, &channel, annotation),
                None => Ok(()),
            }
        }
        "annotations/updated" => {
            let channel = Uri::from(dispatch.channel.as_str());
            set_annotation_origin(context, &channel, &mut dispatch.action)
        }
        _ => Ok(()),
    }
}

/// Adds the default chat to a claim of a session, because since 0.9 a claim names a chat.
fn set_claim_chat(
    context: &TranslationContext<'_>,
    claimed: &mut Object,
) -> Result<(), UpgradeRefusal> {
    let Some(claim) = object_mut(claimed, "claim") else {
        return Ok(());
    };
    let (Some("session"), Some(session)) =
        (text_field(claim, "kind"), text_field(claim, "session"))
    else {
        return Ok(());
    };
    if claim.contains_key("chat") {
        return Ok(());
    }
    let session = Uri::from(session);
    let chat = context.states.default_chat(&session);
    let chat = chat.ok_or_else(|| UpgradeRefusal::Invalid("the session has no chat".to_owned()))?;
    set_field(claim, "chat", chat.as_str());
    Ok(())
}

/// Adds session and chat to an annotation; 0.8 has only the turn.
fn set_annotation_origin(
    context: &TranslationContext<'_>,
    channel: &Uri,
    annotation: &mut Object,
) -> Result<(), UpgradeRefusal> {
    let Some(turn) = annotation.shift_remove("turnId") else {
        return Ok(());
    };
    let session = context.states.session_of(channel);
    let session =
        session.ok_or_else(|| UpgradeRefusal::Invalid("no such annotations".to_owned()))?;
    let chat = turn.as_str().filter(|turn| !turn.is_empty());
    let chat = chat.and_then(|turn| chat_with_turn(context, &session, &TurnId::from(turn)));
    set_origin(annotation, &session, chat.as_ref(), turn);
    Ok(())
}

/// Sets the origin of an annotation. An invalid turn id is passed on, so that the host rejects
/// it.
pub(super) fn set_origin(annotation: &mut Object, session: &Uri, chat: Option<&Uri>, turn: Json) {
    let mut origin = Object::new();
    set_field(&mut origin, "session", session.as_str());
    if let Some(chat) = chat {
        set_field(&mut origin, "chat", chat.as_str());
    }
    if turn.as_str() != Some("") {
        set_field(&mut origin, "turnId", turn);
    }
    set_field(annotation, "origin", Json::Object(origin));
}

/// Returns the chat of a session that contains the turn, if its state is available.
fn chat_with_turn(context: &TranslationContext<'_>, session: &Uri, turn: &TurnId) -> Option<Uri> {
    let session = context.states.session(session)?;
    let mut chats = session.chats.items().map(|chat| &chat.resource);
    let found = chats.find(|chat| {
        context.states.chat(chat).is_some_and(|chat| {
            let active = chat.active_turn.as_ref().is_some_and(|it| it.id == *turn);
            active || chat.turns.find(|it| it.id == *turn).is_some()
        })
    });
    found.cloned()
}
