//! Actions on sessions.

use std::collections::BTreeSet;

use agenthost_protocol::ids::{ClientId, CustomizationId};
use agenthost_protocol::session::{Customization, SessionAction, SessionState};

use super::unknown;
use crate::refusal::Refusal;

/// Longest title that is kept (SEC-5).
const TITLE: usize = 500;

pub(super) fn judge(
    session: &SessionState,
    client: &ClientId,
    action: SessionAction,
) -> Result<SessionAction, Refusal> {
    match &action {
        SessionAction::TitleChanged(change) => {
            if change.title.chars().count() > TITLE {
                let reason = format!("a title has at most {TITLE} characters");
                return Err(Refusal::Invalid(reason));
            }
        }
        SessionAction::ActiveClientSet(set) => {
            if set.active_client.client_id != *client {
                return Err(Refusal::NotSelf);
            }
            let mut names = BTreeSet::new();
            let mut tools = set.active_client.tools.iter();
            if let Some(twice) = tools.find(|tool| !names.insert(&tool.name)) {
                let name: String = twice.name.chars().take(60).collect();
                return Err(Refusal::Invalid(format!("tool `{name}` is given twice")));
            }
        }
        SessionAction::ActiveClientRemoved(removed) => {
            if removed.client_id != *client {
                return Err(Refusal::NotSelf);
            }
        }
        SessionAction::WorkingDirectorySet(_)
        | SessionAction::WorkingDirectoryRemoved(_)
        | SessionAction::WorkingDirectoryReplaced(_) => {
            return Err(Refusal::Unsupported("several working directories"));
        }
        SessionAction::CustomizationToggled(toggle) => known(session, &toggle.id)?,
        SessionAction::McpServerStartRequested(request) => known(session, &request.id)?,
        SessionAction::McpServerStopRequested(request) => known(session, &request.id)?,
        SessionAction::McpServerBackgroundRequested(request) => known(session, &request.id)?,
        SessionAction::ConfigChanged(change) => configurable(session, change.config.keys())?,
        SessionAction::IsReadChanged(_) | SessionAction::IsArchivedChanged(_) => {}
        SessionAction::Ready(_)
        | SessionAction::CreationFailed(_)
        | SessionAction::ChatAdded(_)
        | SessionAction::ChatRemoved(_)
        | SessionAction::ChatUpdated(_)
        | SessionAction::ChatsReordered(_)
        | SessionAction::DefaultChatChanged(_)
        | SessionAction::ServerToolsChanged(_)
        | SessionAction::InputNeededSet(_)
        | SessionAction::InputNeededRemoved(_)
        | SessionAction::CustomizationsChanged(_)
        | SessionAction::CustomizationUpdated(_)
        | SessionAction::CustomizationRemoved(_)
        | SessionAction::McpServerStateChanged(_)
        | SessionAction::ActivityChanged(_)
        | SessionAction::ChangesetsChanged(_)
        | SessionAction::MetaChanged(_) => return Err(Refusal::HostOnly(action.info().name)),
    }
    Ok(action)
}

fn known(session: &SessionState, id: &CustomizationId) -> Result<(), Refusal> {
    let is = |customization: &Customization| {
        let children = customization.children().into_iter().flatten();
        let mut ids = children.map(|child| child.id()).chain([customization.id()]);
        ids.any(|known| known == Some(id))
    };
    let mut all = session.customizations.iter().flat_map(|list| list.items());
    if all.any(is) {
        Ok(())
    } else {
        Err(unknown("customization", id))
    }
}

/// Only what is marked so can change while a session lives (CFG-6).
fn configurable<'a>(
    session: &SessionState,
    mut keys: impl Iterator<Item = &'a String>,
) -> Result<(), Refusal> {
    let Some(config) = &session.config else {
        return Err(Refusal::Unsupported("configuration of a session"));
    };
    let fixed = keys.find(|key| {
        let property = config.schema.properties.get(*key);
        property.is_none_or(|property| property.session_mutable != Some(true))
    });
    match fixed {
        None => Ok(()),
        Some(key) => Err(unknown("property that can be changed", key)),
    }
}
