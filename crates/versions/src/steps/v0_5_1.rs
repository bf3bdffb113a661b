//! 0.5.2 ↔ 0.5.1: answered questions stay in the response, files are reviewed,
//! what is inside a plugin can be turned off by itself, MCP servers start and
//! stop on demand.
//!
//! Lost: which questions were answered and how, how a command in a terminal
//! ended, which files were reviewed, which skills and prompts are off, and who
//! the host is.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationUpdated, SessionAction, SessionState,
};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::document::Envelope;
use crate::edit::{remove, set, text};
use crate::step::{self, Fate};
use crate::world::Moment;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_5_1
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        if let Action::Session(SessionAction::CustomizationToggled(toggled)) = &action
            && let Some(after) = at.after(&action)
            && let Some(place) = inside(&after, &toggled.id)
        {
            return place.into_iter().collect();
        }
        vec![action]
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "ResponsePart" if text(part, "kind") == Some("inputRequest") => return Fate::Drop,
            "ToolResultContent" if text(part, "type") == Some("terminalComplete") => {
                return Fate::Drop;
            }
            "ChangesetFile" => remove(part, &["reviewed"]),
            "Customization" | "ClientPluginCustomization" => remove(part, &["version", "_meta"]),
            "ChildCustomization" => without_flags(part),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        match envelope.kind() {
            "changeset/filesReviewedChanged" => return Vec::new(),
            // Its part was an answered question.
            "chat/responsePart" if !envelope.action.contains_key("part") => return Vec::new(),
            "session/mcpServerStartRequested" => become_state(&mut envelope.action, "starting"),
            "session/mcpServerStopRequested" => become_state(&mut envelope.action, "stopped"),
            _ => {}
        }
        vec![envelope]
    }

    fn result(&self, _at: &Moment<'_>, method: &str, result: &mut Json) {
        if let ("initialize", Json::Object(result)) = (method, result) {
            remove(result, &["serverInfo", "terminalCommandPrefix"]);
        }
    }
}

/// What all of them but MCP servers have learned since: to be off.
fn without_flags(child: &mut Object) {
    let mcp_server = text(child, "type") == Some("mcpServer");
    let agent = text(child, "type") == Some("agent");
    if !mcp_server {
        remove(child, &["enabled", "disableUserInvocation"]);
    }
    if agent {
        remove(child, &["disableModelInvocation"]);
    } else {
        remove(child, &["_meta"]);
    }
}

/// Whoever wants a server started or stopped says what state it is in.
fn become_state(action: &mut Object, kind: &str) {
    set(action, "type", "session/mcpServerStateChanged");
    set(action, "state", json!({ "kind": kind }));
}

/// What says that something inside a container was turned on or off: for an
/// MCP server the container as it is now, for others nothing. `None` if it is
/// not inside of anything.
fn inside(after: &ChannelState, id: &CustomizationId) -> Option<Option<Action>> {
    let ChannelState::Session(session) = after else {
        return None;
    };
    if tops(session).any(|top| top.id() == Some(id)) {
        return None;
    }
    tops(session).find_map(|top| {
        let mut children = top.children()?.iter();
        let child = children.find(|child| child.id() == Some(id))?;
        let shown = matches!(child, ChildCustomization::McpServer(_));
        Some(shown.then(|| updated(top)))
    })
}

fn tops(session: &SessionState) -> impl Iterator<Item = &Customization> {
    session.customizations.iter().flat_map(|list| list.items())
}

fn updated(container: &Customization) -> Action {
    Action::Session(SessionAction::CustomizationUpdated(CustomizationUpdated {
        customization: container.clone().into(),
    }))
}
