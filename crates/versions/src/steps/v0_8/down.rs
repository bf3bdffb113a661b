//! Downgrades from 0.9 to 0.8.

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, InputRequested, ResponsePart, ResponsePartAdded, SystemNotificationPart,
    Truncated, TurnResume, TurnStarted, TurnsLoaded, Usage,
};
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};

use super::closed_enums;
use crate::document::JsonEnvelope;
use crate::edit::{
    list_mut, move_field, remove_fields, replace_text, set_field, take_object, text_field,
};
use crate::state_source::TranslationContext;

pub(super) fn downgrade_part(name: &str, part: &mut Object) {
    match name {
        "SessionState" => {
            replace_text(part, "lifecycle", "failed", "creationFailed");
            remove_fields(part, &["origin"]);
        }
        "SessionSummary" | "PartialSessionSummary" => remove_fields(part, &["origin"]),
        "InitializeResult" => remove_fields(part, &["automations", "_meta"]),
        "Turn" => {
            move_error_to_field(part);
            errors_to_notifications(part);
        }
        "ActiveTurn" => errors_to_notifications(part),
        "ChatError" => {
            if let Some(mut failed) = take_object(part, "part") {
                move_field(&mut failed, part, "error");
            }
        }
        "TerminalState" | "TerminalInfo" => {
            if let Some(mut lifecycle) = take_object(part, "lifecycle") {
                move_field(&mut lifecycle, part, "exitCode");
            }
        }
        "TerminalClaim" => remove_fields(part, &["chat"]),
        "Annotation" | "AnnotationUpdated" => flatten_origin(part),
        _ => {}
    }
    closed_enums::close_enums(name, part);
}

/// Moves the error of a failed turn from its last part to the field `error`.
fn move_error_to_field(turn: &mut Object) {
    if text_field(turn, "state") != Some("error") {
        return;
    }
    let Some(parts) = list_mut(turn, "responseParts") else {
        return;
    };
    let Some(error) = parts.pop_if(|part| is_error(part)) else {
        return;
    };
    if let Some(error) = error.get("error") {
        set_field(turn, "error", error.clone());
    }
}

/// Converts the errors of a turn that was resumed to system notifications.
fn errors_to_notifications(turn: &mut Object) {
    let parts = list_mut(turn, "responseParts").into_iter().flatten();
    for part in parts.filter(|part| is_error(part)) {
        let message = part.pointer("/error/message").cloned();
        *part = notification_part(&message.unwrap_or_default());
    }
}

fn is_error(part: &Json) -> bool {
    part.get("kind").and_then(Json::as_str) == Some("error")
}

fn notification_part(content: &Json) -> Json {
    serde_json::json!({ "kind": "systemNotification", "content": content })
}

/// Converts the origin of an annotation to a turn id, which is required in 0.8 and can be
/// empty.
fn flatten_origin(annotation: &mut Object) {
    if let Some(origin) = take_object(annotation, "origin") {
        set_field(
            annotation,
            "turnId",
            text_field(&origin, "turnId").unwrap_or_default(),
        );
    }
}

pub(super) fn downgrade_action(
    context: &TranslationContext<'_>,
    mut envelope: JsonEnvelope,
) -> Vec<JsonEnvelope> {
    let kind = envelope.action_type();
    let is_new = kind == "chat/turnResume" || kind.starts_with("automation");
    if is_new {
        return Vec::new();
    }
    if kind == "changeset/contentChanged" {
        repeat_error(context, &mut envelope);
    }
    vec![envelope]
}

/// Adds the current error to new content, because in 0.8 new content without an error clears
/// it.
fn repeat_error(context: &TranslationContext<'_>, envelope: &mut JsonEnvelope) {
    let channel = envelope.channel.as_deref().map(Uri::from);
    let state = channel.and_then(|channel| context.states.state(&channel));
    if let Some(ChannelState::Changeset(state)) = state
        && let Some(error) = &state.error
    {
        set_field(&mut envelope.action, "error", wire::to_json(error));
    }
}

pub(super) fn rewrite_action(context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
    if let Action::Chat(ChatAction::TurnResume(resume)) = &action {
        let chat = context.state_before.and_then(ChannelState::as_chat);
        return chat.map_or_else(Vec::new, |chat| rewrite_resume(chat, resume));
    }
    // An added error part is a no-op in 0.9, but not in 0.8.
    if let Action::Chat(ChatAction::ResponsePart(added)) = &action
        && matches!(*added.part, ResponsePart::Error(_))
    {
        return Vec::new();
    }
    vec![action]
}

/// Rewrites the resumption of a failed turn: removes the turn, and starts it again with its
/// previous content.
fn rewrite_resume(chat: &ChatState, resume: &TurnResume) -> Vec<Action> {
    let mut latest = chat.turns.items().rev();
    let Some(turn) = latest.next().filter(|turn| turn.id == resume.turn_id) else {
        return Vec::new();
    };
    let previous = latest.next().map(|turn| turn.id.clone());
    let is_only = previous.is_none();
    let mut said = vec![ChatAction::Truncated(Truncated { turn_id: previous })];
    if is_only && chat.turns_next_cursor.is_some() {
        // Truncating all turns has cleared the cursor, so it is set again.
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
        // An open input request is requested again, because the status depends on the request
        // and not on the part.
        ResponsePart::InputRequest(question) if question.response.is_none() => {
            let request = question.request.clone();
            ChatAction::InputRequested(Box::new(InputRequested { request }))
        }
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::ToolCall(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Error(_)
        | ResponsePart::Unknown(_) => ChatAction::ResponsePart(ResponsePartAdded {
            turn_id: turn.id.clone(),
            part: error_to_notification(part),
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

/// Converts an error part of a resumed turn, see [`errors_to_notifications`].
fn error_to_notification(part: &Arc<ResponsePart>) -> Arc<ResponsePart> {
    let ResponsePart::Error(failed) = &**part else {
        return Arc::clone(part);
    };
    let content = failed.error.message.as_str().into();
    let notification = SystemNotificationPart {
        content,
        meta: None,
    };
    Arc::new(ResponsePart::SystemNotification(notification))
}
