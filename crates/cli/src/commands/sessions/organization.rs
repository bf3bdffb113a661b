//! `agenthost sessions rename`, `archive` and `unarchive`.

use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::{
    SessionAction, SessionIsArchivedChanged, SessionState, SessionTitleChanged,
};
use agenthost_protocol::uri::Uri;
use clap_complete::engine::ArgValueCandidates;

use super::session_selection::SelectionArgs;
use crate::commands::settings::session_settings::wait_until;
use crate::completion_values::session_ids;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::output;
use crate::session_lookup::{describe_session, find_session};

/// Give a session another title
#[derive(clap::Args)]
pub(super) struct RenameArgs {
    /// The session: its address, or the beginning or end of its id
    #[arg(add = ArgValueCandidates::new(session_ids))]
    session: String,
    /// The title
    title: String,
    #[command(flatten)]
    host: HostOptions,
}

/// Archive sessions: clients hide them, and limits of the configuration remove them first
#[derive(clap::Args)]
pub(super) struct ArchiveArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    host: HostOptions,
}

/// Return archived sessions to the list of clients
#[derive(clap::Args)]
pub(super) struct UnarchiveArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    host: HostOptions,
}

pub(super) async fn rename(arguments: RenameArgs) -> anyhow::Result<ExitCode> {
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let renamed = rename_session(&mut connection.client, &arguments).await;
    connection.close().await?;
    renamed.map(|()| ExitCode::SUCCESS)
}

async fn rename_session(client: &mut Client, arguments: &RenameArgs) -> anyhow::Result<()> {
    let session = find_session(client, &arguments.session).await?;
    let title = arguments.title.clone();
    let renamed = SessionAction::TitleChanged(SessionTitleChanged {
        title: title.clone(),
    });
    let is_renamed = |state: &SessionState| state.metadata.title == title;
    change_session(client, &session.resource, renamed, is_renamed).await?;
    output::print_note(&format!("renamed {}", describe_session(&session)));
    Ok(())
}

pub(super) async fn archive(arguments: ArchiveArgs) -> anyhow::Result<ExitCode> {
    set_archived(&arguments.host, &arguments.selection, true).await
}

pub(super) async fn unarchive(arguments: UnarchiveArgs) -> anyhow::Result<ExitCode> {
    set_archived(&arguments.host, &arguments.selection, false).await
}

async fn set_archived(
    host: &HostOptions,
    selection: &SelectionArgs,
    is_archived: bool,
) -> anyhow::Result<ExitCode> {
    let mut connection = HostConnection::connect(host, COMMAND_RECONNECT_TIMEOUT).await?;
    let changed = archive_sessions(&mut connection.client, selection, is_archived).await;
    connection.close().await?;
    changed.map(|()| ExitCode::SUCCESS)
}

async fn archive_sessions(
    client: &mut Client,
    selection: &SelectionArgs,
    is_archived: bool,
) -> anyhow::Result<()> {
    let mut sessions = selection.resolve(client).await?;
    sessions.retain(|session| has_flag(session.metadata.status) != is_archived);
    if sessions.is_empty() {
        output::print_note("no session changes");
    }
    let done = match is_archived {
        true => "archived",
        false => "unarchived",
    };
    for session in sessions {
        let change = SessionAction::IsArchivedChanged(SessionIsArchivedChanged { is_archived });
        let is_changed = |state: &SessionState| has_flag(state.metadata.status) == is_archived;
        change_session(client, &session.resource, change, is_changed).await?;
        output::print_note(&format!("{done} {}", describe_session(&session)));
    }
    Ok(())
}

fn has_flag(status: SessionStatus) -> bool {
    status.contains(SessionStatus::IS_ARCHIVED)
}

/// Changes the state of a session, and waits until the host confirms it.
async fn change_session(
    client: &mut Client,
    session: &Uri,
    action: SessionAction,
    is_changed: impl Fn(&SessionState) -> bool,
) -> anyhow::Result<()> {
    client.subscribe(session).await?;
    let sent = client.dispatch(session, action).await?;
    let is_confirmed = |client: &Client| match client.confirmed_state(session) {
        Some(ChannelState::Session(state)) => is_changed(state),
        _ => false,
    };
    wait_until(client, sent, is_confirmed).await?;
    client.unsubscribe(session).await?;
    Ok(())
}
