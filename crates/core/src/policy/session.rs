//! Checks client actions on sessions.

use std::collections::BTreeSet;

use agenthost_protocol::ids::{ClientId, CustomizationId};
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{
    ActiveClient, Customization, SessionAction, SessionConfigChanged, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::encoded_len;

use super::{check_multiple_directories, check_name, check_title, unknown};
use crate::customization::{McpServerRef, check_decisions, find_server, sort_decisions};
use crate::host::error::Refusal;
use crate::policy::limits::{MAX_ACTIVE_CLIENT_BYTES, check_bytes};
use crate::resource::uris;
use crate::session::config::{check_value, with_defaults};

pub(super) fn check_session_action(
    agent: Option<&AgentInfo>,
    session: &SessionState,
    client: &ClientId,
    mut action: SessionAction,
) -> Result<SessionAction, Refusal> {
    match &mut action {
        SessionAction::TitleChanged(change) => {
            check_title(&change.title)?;
        }
        SessionAction::ActiveClientSet(set) => {
            check_active_client(client, &set.active_client)?;
        }
        SessionAction::ActiveClientRemoved(removed) => {
            if removed.client_id != *client {
                return Err(Refusal::NotSelf);
            }
        }
        SessionAction::WorkingDirectorySet(set) => {
            check_multiple_directories(agent)?;
            check_directory(&set.directory)?;
            normalize_directory(session, &mut set.directory);
        }
        SessionAction::WorkingDirectoryRemoved(removed) => {
            let can = check_multiple_directories(agent)?;
            normalize_directory(session, &mut removed.directory);
            let fixed =
                can.primary_replacement == Some(true) || can.immutable_primary == Some(true);
            if fixed && is_primary(session, &removed.directory) {
                return Err(Refusal::PrimaryDirectory);
            }
        }
        SessionAction::WorkingDirectoryReplaced(replaced) => {
            let can = check_multiple_directories(agent)?;
            check_directory(&replaced.replacement)?;
            normalize_directory(session, &mut replaced.directory);
            let mut directories = session.metadata.working_directories.iter().flatten();
            if !directories.any(|directory| *directory == replaced.directory) {
                return Err(unknown("directory", &replaced.directory));
            }
            let primary = is_primary(session, &replaced.directory);
            if primary && can.primary_replacement != Some(true) {
                return Err(Refusal::PrimaryDirectory);
            }
        }
        SessionAction::CustomizationToggled(toggle) => {
            check_customization(session, &toggle.id)?;
            check_decisions(session, &toggle.enablement)?;
            sort_decisions(&mut toggle.enablement);
        }
        SessionAction::McpServerStartRequested(request) => {
            if !find_known_server(session, &request.id)?.is_on {
                return Err(Refusal::Invalid("the MCP server is disabled".to_owned()));
            }
        }
        SessionAction::McpServerStopRequested(request) => {
            find_known_server(session, &request.id)?;
        }
        SessionAction::McpServerBackgroundRequested(request) => {
            find_known_server(session, &request.id)?;
        }
        SessionAction::ConfigChanged(change) => {
            check_config_change(session, change)?;
            if let (Some(true), Some(config)) = (change.replace, &session.config) {
                let given = std::mem::take(&mut change.config);
                change.config = with_defaults(&config.schema, given);
            }
        }
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

/// Checks that a client describes itself, and that its tool names are unique.
pub(crate) fn check_active_client(client: &ClientId, active: &ActiveClient) -> Result<(), Refusal> {
    if active.client_id != *client {
        return Err(Refusal::NotSelf);
    }
    let bytes = encoded_len(active);
    check_bytes("an active client", bytes, MAX_ACTIVE_CLIENT_BYTES)?;
    for tool in &active.tools {
        check_name("tool", &tool.name)?;
    }
    let mut names = BTreeSet::new();
    let mut tools = active.tools.iter();
    match tools.find(|tool| !names.insert(&tool.name)) {
        Some(twice) => {
            let name: String = twice.name.chars().take(60).collect();
            Err(Refusal::Invalid(format!("tool `{name}` is given twice")))
        }
        None => Ok(()),
    }
}

fn is_primary(session: &SessionState, directory: &Uri) -> bool {
    let mut directories = session.metadata.working_directories.iter().flatten();
    directories.next() == Some(directory)
}

/// Replaces a directory by the spelling of the session, if the session has it. Reducers compare
/// URIs byte by byte, and clients percent-encode them differently.
fn normalize_directory(session: &SessionState, directory: &mut Uri) {
    let mut known = session.metadata.working_directories.iter().flatten();
    if let Some(known) = known.find(|known| uris::is_same_uri(known, directory)) {
        directory.clone_from(known);
    }
}

fn check_directory(directory: &Uri) -> Result<(), Refusal> {
    uris::check_directory(directory).map_err(|failure| Refusal::Invalid(failure.to_string()))
}

fn check_customization(session: &SessionState, id: &CustomizationId) -> Result<(), Refusal> {
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

fn find_known_server<'a>(
    session: &'a SessionState,
    id: &CustomizationId,
) -> Result<McpServerRef<'a>, Refusal> {
    find_server(session, id).ok_or_else(|| unknown("server", id))
}

/// Checks that a change sets only properties that are mutable in a session (CFG-6), to valid
/// values.
fn check_config_change(
    session: &SessionState,
    change: &SessionConfigChanged,
) -> Result<(), Refusal> {
    let Some(config) = &session.config else {
        return Err(Refusal::Unsupported("configuration of a session"));
    };
    let mutable = |key: &String| {
        let property = config.schema.properties.get(key);
        property.filter(|property| property.session_mutable == Some(true))
    };
    for (key, value) in &change.config {
        // A property that keeps its value may be repeated.
        if config.values.get(key) == Some(value) {
            continue;
        }
        let Some(property) = mutable(key) else {
            return Err(unknown("mutable property", key));
        };
        check_value(&property.property, value)
            .map_err(|problem| Refusal::Invalid(format!("{key}: {problem}")))?;
    }
    // A replacement removes missing properties or resets them to their defaults, which must not
    // affect immutable ones.
    let after = with_defaults(&config.schema, change.config.clone());
    let mut values = config.values.iter();
    let fixed =
        values.find(|(key, value)| mutable(key).is_none() && after.get(*key) != Some(*value));
    match fixed {
        Some((key, _)) if change.replace == Some(true) => {
            Err(Refusal::Invalid(format!("`{key}` can't be changed")))
        }
        _ => Ok(()),
    }
}
