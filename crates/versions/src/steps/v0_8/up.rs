//! 0.8 → 0.9.

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch};
use crate::edit::{default, object_mut, set, text};
use crate::step::Refused;
use crate::world::Moment;

/// Commands that 0.8 doesn't have: what they are about could not be shown.
const NEW: &[&str] = &[
    "listAutomationTriggerDefinitions",
    "runAutomation",
    "fetchAutomationRuns",
];

/// Where the host finds that a session is to begin with another's turns. There
/// is no field for it since 0.9.
const FORK: &str = "agenthost.fork";

pub(super) fn params(at: &Moment<'_>, call: &mut Call) -> Result<(), Refused> {
    match call.method.as_str() {
        "createTerminal" => name_chat(at, &mut call.params),
        "createSession" => {
            keep_fork(&mut call.params);
            Ok(())
        }
        new if NEW.contains(&new) => Err(Refused::Unknown(format!("AHP 0.8 has no `{new}`"))),
        _ => Ok(()),
    }
}

fn keep_fork(params: &mut Object) {
    if let Some(fork) = params.shift_remove("fork") {
        default(params, "_meta", Object::new());
        if let Some(meta) = object_mut(params, "_meta") {
            set(meta, FORK, fork);
        }
    }
}

pub(super) fn dispatch(at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
    match dispatch.kind() {
        "terminal/claimed" => name_chat(at, &mut dispatch.action),
        "annotations/set" => {
            let channel = Uri::from(dispatch.channel.as_str());
            match object_mut(&mut dispatch.action, "annotation") {
                Some(annotation) => name_origin(at, &channel, annotation),
                None => Ok(()),
            }
        }
        "annotations/updated" => {
            let channel = Uri::from(dispatch.channel.as_str());
            name_origin(at, &channel, &mut dispatch.action)
        }
        _ => Ok(()),
    }
}

/// What a session claims is claimed for one of its chats.
fn name_chat(at: &Moment<'_>, claimed: &mut Object) -> Result<(), Refused> {
    let Some(claim) = object_mut(claimed, "claim") else {
        return Ok(());
    };
    let (Some("session"), Some(session)) = (text(claim, "kind"), text(claim, "session")) else {
        return Ok(());
    };
    if claim.contains_key("chat") {
        return Ok(());
    }
    let session = Uri::from(session);
    let chat = at.world.default_chat(&session);
    let chat = chat.ok_or_else(|| Refused::Invalid("the session has no chat".to_owned()))?;
    set(claim, "chat", chat.as_str());
    Ok(())
}

/// An annotation names its turn; since 0.9 it names its session and its chat
/// as well.
fn name_origin(at: &Moment<'_>, channel: &Uri, annotation: &mut Object) -> Result<(), Refused> {
    let Some(turn) = annotation.shift_remove("turnId") else {
        return Ok(());
    };
    let session = at.world.session_of(channel);
    let session = session.ok_or_else(|| Refused::Invalid("no such annotations".to_owned()))?;
    let chat = turn.as_str().filter(|turn| !turn.is_empty());
    let chat = chat.and_then(|turn| chat_with(at, &session, &TurnId::from(turn)));
    set_origin(annotation, &session, chat.as_ref(), turn);
    Ok(())
}

/// Says where an annotation comes from. What 0.8 would not say of a turn either
/// is left to be refused for what it is.
pub(super) fn set_origin(annotation: &mut Object, session: &Uri, chat: Option<&Uri>, turn: Json) {
    let mut origin = Object::new();
    set(&mut origin, "session", session.as_str());
    if let Some(chat) = chat {
        set(&mut origin, "chat", chat.as_str());
    }
    if turn.as_str() != Some("") {
        set(&mut origin, "turnId", turn);
    }
    set(annotation, "origin", Json::Object(origin));
}

/// The chat of a session that has a turn, if it can be told.
fn chat_with(at: &Moment<'_>, session: &Uri, turn: &TurnId) -> Option<Uri> {
    let session = at.world.session(session)?;
    let mut chats = session.chats.items().map(|chat| &chat.resource);
    let found = chats.find(|chat| {
        at.world.chat(chat).is_some_and(|chat| {
            let active = chat.active_turn.as_ref().is_some_and(|it| it.id == *turn);
            active || chat.turns.find(|it| it.id == *turn).is_some()
        })
    });
    found.cloned()
}
