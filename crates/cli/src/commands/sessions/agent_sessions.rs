//! `agenthost sessions --from`: lists or imports the agent sessions that an agent stores
//! itself.

use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_acp::{AgentSessionInfo, list_agent_sessions};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use serde_json::json;

use crate::commands::{agents, run};
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::{dialog, output};

/// The options for the sessions that an agent has stored itself.
#[derive(clap::Args)]
pub(super) struct AgentSessionArgs {
    /// List the sessions that this agent has stored for this folder
    #[arg(long, value_name = "AGENT")]
    pub(super) from: Option<String>,
    /// Import the session whose id begins like this: its turns become a session of the host
    #[arg(long, value_name = "ID", requires = "from")]
    import: Vec<String>,
    /// The folder [default: this folder]
    #[arg(long, value_name = "DIR", requires = "from")]
    cwd: Option<PathBuf>,
}

/// Lists the agent sessions of a folder, or imports those with the given ids.
pub(super) async fn run(
    options: &HostOptions,
    arguments: &AgentSessionArgs,
    agent: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let folder = run::resolve_directory(arguments.cwd.as_deref())?;
    let (_, found) = agents::find_offered_agent(&options.resolve_settings()?, agent)?;
    let listed = tokio::select! {
        listed = list_agent_sessions(&found, &folder) => listed,
        () = agents::wait_for_interrupt() => bail!("interrupted"),
    };
    if !arguments.import.is_empty() {
        // An agent that cannot list its sessions may know the id.
        let listed = listed.unwrap_or_default();
        let ids = arguments.import.iter();
        let ids: Vec<_> = ids
            .map(|id| whole_id(id, &listed))
            .collect::<Result<_, _>>()?;
        return import_sessions(options, agent, &folder, &ids).await;
    }
    let listed =
        listed.map_err(|reason| anyhow::anyhow!("list the sessions of `{agent}`: {reason}"))?;
    for session in &listed {
        let line = if as_json {
            session_json(session).to_string()
        } else {
            output::escape_invisible(&session_line(session))
        };
        output::print_data(&line)?;
    }
    if listed.is_empty() && !as_json {
        output::print_note(&format!(
            "`{agent}` has no sessions in {}",
            folder.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the id of the agent session whose id begins like this, or the id itself if there is
/// none.
fn whole_id(named: &str, listed: &[AgentSessionInfo]) -> anyhow::Result<String> {
    let ids = listed.iter().map(|session| session.id.as_str());
    let matching: Vec<_> = ids.filter(|id| id.starts_with(named)).collect();
    match matching.as_slice() {
        _ if matching.contains(&named) => Ok(named.to_owned()),
        [id] => Ok((*id).to_owned()),
        [] => Ok(named.to_owned()),
        several => bail!(
            "`{named}` matches {} sessions: {}",
            several.len(),
            several.join(", ")
        ),
    }
}

async fn import_sessions(
    options: &HostOptions,
    agent: &str,
    folder: &std::path::Path,
    sessions: &[String],
) -> anyhow::Result<ExitCode> {
    let mut connection = HostConnection::connect(options, COMMAND_RECONNECT_TIMEOUT).await?;
    let mut imported = Ok(());
    for id in sessions {
        imported = import_session(&mut connection, agent, folder, id).await;
        if imported.is_err() {
            break;
        }
    }
    connection.close().await?;
    imported.map(|()| ExitCode::SUCCESS)
}

async fn import_session(
    connection: &mut HostConnection,
    agent: &str,
    folder: &std::path::Path,
    id: &str,
) -> anyhow::Result<()> {
    let client = &mut connection.client;
    let wish = ("agentSession".to_owned(), Json::from(id));
    let config = Some(Object::from_iter([wish]));
    let session =
        dialog::create_session(client, Some(ProviderId::from(agent)), folder, config).await?;
    client.subscribe(&session).await?;
    let ready = dialog::wait_until_ready(client, &session, |_| Ok(())).await;
    if ready.is_err() {
        // A session that failed to start has no content, so it is disposed of.
        let disposed = client.request(agenthost_protocol::session::DisposeSessionParams {
            channel: session.clone(),
            meta: None,
        });
        if let Err(error) = disposed.await {
            output::print_note(&format!("failed to remove `{session}`: {error}"));
        }
    }
    ready.with_context(|| format!("import `{id}`"))?;
    output::print_data(session.as_str())
}

fn session_json(session: &AgentSessionInfo) -> serde_json::Value {
    json!({
        "id": session.id,
        "folder": session.folder,
        "title": session.title,
        "updated": session.updated_at,
    })
}

fn session_line(session: &AgentSessionInfo) -> String {
    let updated = session.updated_at.as_deref().unwrap_or("-");
    let title = session.title.as_deref().unwrap_or("(no title)");
    format!("{updated}  {}  {title}", session.id)
}
