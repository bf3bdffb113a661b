//! `agenthost sessions --from`: the sessions that an agent has of its own.

use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_agents::{OwnSession, own_sessions};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use serde_json::json;

use crate::place::{Attached, PATIENCE, Place};
use crate::{agents, output, run, talk};

/// The sessions that an agent has, from before or from elsewhere.
#[derive(clap::Args)]
pub(super) struct OwnArguments {
    /// List the sessions that this agent has of its own, in this folder
    #[arg(long, value_name = "AGENT")]
    pub(super) from: Option<String>,
    /// Go on with one of them here: what was said in it becomes a session
    #[arg(long, value_name = "ID", requires = "from")]
    import: Vec<String>,
    /// The folder [default: this folder]
    #[arg(long, value_name = "DIR", requires = "from")]
    cwd: Option<PathBuf>,
}

/// Lists them, or imports those that are named.
pub(super) async fn run(
    place: &Place,
    arguments: &OwnArguments,
    agent: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let folder = run::folder(arguments.cwd.as_deref())?;
    let (_, found) = agents::offered(&place.settings()?, agent)?;
    if !arguments.import.is_empty() {
        return import(place, agent, &folder, &arguments.import).await;
    }
    let listed = tokio::select! {
        listed = own_sessions(&found, &folder) => listed,
        () = agents::interrupted() => bail!("interrupted"),
    };
    let listed = listed.map_err(|reason| anyhow::anyhow!("ask `{agent}`: {reason}"))?;
    for session in &listed {
        let line = if as_json {
            describe(session).to_string()
        } else {
            output::plain(&line(session))
        };
        output::data(&line)?;
    }
    if listed.is_empty() && !as_json {
        output::note(&format!(
            "`{agent}` has no sessions in {}",
            folder.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn import(
    place: &Place,
    agent: &str,
    folder: &std::path::Path,
    sessions: &[String],
) -> anyhow::Result<ExitCode> {
    let mut attached = Attached::to(place, PATIENCE).await?;
    let mut imported = Ok(());
    for id in sessions {
        imported = import_one(&mut attached, agent, folder, id).await;
        if imported.is_err() {
            break;
        }
    }
    attached.leave().await?;
    imported.map(|()| ExitCode::SUCCESS)
}

async fn import_one(
    attached: &mut Attached,
    agent: &str,
    folder: &std::path::Path,
    id: &str,
) -> anyhow::Result<()> {
    let client = &mut attached.client;
    let wish = ("agentSession".to_owned(), Json::from(id));
    let config = Some(Object::from_iter([wish]));
    let session = talk::create_session(client, Some(agent), folder, config).await?;
    client.subscribe(&session).await?;
    let ready = talk::ready(client, &session, |_| Ok(())).await;
    if ready.is_err() {
        // One that never began is nothing to keep.
        let gone = client.request(agenthost_protocol::session::DisposeSessionParams {
            channel: session.clone(),
            meta: None,
        });
        if let Err(error) = gone.await {
            output::note(&format!("`{session}` is left: {error}"));
        }
    }
    ready.with_context(|| format!("import `{id}`"))?;
    output::data(session.as_str())
}

fn describe(session: &OwnSession) -> serde_json::Value {
    json!({
        "id": session.id,
        "folder": session.folder,
        "title": session.title,
        "updated": session.updated,
    })
}

fn line(session: &OwnSession) -> String {
    let updated = session.updated.as_deref().unwrap_or("-");
    let title = session.title.as_deref().unwrap_or("(no title)");
    format!("{updated}  {}  {title}", session.id)
}
