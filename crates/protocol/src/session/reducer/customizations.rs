//! Reducer functions for customizations and MCP servers.

use std::sync::Arc;

use crate::ids::CustomizationId;
use crate::outcome::Outcome;
use crate::session::actions::{
    CustomizationRemoved, CustomizationToggled, CustomizationUpdated, McpServerBackgroundRequested,
    McpServerStartRequested, McpServerStateChanged, McpServerStopRequested,
};
use crate::session::customization::{ChildCustomization, Customization, CustomizationEnablement};
use crate::session::mcp_server::{McpServerCustomization, McpServerStarting, McpServerState};
use crate::session::state::SessionState;
use crate::uri::Uri;

/// The position of a customization: top-level, or a child in a container. Top-level entries
/// take precedence.
enum CustomizationPosition {
    Top(usize),
    Inside(usize, usize),
}

impl SessionState {
    fn find_customization(&self, id: &CustomizationId) -> Option<CustomizationPosition> {
        let list = self.customizations.as_ref()?;
        if let Some(index) = list.find(|entry| entry.id() == Some(id)) {
            return Some(CustomizationPosition::Top(index));
        }
        list.items().enumerate().find_map(|(index, container)| {
            let mut children = container.children()?.iter();
            let child = children.position(|child| child.id() == Some(id))?;
            Some(CustomizationPosition::Inside(index, child))
        })
    }

    fn top_mut(&mut self, index: usize) -> Option<&mut Customization> {
        self.customizations.as_mut()?.item_mut(index)
    }

    fn child_mut(&mut self, index: usize, child: usize) -> Option<&mut ChildCustomization> {
        self.top_mut(index)?.children_mut()?.get_mut(child)
    }

    pub(super) fn toggle_customization(&mut self, action: &CustomizationToggled) -> Outcome {
        let decisions = &action.enablement;
        let toggled = match self.find_customization(&action.id) {
            Some(CustomizationPosition::Top(index)) => {
                self.top_mut(index).map(|top| top.toggle(decisions))
            }
            Some(CustomizationPosition::Inside(index, child)) => self
                .child_mut(index, child)
                .map(|child| child.toggle(decisions)),
            None => None,
        };
        Outcome::applied_if(toggled.is_some())
    }

    pub(super) fn update_customization(&mut self, action: &CustomizationUpdated) -> Outcome {
        let Some(id) = action.customization.id() else {
            return Outcome::NoOp;
        };
        self.customizations
            .get_or_insert_default()
            .upsert(Arc::clone(&action.customization), |entry| {
                entry.id() == Some(id)
            });
        Outcome::Applied
    }

    pub(super) fn remove_customization(&mut self, action: &CustomizationRemoved) -> Outcome {
        match self.find_customization(&action.id) {
            Some(CustomizationPosition::Top(index)) => {
                if let Some(list) = &mut self.customizations {
                    list.remove(index);
                }
                Outcome::Applied
            }
            Some(CustomizationPosition::Inside(index, child)) => {
                if let Some(children) = self.top_mut(index).and_then(Customization::children_mut) {
                    children.remove(child);
                }
                Outcome::Applied
            }
            None => Outcome::NoOp,
        }
    }

    pub(super) fn set_mcp_state(&mut self, action: &McpServerStateChanged) -> Outcome {
        self.change_mcp_server(&action.id, action.state.clone(), action.channel.clone())
    }

    pub(super) fn start_mcp_server(&mut self, action: &McpServerStartRequested) -> Outcome {
        let starting = McpServerStarting { blocking: None };
        self.change_mcp_server(&action.id, McpServerState::Starting(starting), None)
    }

    pub(super) fn stop_mcp_server(&mut self, action: &McpServerStopRequested) -> Outcome {
        self.change_mcp_server(&action.id, McpServerState::Stopped, None)
    }

    pub(super) fn background_mcp_server(
        &mut self,
        action: &McpServerBackgroundRequested,
    ) -> Outcome {
        match self.mcp_server(&action.id).map(|server| &mut server.state) {
            Some(McpServerState::Starting(starting)) if starting.blocking == Some(true) => {
                starting.blocking = Some(false);
                Outcome::Applied
            }
            _ => Outcome::NoOp,
        }
    }

    fn change_mcp_server(
        &mut self,
        id: &CustomizationId,
        state: McpServerState,
        channel: Option<Uri>,
    ) -> Outcome {
        let Some(server) = self.mcp_server(id) else {
            return Outcome::NoOp;
        };
        server.state = state;
        server.channel = channel;
        Outcome::Applied
    }

    /// Returns the MCP server with this id; `None` if the id belongs to another type.
    fn mcp_server(&mut self, id: &CustomizationId) -> Option<&mut McpServerCustomization> {
        match self.find_customization(id)? {
            CustomizationPosition::Top(index) => {
                let Customization::McpServer(server) = self.top_mut(index)? else {
                    return None;
                };
                Some(server)
            }
            CustomizationPosition::Inside(index, child) => {
                self.child_mut(index, child)?.as_mcp_server_mut()
            }
        }
    }
}

impl Customization {
    /// Sets the enablement. Plugins and MCP servers store the decisions; a directory stores
    /// only the effective value (CUS-12).
    fn toggle(&mut self, decisions: &[CustomizationEnablement]) {
        match self {
            Customization::Plugin(plugin) => plugin.enablement = none_if_empty(decisions),
            Customization::Directory(directory) => {
                directory.enabled = CustomizationEnablement::effective(decisions);
            }
            Customization::McpServer(server) => server.enablement = none_if_empty(decisions),
            Customization::Unknown(_) => {}
        }
    }
}

impl ChildCustomization {
    fn toggle(&mut self, decisions: &[CustomizationEnablement]) {
        if let Some(leaf) = self.leaf_mut() {
            leaf.enabled = Some(CustomizationEnablement::effective(decisions));
        } else if let ChildCustomization::McpServer(server) = self {
            server.enablement = none_if_empty(decisions);
        }
    }
}

/// Returns `None` for an empty list, so that the field is omitted from the state.
fn none_if_empty(decisions: &[CustomizationEnablement]) -> Option<Vec<CustomizationEnablement>> {
    (!decisions.is_empty()).then(|| decisions.to_vec())
}
