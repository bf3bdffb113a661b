//! 0.3 ↔ 0.2: all messages are from the user, only clients contribute tools, and MCP servers
//! exist only in plugins.
//!
//! Lost: the origin of a message, top-level MCP servers and all server states, the server of a
//! tool, the counts of changes of a session, the status of changeset operations.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{
    Customization, CustomizationsChanged, McpServerCustomization, SessionAction, SessionState,
};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;
use serde_json::json;

use crate::document::JsonEnvelope;
use crate::edit::{
    object_mut, remove_fields, rename_field, set_default, set_field, take_object, text_field,
};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::PartFate;

pub(crate) struct StepV0_2;

/// Actions that 0.2 does not have.
const ACTIONS_SINCE_V0_3: &[&str] = &[
    "session/mcpServerStateChanged",
    "changeset/operationStatusChanged",
];

impl step::VersionStep for StepV0_2 {
    fn older_release(&self) -> Release {
        Release::V0_2
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        if let Action::Session(happened) = &action
            && let SessionAction::CustomizationUpdated(update) = happened
            && let Customization::McpServer(server) = &*update.customization
            && let Some(ChannelState::Session(before)) = context.state_before
        {
            return replace_visible_list(before, server, happened);
        }
        vec![action]
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "Turn" | "ActiveTurn" | "PendingMessage" | "TurnStarted" | "PendingMessageSet" => {
                rename_field(part, "message", "userMessage");
            }
            "Message" => remove_fields(part, &["origin"]),
            "ToolCall" | "ToolCallStart" => set_tool_client(part),
            "SessionSummary" | "PartialSessionSummary" => remove_fields(part, &["changes"]),
            "Changeset" => remove_fields(part, &["changeKind"]),
            "ChangesetOperation" => remove_fields(part, &["status", "error"]),
            "Customization" if is_mcp_server(part) => return PartFate::Drop,
            "ChildCustomization" => strip_child_state(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        let kind = envelope.action_type();
        let is_empty = kind == "session/customizationUpdated"
            && !envelope.action.contains_key("customization");
        if is_empty || ACTIONS_SINCE_V0_3.contains(&kind) {
            return Vec::new();
        }
        vec![envelope]
    }

    fn downgrade_state(
        &self,
        _at: &TranslationContext<'_>,
        kind: ChannelKind,
        _resource: &mut String,
        state: &mut Object,
    ) {
        // At this point a chat is already encoded as a session.
        if !matches!(kind, ChannelKind::Session | ChannelKind::Chat) {
            return;
        }
        if let Some(changesets) = state.shift_remove("changesets")
            && let Some(summary) = object_mut(state, "summary")
        {
            set_field(summary, "changesets", changesets);
        }
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        match name {
            "TurnStarted" | "PendingMessageSet" => rename_field(part, "userMessage", "message"),
            "Message" => set_default(part, "origin", json!({ "kind": "user" })),
            "ChildCustomization" if is_mcp_server(part) => {
                set_default(part, "enabled", true);
                set_default(part, "state", json!({ "kind": "stopped" }));
            }
            _ => {}
        }
        PartFate::Keep
    }
}

/// Replaces the visible list of customizations. Top-level MCP servers are not visible, but the
/// list still changes if another customization had the same id, or if there was no list.
fn replace_visible_list(
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

/// Converts the contributor of a tool call; 0.2 can only name a client.
fn set_tool_client(call: &mut Object) {
    let Some(mut contributor) = take_object(call, "contributor") else {
        return;
    };
    if text_field(&contributor, "kind") == Some("client")
        && let Some(client) = contributor.shift_remove("clientId")
    {
        set_field(call, "toolClientId", client);
    }
}

fn is_mcp_server(customization: &Object) -> bool {
    text_field(customization, "type") == Some("mcpServer")
}

/// Removes the state of a child; 0.2 has only its identity.
fn strip_child_state(child: &mut Object) {
    match text_field(child, "type") {
        Some("mcpServer") => remove_fields(child, &["enabled", "state", "channel", "mcpApp"]),
        Some("agent") => remove_fields(child, &["_meta"]),
        _ => {}
    }
}
