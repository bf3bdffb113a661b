//! 0.9 → 0.8.

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, InputRequested, ResponsePart, ResponsePartAdded, SystemNotificationPart,
    Truncated, TurnResume, TurnStarted, TurnsLoaded, Usage,
};
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json, Object};

use super::closed;
use crate::document::Envelope;
use crate::edit::{carry, list_mut, remove, replace_text, set, take_object, text};
use crate::world::Moment;

pub(super) fn part(name: &str, part: &mut Object) {
    match name {
        "SessionState" => {
            replace_text(part, "lifecycle", "failed", "creationFailed");
            remove(part, &["origin"]);
        }
        "SessionSummary" | "PartialSessionSummary" => remove(part, &["origin"]),
        "InitializeResult" => remove(part, &["automations", "_meta"]),
        "Turn" => {
            take_error(part);
            tell_errors(part);
        }
        "ActiveTurn" => tell_errors(part),
        "ChatError" => {
            if let Some(mut failed) = take_object(part, "part") {
                carry(&mut failed, part, "error");
            }
        }
        "TerminalState" | "TerminalInfo" => {
            if let Some(mut lifecycle) = take_object(part, "lifecycle") {
                carry(&mut lifecycle, part, "exitCode");
            }
        }
        "TerminalClaim" => remove(part, &["chat"]),
        "Annotation" | "AnnotationUpdated" => name_turn(part),
        _ => {}
    }
    closed::close(name, part);
}

/// A failed turn says so in a field of its own, and not in its last part.
fn take_error(turn: &mut Object) {
    if text(turn, "state") != Some("error") {
        return;
    }
    let Some(parts) = list_mut(turn, "responseParts") else {
        return;
    };
    let Some(error) = parts.pop_if(|part| is_error(part)) else {
        return;
    };
    if let Some(error) = error.get("error") {
        set(turn, "error", error.clone());
    }
}

/// An error that the turn has got over is something that the host says.
fn tell_errors(turn: &mut Object) {
    let parts = list_mut(turn, "responseParts").into_iter().flatten();
    for part in parts.filter(|part| is_error(part)) {
        let message = part.pointer("/error/message").cloned();
        *part = notification(&message.unwrap_or_default());
    }
}

fn is_error(part: &Json) -> bool {
    part.get("kind").and_then(Json::as_str) == Some("error")
}

fn notification(content: &Json) -> Json {
    serde_json::json!({ "kind": "systemNotification", "content": content })
}

/// Annotations were made for a turn, whether there was one or not.
fn name_turn(annotation: &mut Object) {
    if let Some(origin) = take_object(annotation, "origin") {
        set(
            annotation,
            "turnId",
            text(&origin, "turnId").unwrap_or_default(),
        );
    }
}

pub(super) fn action(at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
    let kind = envelope.kind();
    let is_new = kind == "chat/turnResume" || kind.starts_with("automation");
    if is_new {
        return Vec::new();
    }
    if kind == "changeset/contentChanged" {
        keep_error(at, &mut envelope);
    }
    vec![envelope]
}

/// In 0.8 new content takes the error of a changeset away, unless it says it
/// again.
fn keep_error(at: &Moment<'_>, envelope: &mut Envelope) {
    let channel = envelope.channel.as_deref().map(Uri::from);
    let state = channel.and_then(|channel| at.world.state(&channel));
    if let Some(ChannelState::Changeset(state)) = state
        && let Some(error) = &state.error
    {
        set(&mut envelope.action, "error", wire::to_json(error));
    }
}

pub(super) fn reword(at: &Moment<'_>, action: Action) -> Vec<Action> {
    match action {
        Action::Chat(ChatAction::TurnResume(resume)) => match at.before {
            Some(ChannelState::Chat(chat)) => go_on(chat, &resume),
            _ => Vec::new(),
        },
        // It changes nothing in 0.9, and would in 0.8.
        Action::Chat(ChatAction::ResponsePart(added))
            if matches!(*added.part, ResponsePart::Error(_)) =>
        {
            Vec::new()
        }
        other => vec![other],
    }
}

/// Says that a failed turn goes on: it is taken away, and begun once more with
/// all it had.
fn go_on(chat: &ChatState, resume: &TurnResume) -> Vec<Action> {
    let mut latest = chat.turns.items().rev();
    let Some(turn) = latest.next().filter(|turn| turn.id == resume.turn_id) else {
        return Vec::new();
    };
    let previous = latest.next().map(|turn| turn.id.clone());
    let is_only = previous.is_none();
    let mut said = vec![ChatAction::Truncated(Truncated { turn_id: previous })];
    if is_only && chat.turns_next_cursor.is_some() {
        // Taking everything away took this as well.
        said.push(ChatAction::TurnsLoaded(TurnsLoaded {
            turns: List::new(),
            turns_next_cursor: chat.turns_next_cursor.clone(),
        }));
    }
    let began = turn.started_at.as_ref();
    said.push(ChatAction::TurnStarted(TurnStarted {
        turn_id: turn.id.clone(),
        started_at: began.unwrap_or(&chat.summary.modified_at).clone(),
        message: Arc::clone(&turn.message),
        queued_message_id: None,
        meta: None,
    }));
    said.extend(turn.response_parts.iter().map(|part| match &**part {
        // A question that is still open is asked once more: a chat waits for
        // what was asked, not for what it shows.
        ResponsePart::InputRequest(question) if question.response.is_none() => {
            let request = question.request.clone();
            ChatAction::InputRequested(Box::new(InputRequested { request }))
        }
        _ => ChatAction::ResponsePart(ResponsePartAdded {
            turn_id: turn.id.clone(),
            part: told(part),
            meta: None,
        }),
    }));
    said.extend(turn.usage.as_ref().map(|usage| {
        ChatAction::Usage(Usage {
            turn_id: turn.id.clone(),
            usage: usage.clone(),
            meta: None,
        })
    }));
    said.into_iter().map(Action::Chat).collect()
}

/// A part of a turn that has got over its errors, see [`tell_errors`].
fn told(part: &Arc<ResponsePart>) -> Arc<ResponsePart> {
    match &**part {
        ResponsePart::Error(failed) => {
            let content = failed.error.message.as_str().into();
            let notification = SystemNotificationPart {
                content,
                meta: None,
            };
            Arc::new(ResponsePart::SystemNotification(notification))
        }
        _ => Arc::clone(part),
    }
}
