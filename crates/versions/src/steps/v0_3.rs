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

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{list_mut, object_mut, remove, replace_text, set, text};
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// What happens in a conversation: `chat/…` in 0.4, `session/…` before.
const CONVERSATION: &[&str] = &[
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
const NEWS: &[&str] = &["turnStarted", "inputRequested"];

/// What happens to the list of a session's chats.
const CATALOGUE: &[&str] = &[
    "session/chatAdded",
    "session/chatRemoved",
    "session/chatUpdated",
    "session/defaultChatChanged",
];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_3
    }

    fn knows(&self, kind: ChannelKind) -> bool {
        !matches!(kind, ChannelKind::Annotations | ChannelKind::ResourceWatch)
    }

    fn follows(&self, kind: ChannelKind) -> bool {
        // 0.3 has watches; only what they watch is not in a snapshot.
        kind != ChannelKind::Annotations
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        changesets::reword(at, action)
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "RootState" | "ErrorInfo" => remove(part, &["_meta"]),
            "Turn" => forget_details(part),
            "SessionSummary" | "PartialSessionSummary" => remove(part, &["annotations"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => {
                remove(part, &["additionalProperties"]);
            }
            "ChangesetOperation" => {
                if text(part, "status") == Some("disabled") {
                    return Fate::Drop;
                }
                remove(part, &["group"]);
            }
            "Attachment" if text(part, "type") == Some("annotations") => {
                replace_text(part, "type", "annotations", "simple");
                remove(part, &["resource", "annotationIds"]);
            }
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        let kind = envelope.kind();
        if CATALOGUE.contains(&kind) || kind.starts_with("annotations/") {
            return Vec::new();
        }
        if kind == "changeset/operationStatusChanged" && is_disabled(&envelope.action) {
            return Vec::new();
        }
        let Some(name) = kind.strip_prefix("chat/").map(str::to_owned) else {
            return vec![envelope];
        };
        if !CONVERSATION.contains(&name.as_str()) {
            return Vec::new();
        }
        // Only tool calls had room for more.
        if !name.starts_with("toolCall") {
            remove(&mut envelope.action, &["_meta"]);
        }
        forget_details(&mut envelope.action);
        set(&mut envelope.action, "type", format!("session/{name}"));
        if let Some(channel) = &mut envelope.channel
            && let Some(session) = at.viewer.session_of(&Uri::from(channel.as_str()))
        {
            *channel = session.to_string();
        }
        let read = if NEWS.contains(&name.as_str()) {
            still_read(at, &envelope)
        } else {
            None
        };
        iter::once(envelope).chain(read).collect()
    }

    fn snapshot(
        &self,
        at: &Moment<'_>,
        kind: ChannelKind,
        resource: &mut String,
        state: &mut Object,
    ) {
        let channel = Uri::from(resource.as_str());
        match kind {
            ChannelKind::Session => merge::add_conversation(at, &channel, state),
            ChannelKind::Chat => merge::make_session(at, &channel, state),
            _ => {}
        }
    }

    fn result(&self, at: &Moment<'_>, method: &str, result: &mut Json) {
        if method == "reconnect"
            && let Json::Object(result) = result
        {
            hide_pairs(at, result);
        }
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        if name == "Message" {
            up::give_origin(part);
        }
        Fate::Keep
    }

    fn params(&self, at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        up::params(at, call)?;
        Ok(Vec::new())
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        up::dispatch(at, dispatch)
    }
}

/// Says that a session was read, if it still counts as that.
fn still_read(at: &Moment<'_>, news: &Envelope) -> Option<Envelope> {
    let session = Uri::from(news.channel.as_deref()?);
    let status = at.world.session(&session)?.metadata.status;
    if news.rejection.is_some() || !status.contains(SessionStatus::IS_READ) {
        return None;
    }
    let mut read = Object::new();
    set(&mut read, "type", "session/isReadChanged");
    set(&mut read, "isRead", true);
    Some(news.with(read))
}

/// The error of a turn stands in a field that only older releases have.
fn forget_details(part: &mut Object) {
    if let Some(error) = object_mut(part, "error") {
        remove(error, &["_meta"]);
    }
}

fn is_disabled(action: &Object) -> bool {
    text(action, "status") == Some("disabled")
}

/// A chat that the client sees as a session has no snapshot of its own, and
/// is missing under the session's address.
fn hide_pairs(at: &Moment<'_>, result: &mut Object) {
    let session_of = |address: Option<&str>| {
        let session = at.viewer.session_of(&Uri::from(address?))?;
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
