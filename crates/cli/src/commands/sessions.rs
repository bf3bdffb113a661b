//! `agenthost sessions`: lists the sessions of the host.

pub(crate) mod agent_sessions;

use std::process::ExitCode;

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::RootChannel;

use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::output;

/// List the sessions, the latest first
///
/// With `--from`, lists the sessions that an agent has stored itself, for example without the
/// host. `--import` turns one into a session of the host.
#[derive(clap::Args)]
#[command(after_help = SESSIONS_EXAMPLES)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    host: HostOptions,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agent_sessions: agent_sessions::AgentSessionArgs,
}

const SESSIONS_EXAMPLES: &str = "\
Examples:
  agenthost sessions
  agenthost sessions --from gemini                 list the agent's sessions in this folder
  agenthost sessions --from gemini --import 5f2c   import one of them";

pub(crate) async fn run(arguments: SessionsArgs) -> anyhow::Result<ExitCode> {
    if let Some(agent) = &arguments.agent_sessions.from {
        return agent_sessions::run(
            &arguments.host,
            &arguments.agent_sessions,
            agent,
            arguments.json,
        )
        .await;
    }
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let mut cursor = None;
    let mut count = 0;
    loop {
        let page = connection.client.request(ListSessionsParams {
            channel: RootChannel,
            limit: None,
            cursor,
            meta: None,
        });
        let page = page.await?;
        for summary in &page.items {
            count += 1;
            if arguments.json {
                output::print_data(&serde_json::to_string(summary)?)?;
            } else {
                output::print_data(&output::escape_invisible(&summary_line(summary)))?;
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if count == 0 && !arguments.json {
        output::print_note("there are no sessions yet; `agenthost run \"ls\"` creates one");
    }
    connection.close().await?;
    Ok(ExitCode::SUCCESS)
}

fn summary_line(summary: &SessionSummary) -> String {
    let status = summary.metadata.status;
    let doing = match status.activity() {
        SessionStatus::IDLE => "idle",
        SessionStatus::ERROR => "failed",
        SessionStatus::IN_PROGRESS => "running",
        SessionStatus::INPUT_NEEDED => "waiting",
        _ => "?",
    };
    let title = match summary.metadata.title.as_str() {
        "" => "(no title)",
        title => title,
    };
    let changes = summary.changes.as_ref();
    let changes = changes.filter(|changes| changes.files.is_some_and(|files| files > 0));
    let changes = changes.map_or(String::new(), |changes| {
        let (added, removed) = (changes.additions, changes.deletions);
        format!("  +{} -{}", added.unwrap_or(0), removed.unwrap_or(0))
    });
    format!(
        "{}  {doing:<7} {:<9} {title}{changes}  {}",
        summary.modified_at,
        summary.metadata.provider.as_str(),
        summary.resource
    )
}
