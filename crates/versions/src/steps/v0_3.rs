//! 0.4 ↔ 0.3: a session and its chat are one channel.
//!
//! A client of 0.3 that subscribes to a session is also subscribed to one of its chats.
//! [`TargetClient`](crate::TargetClient) stores the mapping, which is fixed when the client
//! subscribes. Any other chat appears as a session of its own, with the URI of the chat (for
//! example the URI in a tool call that spawned a worker chat).
//!
//! Lost: the list of other chats of a session, annotations, disabled changeset operations.

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

/// Actions on a chat: prefixed `chat/` in 0.4, `session/` in 0.3.
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

/// After these actions a client of 0.3 treats the session as unread, without an explicit
/// action.
const UNREAD_ACTIONS: &[&str] = &["turnStarted", "inputRequested"];

/// Actions on the chat catalogue of a session.
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
        // 0.3 has watches; only their state is not in a snapshot.
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
        // In 0.3 only the actions on tool calls have `_meta`.
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

/// Returns an action that sets the read flag again, if the session still has it.
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

/// Removes `_meta` from the error of a turn, which is in a field that only releases before 0.9
/// have.
fn strip_error_meta(part: &mut Object) {
    if let Some(error) = object_mut(part, "error") {
        remove_fields(error, &["_meta"]);
    }
}

fn is_disabled(action: &Object) -> bool {
    text_field(action, "status") == Some("disabled")
}

/// Removes snapshots of chats that are merged with a session for the client, and replaces such
/// chats in `missing` by the URI of the session.
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
