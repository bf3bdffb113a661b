//! `agenthost sessions`: lists the sessions of the host, renames, archives and removes them.

pub(crate) mod agent_sessions;
mod organization;
pub(crate) mod removal;
mod session_filter;
mod session_row;
mod session_selection;

use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::session::SessionSummary;
use anyhow::bail;
use clap::Subcommand;

use self::session_filter::SessionFilterArgs;
use self::session_row::{RowWidths, session_row, waiting_requests};
pub(crate) use self::session_selection::SessionAge;
use crate::background::HostLifetime;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostTarget};
use crate::output;
use crate::session_lookup::list_sessions;
use crate::terminal::palette::{Palette, Role};
use crate::terminal::stdout_size;

/// List the sessions, the latest first
///
/// With `--from`, lists the sessions that an agent has stored itself, for example without the
/// host. `--import` turns one into a session of the host.
#[derive(clap::Args)]
#[command(after_help = SESSIONS_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    #[command(flatten)]
    host: HostTarget,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: SessionFilterArgs,
    #[command(flatten)]
    agent_sessions: agent_sessions::AgentSessionArgs,
}

#[derive(Subcommand)]
enum SessionsCommand {
    Rm(removal::RemoveSessionsArgs),
    Rename(organization::RenameArgs),
    Archive(organization::ArchiveArgs),
    Unarchive(organization::UnarchiveArgs),
}

const SESSIONS_EXAMPLES: &str = "\
Examples:
  agenthost sessions --here --waiting              list what waits for an answer in this folder
  agenthost sessions --from gemini                 list the agent's sessions in this folder
  agenthost sessions --from gemini --import 5f2c   import one of them
  agenthost sessions archive --older-than 30d      hide what was not used for a month
  agenthost sessions rm --older-than 90d           delete what was not used for three";

pub(crate) async fn run(arguments: SessionsArgs) -> anyhow::Result<ExitCode> {
    match arguments.command {
        None => list(arguments).await,
        Some(SessionsCommand::Rm(arguments)) => removal::run(arguments).await,
        Some(SessionsCommand::Rename(arguments)) => organization::rename(arguments).await,
        Some(SessionsCommand::Archive(arguments)) => organization::archive(arguments).await,
        Some(SessionsCommand::Unarchive(arguments)) => organization::unarchive(arguments).await,
    }
}

async fn list(arguments: SessionsArgs) -> anyhow::Result<ExitCode> {
    if let Some(agent) = &arguments.agent_sessions.from {
        if arguments.host.remote.is_some() {
            bail!("`--from` lists the sessions of agents of this machine only");
        }
        return agent_sessions::run(
            &arguments.host.local,
            &arguments.agent_sessions,
            agent,
            arguments.json,
        )
        .await;
    }
    let lifetime = HostLifetime::Temporary;
    let connected = arguments.host.connect(lifetime, COMMAND_RECONNECT_TIMEOUT);
    let mut connection = connected.await?;
    let printed = print_sessions(&mut connection.client, &arguments).await;
    connection.close().await?;
    printed.map(|()| ExitCode::SUCCESS)
}

async fn print_sessions(client: &mut Client, arguments: &SessionsArgs) -> anyhow::Result<()> {
    let mut sessions = list_sessions(client).await?;
    let count = sessions.len();
    let filter = arguments.filter.resolve()?;
    sessions.retain(|summary| filter.accepts(summary));
    if arguments.json {
        for summary in &sessions {
            output::print_data(&serde_json::to_string(summary)?)?;
        }
        return Ok(());
    }
    if sessions.is_empty() {
        output::print_note(match count {
            0 => "there are no sessions yet; `agenthost run` creates one",
            _ => "no session fits",
        });
        return Ok(());
    }
    print_rows(client, &sessions).await
}

async fn print_rows(client: &mut Client, sessions: &[SessionSummary]) -> anyhow::Result<()> {
    let palette = Palette::of_stdout();
    let columns = stdout_size().map(|size| usize::from(size.columns));
    let widths = RowWidths::of_sessions(sessions, columns);
    for summary in sessions {
        output::print_data(&session_row(summary, &widths, palette))?;
        for request in waiting_requests(client, summary).await? {
            let indent = widths.request_indent();
            let line = widths.cut(&format!("{indent}waits: {request}"));
            output::print_data(&palette.paint(Role::Warning, &line))?;
        }
    }
    Ok(())
}
