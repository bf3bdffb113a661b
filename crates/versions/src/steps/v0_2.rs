//! 0.3 ↔ 0.2: messages were the user's, tools were a client's or nobody's,
//! and servers of tools stood in plugins only.
//!
//! Lost: who wrote a message, servers of tools and how they do, which server a
//! tool is of, how much a session changed, how operations on changes do.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{
    Customization, CustomizationsChanged, McpServerCustomization, SessionAction, SessionState,
};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;
use serde_json::json;

use crate::document::Envelope;
use crate::edit::{default, object_mut, remove, rename, set, take_object, text};
use crate::step::{self, Fate};
use crate::world::Moment;

pub(crate) struct Step;

/// Actions that 0.2 has nothing like.
const NEW: &[&str] = &[
    "session/mcpServerStateChanged",
    "changeset/operationStatusChanged",
];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_2
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        if let Action::Session(happened) = &action
            && let SessionAction::CustomizationUpdated(update) = happened
            && let Customization::McpServer(server) = &*update.customization
            && let Some(ChannelState::Session(before)) = at.before
        {
            return all_if_seen(before, server, happened);
        }
        vec![action]
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Turn" | "ActiveTurn" | "PendingMessage" | "TurnStarted" | "PendingMessageSet" => {
                rename(part, "message", "userMessage");
            }
            "Message" => remove(part, &["origin"]),
            "ToolCall" | "ToolCallStart" => name_client(part),
            "SessionSummary" | "PartialSessionSummary" => remove(part, &["changes"]),
            "Changeset" => remove(part, &["changeKind"]),
            "ChangesetOperation" => remove(part, &["status", "error"]),
            "Customization" if is_server(part) => return Fate::Drop,
            "ChildCustomization" => forget_state(part),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        let kind = envelope.kind();
        let is_empty = kind == "session/customizationUpdated"
            && !envelope.action.contains_key("customization");
        if is_empty || NEW.contains(&kind) {
            return Vec::new();
        }
        vec![envelope]
    }

    fn snapshot(
        &self,
        _at: &Moment<'_>,
        kind: ChannelKind,
        _resource: &mut String,
        state: &mut Object,
    ) {
        // A chat is a session by now.
        if !matches!(kind, ChannelKind::Session | ChannelKind::Chat) {
            return;
        }
        if let Some(changesets) = state.shift_remove("changesets")
            && let Some(summary) = object_mut(state, "summary")
        {
            set(summary, "changesets", changesets);
        }
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "TurnStarted" | "PendingMessageSet" => rename(part, "userMessage", "message"),
            "Message" => default(part, "origin", json!({ "kind": "user" })),
            "ChildCustomization" if is_server(part) => {
                default(part, "enabled", true);
                default(part, "state", json!({ "kind": "stopped" }));
            }
            _ => {}
        }
        Fate::Keep
    }
}

/// A server is not shown. What is shown changes all the same if there was
/// something else by its name, or nothing at all.
fn all_if_seen(
    before: &SessionState,
    server: &McpServerCustomization,
    happened: &SessionAction,
) -> Vec<Action> {
    let shown = before.customizations.as_ref().map(|all| {
        let mut all = all.items().filter(|one| one.id() == Some(&server.base.id));
        all.any(|one| !matches!(one, Customization::McpServer(_)))
    });
    if shown == Some(false) {
        return Vec::new();
    }
    let mut after = before.clone();
    if after.reduce(happened) != Outcome::Applied {
        return Vec::new();
    }
    let customizations = after.customizations.unwrap_or_default();
    let all = CustomizationsChanged { customizations };
    vec![Action::Session(SessionAction::CustomizationsChanged(all))]
}

/// Only a client can be said to have given a tool.
fn name_client(call: &mut Object) {
    let Some(mut contributor) = take_object(call, "contributor") else {
        return;
    };
    if text(&contributor, "kind") == Some("client")
        && let Some(client) = contributor.shift_remove("clientId")
    {
        set(call, "toolClientId", client);
    }
}

fn is_server(customization: &Object) -> bool {
    text(customization, "type") == Some("mcpServer")
}

/// Of what is in a plugin there is only what it is.
fn forget_state(child: &mut Object) {
    match text(child, "type") {
        Some("mcpServer") => remove(child, &["enabled", "state", "channel", "mcpApp"]),
        Some("agent") => remove(child, &["_meta"]),
        _ => {}
    }
}
