//! `agenthost diff`: shows the changes of a session's files.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::changeset::{
    ChangesetFile, ChangesetState, ChangesetStatus, InvokeChangesetOperationParams,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{OperationId, TurnId};
use agenthost_protocol::resource::{ContentEncoding, ResourceReadParams};
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::{RootChannel, Uri};
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap_complete::engine::ArgValueCandidates;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::commands::run::resolve_directory;
use crate::completion_values::session_ids;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::output;
use crate::session_lookup::{find_session, latest_session_in};
use crate::terminal::palette::Palette;
use crate::terminal::spinner::{OPERATION_DELAY, show_while};
use crate::turn_lookup::find_turn;

/// Show the changes in the files of a session
///
/// By default, shows the changes of the last turn of the latest session in this folder, as a
/// patch.
#[derive(clap::Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct DiffArgs {
    /// The session, as `agenthost sessions` names it
    /// [default: the latest one in this folder]
    #[arg(add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    /// The changes to show
    #[arg(long, value_enum, default_value = "turn", value_name = "WHAT")]
    of: DiffScope,
    /// The turn: its id or the beginning of it [default: the last one]
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// Print only file names and line counts
    #[arg(long)]
    stat: bool,
    /// Print the changed files in the form of the protocol, one JSON object per line
    #[arg(long, conflicts_with = "stat")]
    json: bool,
    /// Folder to find the latest session in [default: this folder]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    host: HostOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DiffScope {
    /// While a turn was running
    Turn,
    /// Since the session began
    Session,
    /// Since the last commit
    Uncommitted,
    /// Since the branch diverged from its base
    Branch,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  agenthost diff                      show the changes of the last turn
  agenthost diff --of session --stat  show the line counts of the session
  agenthost diff | git apply -R       undo the last turn by hand";

pub(crate) async fn run(arguments: DiffArgs) -> anyhow::Result<ExitCode> {
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let shown = print_diff(&mut connection.client, &arguments).await;
    connection.close().await?;
    shown?;
    Ok(ExitCode::SUCCESS)
}

async fn print_diff(client: &mut Client, arguments: &DiffArgs) -> anyhow::Result<()> {
    let session = choose_session(client, arguments).await?;
    let view = match arguments.of {
        DiffScope::Session => "session".to_owned(),
        DiffScope::Uncommitted => "uncommitted".to_owned(),
        DiffScope::Branch => "branch".to_owned(),
        DiffScope::Turn => {
            let turn = find_turn(client, &session, arguments.turn.as_deref()).await?;
            turn_view(&turn)
        }
    };
    let channel = Uri::from(format!("{}/changeset/{view}", session.resource));
    let computed = wait_for_changeset(client, &channel);
    let state = show_while("computing the changes", OPERATION_DELAY, computed).await?;
    if state.files.is_empty() {
        output::print_note("no changes");
        return Ok(());
    }
    if arguments.json {
        for file in state.files.items() {
            output::print_data(&serde_json::to_string(file)?)?;
        }
        return Ok(());
    }
    if arguments.stat {
        for file in state.files.items() {
            output::print_data(&output::escape_invisible(&stat_line(file, &session)))?;
        }
        return Ok(());
    }
    match fetch_patch(client, &channel).await? {
        PatchOutput::Text(text) => output::print_data(&text),
        PatchOutput::Bytes(bytes) if std::io::stdout().is_terminal() => {
            output::print_data(&output::strip_invisible(&String::from_utf8_lossy(&bytes)))
        }
        PatchOutput::Bytes(bytes) => output::print_bytes(&bytes),
    }
}

/// Returns the named session, or the latest one in the folder.
async fn choose_session(
    client: &mut Client,
    arguments: &DiffArgs,
) -> anyhow::Result<SessionSummary> {
    if let Some(named) = &arguments.session {
        return find_session(client, named).await;
    }
    let directory = resolve_directory(arguments.cwd.as_deref())?;
    match latest_session_in(client, &directory).await? {
        Some(summary) => Ok(summary),
        None => bail!("there is no session in this folder\nhint: `agenthost sessions` lists all"),
    }
}

