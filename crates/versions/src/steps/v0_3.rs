//! 0.4 ↔ 0.3: a session and its conversation are one.
//!
//! A client of 0.3 that follows a session follows one of its chats as well,
//! without knowing: which one is the viewer's to say, and stays as it was when
//! the client subscribed. Another chat is a session of its own to it, under
//! the chat's address (the address that a tool call gives for its worker).
//!
//! Lost: that a session has other chats, annotations, operations that can't be
//! used right now.

mod changesets;
mod merge;
#[cfg(test)]
mod tests;
mod up;

use std::iter;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{list_mut, object_mut, remove_fields, replace_text, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_3;

/// What happens in a conversation: `chat/…` in 0.4, `session/…` before.
const CHAT_ACTIONS: &[&str] = &[
    "turnStarted",
    "delta",
    "responsePart",
    "reasoning",
    "usage",
    "turnComplete",
    "turnCancelled",
    "error",
    "toolCallStart",
    "toolCallDelta",
    "toolCallReady",
    "toolCallConfirmed",
    "toolCallComplete",
    "toolCallResultConfirmed",
    "toolCallContentChanged",
    "pendingMessageSet",
    "pendingMessageRemoved",
    "queuedMessagesReordered",
    "inputRequested",
    "inputAnswerChanged",
    "inputCompleted",
    "truncated",
];

/// After these a client takes the session for unread, without being told.
const UNREAD_ACTIONS: &[&str] = &["turnStarted", "inputRequested"];

/// What happens to the list of a session's chats.
const CHAT_LIST_ACTIONS: &[&str] = &[
    "session/chatAdded",
    "session/chatRemoved",
    "session/chatUpdated",
    "session/defaultChatChanged",
];

impl step::VersionStep for StepV0_3 {
    fn older_release(&self) -> Release {
        Release::V0_3
    }

    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        !matches!(kind, ChannelKind::Annotations | ChannelKind::ResourceWatch)
    }

    fn can_subscribe(&self, kind: ChannelKind) -> bool {
        // 0.3 has watches; only what they watch is not in a snapshot.
        kind != ChannelKind::Annotations
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        changesets::rewrite_changeset(context, action)
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "RootState" | "ErrorInfo" => remove_fields(part, &["_meta"]),
            "Turn" => strip_error_meta(part),
            "SessionSummary" | "PartialSessionSummary" => remove_fields(part, &["annotations"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => {
                remove_fields(part, &["additionalProperties"]);
            }
            "ChangesetOperation" => {
                if text_field(part, "status") == Some("disabled") {
                    return PartFate::Drop;
                }
                remove_fields(part, &["group"]);
            }
            "Attachment" if text_field(part, "type") == Some("annotations") => {
                replace_text(part, "type", "annotations", "simple");
                remove_fields(part, &["resource", "annotationIds"]);
            }
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        let kind = envelope.action_type();
        if CHAT_LIST_ACTIONS.contains(&kind) || kind.starts_with("annotations/") {
            return Vec::new();
        }
        if kind == "changeset/operationStatusChanged" && is_disabled(&envelope.action) {
            return Vec::new();
        }
        let Some(name) = kind.strip_prefix("chat/").map(str::to_owned) else {
            return vec![envelope];
        };
        if !CHAT_ACTIONS.contains(&name.as_str()) {
            return Vec::new();
        }
        // Only tool calls had room for more.
        if !name.starts_with("toolCall") {
            remove_fields(&mut envelope.action, &["_meta"]);
        }
        strip_error_meta(&mut envelope.action);
        set_field(&mut envelope.action, "type", format!("session/{name}"));
        if let Some(channel) = &mut envelope.channel
            && let Some(session) = context.client.session_of(&Uri::from(channel.as_str()))
        {
            *channel = session.to_string();
        }
        let read = if UNREAD_ACTIONS.contains(&name.as_str()) {
            restored_read_flag(context, &envelope)
        } else {
            None
        };
        iter::once(envelope).chain(read).collect()
    }

    fn downgrade_state(
        &self,
        context: &TranslationContext<'_>,
        kind: ChannelKind,
        resource: &mut String,
        state: &mut Object,
    ) {
        let channel = Uri::from(resource.as_str());
        match kind {
            ChannelKind::Session => merge::add_chat_to_session(context, &channel, state),
            ChannelKind::Chat => merge::chat_to_session(context, &channel, state),
            ChannelKind::Terminal
            | ChannelKind::Changeset
            | ChannelKind::ResourceWatch
            | ChannelKind::Canvas
            | ChannelKind::AutomationRun
            | ChannelKind::Root
            | ChannelKind::Annotations
            | ChannelKind::Automations => {}
        }
    }

    fn downgrade_result(&self, context: &TranslationContext<'_>, method: &str, result: &mut Json) {
        if method == "reconnect"
            && let Json::Object(result) = result
        {
            merge_chat_results(context, result);
        }
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        if name == "Message" {
            up::set_message_origin(part);
        }
        PartFate::Keep
    }

    fn upgrade_params(
        &self,
        context: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        up::route_params(context, call)?;
        Ok(Vec::new())
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        up::route_dispatch(context, dispatch)
    }
}

/// Says that a session was read, if it still counts as that.
fn restored_read_flag(
    context: &TranslationContext<'_>,
    news: &JsonEnvelope,
) -> Option<JsonEnvelope> {
    let session = Uri::from(news.channel.as_deref()?);
    let status = context.states.session(&session)?.metadata.status;
    if news.rejection_reason.is_some() || !status.contains(SessionStatus::IS_READ) {
        return None;
    }
    let mut read = Object::new();
    set_field(&mut read, "type", "session/isReadChanged");
    set_field(&mut read, "isRead", true);
    Some(news.with_action(read))
}

/// The error of a turn stands in a field that only older releases have.
fn strip_error_meta(part: &mut Object) {
    if let Some(error) = object_mut(part, "error") {
        remove_fields(error, &["_meta"]);
    }
}

fn is_disabled(action: &Object) -> bool {
    text_field(action, "status") == Some("disabled")
}

/// A chat that the client sees as a session has no snapshot of its own, and
/// is missing under the session's address.
fn merge_chat_results(context: &TranslationContext<'_>, result: &mut Object) {
    let session_of = |address: Option<&str>| {
        let session = context.client.session_of(&Uri::from(address?))?;
        Some(session.to_string())
    };
    if let Some(snapshots) = list_mut(result, "snapshots") {
        let address = |snapshot: &Json| session_of(snapshot.get("resource")?.as_str());
        snapshots.retain(|snapshot| address(snapshot).is_none());
    }
    if let Some(missing) = list_mut(result, "missing") {
        let mut named: Vec<Json> = Vec::new();
        for address in missing.drain(..) {
            let shown = session_of(address.as_str()).map_or(address, Json::String);
            if !named.contains(&shown) {
                named.push(shown);
            }
        }
        *missing = named;
    }
}
