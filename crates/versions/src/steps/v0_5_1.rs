//! 0.5.2 ↔ 0.5.1: from 0.5.2 on, answered input requests stay in the response, files can be
//! reviewed, children of a plugin can be disabled separately, and MCP servers can be started
//! and stopped.
//!
//! Lost: answered input requests and their answers, the results of terminal commands, the
//! reviewed flags, disabled skills and prompts, and the server info.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationUpdated, SessionAction, SessionState,
};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::document::JsonEnvelope;
use crate::edit::{remove_fields, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::PartFate;

pub(crate) struct StepV0_5_1;

impl step::VersionStep for StepV0_5_1 {
    fn older_release(&self) -> Release {
        Release::V0_5_1
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        if let Action::Session(SessionAction::CustomizationToggled(toggled)) = &action
            && let Some(after) = context.state_after(&action)
            && let Some(place) = child_toggle_action(&after, &toggled.id)
        {
            return place.into_iter().collect();
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
            "ResponsePart" if text_field(part, "kind") == Some("inputRequest") => {
                return PartFate::Drop;
            }
            "ToolResultContent" if text_field(part, "type") == Some("terminalComplete") => {
                return PartFate::Drop;
            }
            "ChangesetFile" => remove_fields(part, &["reviewed"]),
            "Customization" | "ClientPluginCustomization" => {
                remove_fields(part, &["version", "_meta"])
            }
            "ChildCustomization" => strip_enabled_flags(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        match envelope.action_type() {
            "changeset/filesReviewedChanged" => return Vec::new(),
            // The removed part was an answered input request.
            "chat/responsePart" if !envelope.action.contains_key("part") => return Vec::new(),
            "session/mcpServerStartRequested" => to_state_change(&mut envelope.action, "starting"),
            "session/mcpServerStopRequested" => to_state_change(&mut envelope.action, "stopped"),
            _ => {}
        }
        vec![envelope]
    }

    fn downgrade_result(&self, _at: &TranslationContext<'_>, method: &str, result: &mut Json) {
        if let ("initialize", Json::Object(result)) = (method, result) {
            remove_fields(result, &["serverInfo", "terminalCommandPrefix"]);
        }
    }
}

/// Removes the flags that children other than MCP servers have since 0.5.2.
fn strip_enabled_flags(child: &mut Object) {
    let mcp_server = text_field(child, "type") == Some("mcpServer");
    let agent = text_field(child, "type") == Some("agent");
    if !mcp_server {
        remove_fields(child, &["enabled", "disableUserInvocation"]);
    }
    if agent {
        remove_fields(child, &["disableModelInvocation"]);
    } else {
        remove_fields(child, &["_meta"]);
    }
}

/// Converts a start or stop request of an MCP server to a state change.
fn to_state_change(action: &mut Object, kind: &str) {
    set_field(action, "type", "session/mcpServerStateChanged");
    set_field(action, "state", json!({ "kind": kind }));
}

/// Returns the action that replaces the toggle of a child: an update of its container for an
/// MCP server, nothing for other children. Returns `None` if the id is not that of a child.
fn child_toggle_action(after: &ChannelState, id: &CustomizationId) -> Option<Option<Action>> {
    let session = after.as_session()?;
    if top_level_customizations(session).any(|top| top.id() == Some(id)) {
        return None;
    }
    top_level_customizations(session).find_map(|top| {
        let mut children = top.children()?.iter();
        let child = children.find(|child| child.id() == Some(id))?;
        let shown = matches!(child, ChildCustomization::McpServer(_));
        Some(shown.then(|| customization_updated(top)))
    })
}

fn top_level_customizations(session: &SessionState) -> impl Iterator<Item = &Customization> {
    session.customizations.iter().flat_map(|list| list.items())
}

fn customization_updated(container: &Customization) -> Action {
    Action::Session(SessionAction::CustomizationUpdated(CustomizationUpdated {
        customization: container.clone().into(),
    }))
}