/// Returns the changeset of a turn.
pub(crate) fn turn_changeset_uri(session: &Uri, turn: &TurnId) -> Uri {
    Uri::from(format!("{session}/changeset/{}", turn_view(turn)))
}

fn turn_view(turn: &TurnId) -> String {
    let name = utf8_percent_encode(turn.as_str(), NON_ALPHANUMERIC);
    format!("turn/{name}")
}

/// Subscribes to a changeset and waits until it is computed.
pub(crate) async fn wait_for_changeset(
    client: &mut Client,
    channel: &Uri,
) -> anyhow::Result<ChangesetState> {
    client.subscribe(channel).await?;
    loop {
        let Some(ChannelState::Changeset(state)) = client.confirmed_state(channel) else {
            bail!("the session was removed");
        };
        match &state.status {
            ChangesetStatus::Ready => return Ok((**state).clone()),
            ChangesetStatus::Error => {
                let error = state.error.as_ref();
                let reason = error.map_or("no reason was given", |error| &error.message);
                bail!("cannot compute the changes: {reason}");
            }
            ChangesetStatus::Computing
            | ChangesetStatus::Recomputing
            | ChangesetStatus::Unknown(_) => {}
        }
        client.next_update().await?;
    }
}

/// A patch to print on stdout.
enum PatchOutput {
    Text(String),
    /// A patch that is not valid UTF-8.
    Bytes(Vec<u8>),
}

/// Requests the patch of a changeset. Adds colors if stdout is a terminal.
async fn fetch_patch(client: &mut Client, channel: &Uri) -> anyhow::Result<PatchOutput> {
    let shown = client.request(InvokeChangesetOperationParams {
        channel: channel.clone(),
        operation_id: OperationId::from("show-patch"),
        target: None,
        meta: None,
    });
    let follow_up = shown.await?.follow_up;
    let content = follow_up.context("the host returned no patch")?.content;
    let read = client.request(ResourceReadParams {
        channel: RootChannel,
        uri: content.uri,
        encoding: Some(ContentEncoding::Utf8),
        meta: None,
    });
    let read = read.await?;
    if read.encoding != ContentEncoding::Utf8 {
        // Files in other encodings are printed unchanged.
        let bytes = STANDARD
            .decode(&read.data)
            .context("the host sent invalid Base64")?;
        return Ok(PatchOutput::Bytes(bytes));
    }
    // `print_data` adds one newline; further ones may belong to the patch.
    let text = read.data.strip_suffix('\n').unwrap_or(&read.data);
    if !std::io::stdout().is_terminal() {
        return Ok(PatchOutput::Text(text.to_owned()));
    }
    let palette = Palette::of_stdout();
    let lines = text
        .lines()
        .map(|line| palette.paint_patch_line(&output::strip_invisible(line)));
    Ok(PatchOutput::Text(lines.collect::<Vec<_>>().join("\n")))
}

/// Formats a file with its counts of added and removed lines. Its path is relative to the
/// session's folder.
fn stat_line(file: &ChangesetFile, session: &SessionSummary) -> String {
    let folders = session.metadata.working_directories.iter().flatten();
    let folders: Vec<_> = folders.map(|folder| format!("{folder}/")).collect();
    let name = |uri: &Uri| {
        let inside = folders
            .iter()
            .find_map(|folder| uri.as_str().strip_prefix(folder));
        let name = inside.unwrap_or(uri.as_str());
        percent_decode_str(name).decode_utf8_lossy().into_owned()
    };
    let edit = &file.edit;
    let what = match (&edit.before, &edit.after) {
        (Some(before), Some(after)) if before.uri != after.uri => {
            format!("{} -> {}", name(&before.uri), name(&after.uri))
        }
        (_, Some(after)) => name(&after.uri),
        (Some(before), None) => format!("{} (deleted)", name(&before.uri)),
        (None, None) => file.id.to_string(),
    };
    let lines = edit.diff.as_ref().map_or("binary".to_owned(), |diff| {
        let added = diff.added.unwrap_or_default();
        format!("+{added} -{}", diff.removed.unwrap_or_default())
    });
    format!("{lines:<12} {what}")
}
