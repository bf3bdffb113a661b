//! `agenthost customizations`: lists the customizations of a folder or a session.

mod allow;
mod describe;
mod fetch;
pub(crate) mod local;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::Uri;
use anyhow::bail;
use clap::Subcommand;

use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::output;
use crate::session_lookup::find_session;
pub(crate) use local::{LocalCustomizations, TrustSource};
use tree::{CustomizationTree, ServerDisplay};

/// List the rules, skills, prompts, custom agents, hooks, plugins and MCP servers for a folder
///
/// Reads them as the host would for a new session. With `--session`, shows the customizations
/// of a session: which are enabled, and the states of its MCP servers.
#[derive(clap::Args)]
#[command(after_help = CUSTOMIZATIONS_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct CustomizationsArgs {
    #[command(subcommand)]
    command: Option<CustomizationsCommand>,
    /// The folder [default: this folder]
    #[arg(value_name = "DIR", conflicts_with = "session")]
    directory: Option<PathBuf>,
    /// Only the plugins of this agent [default: those of all agents]
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    agent: Option<String>,
    /// A session: its address, or the beginning or end of its id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostOptions,
}

#[derive(Subcommand)]
enum CustomizationsCommand {
    Fetch(fetch::FetchArgs),
    Allow(allow::AllowCodeArgs),
}

const CUSTOMIZATIONS_EXAMPLES: &str = "\
Examples:
  agenthost customizations                     list those of this folder
  agenthost customizations --agent goose       list those for sessions of goose
  agenthost customizations --session 6314fd6f  list those of a session
  agenthost customizations fetch               fetch the plugins of the configuration
  agenthost customizations allow               list pending and allowed code
  agenthost customizations allow Hooks         show the commands of the hooks, and allow them

docs/customizations.md describes which files are read, and when agents get their content.";

/// Maximum time to wait until the host has loaded all customizations of a session. After
/// that, the command shows an incomplete list.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn run(arguments: CustomizationsArgs) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Some(CustomizationsCommand::Fetch(arguments)) => return fetch::run(arguments).await,
        Some(CustomizationsCommand::Allow(arguments)) => return allow::run(arguments).await,
        None => {}
    }
    let (all, servers) = match &arguments.session {
        Some(named) => {
            let all = fetch_from_host(&arguments.host, named).await?;
            (all, ServerDisplay::Live)
        }
        None => {
            let mut local =
                LocalCustomizations::new(&arguments.host, arguments.directory.as_deref())?;
            local.agent = match &arguments.agent {
                Some(agent) => Some(local.find_agent(agent)?),
                None => None,
            };
            local::warn_unknown_trust(&local.fetch_trust(&arguments.host).await);
            let all = local.inspect().await?;
            let all = all.into_iter().map(|looked| looked.customization).collect();
            (all, ServerDisplay::NotRun)
        }
    };
    if arguments.json {
        for customization in &all {
            output::print_data(&serde_json::to_string(customization)?)?;
        }
    } else {
        let tree = CustomizationTree::build(&all, servers);
        for line in &tree.lines {
            output::print_data(&output::escape_invisible(line))?;
        }
        for note in &tree.notes {
            output::print_note(note);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Connects to the host and returns the customizations of a session.
async fn fetch_from_host(place: &HostOptions, named: &str) -> anyhow::Result<Vec<Customization>> {
    let mut attached = HostConnection::connect(place, COMMAND_RECONNECT_TIMEOUT).await?;
    let found = load_customizations(&mut attached.client, named).await;
    attached.close().await?;
    found
}

/// Returns the customizations of a session once all are loaded, or those known after
/// [`LOAD_TIMEOUT`].
pub(crate) async fn load_customizations(
    client: &mut Client,
    named: &str,
) -> anyhow::Result<Vec<Customization>> {
    let session = find_session(client, named).await?.resource;
    client.subscribe(&session).await?;
    let deadline = tokio::time::Instant::now() + LOAD_TIMEOUT;
    while !is_loaded(client, &session)? {
        match tokio::time::timeout_at(deadline, client.next_update()).await {
            Ok(update) => drop(update?),
            Err(_) => {
                output::print_note(
                    "the host is still loading customizations: the list is incomplete",
                );
                break;
            }
        }
    }
    session_customizations(client, &session).map(|all| all.unwrap_or_default())
}

fn is_loaded(client: &Client, session: &Uri) -> anyhow::Result<bool> {
    let is_loading =
        |one: &Customization| matches!(one.load(), Some(LoadState::Loading)) && one.is_on();
    let all = session_customizations(client, session)?;
    Ok(all.is_some_and(|all| !all.iter().any(is_loading)))
}

/// Returns the customizations of a session, or `None` if the host has not read them yet.
fn session_customizations(
    client: &Client,
    session: &Uri,
) -> anyhow::Result<Option<Vec<Customization>>> {
    let Some(ChannelState::Session(state)) = client.state(session) else {
        bail!("the session was removed");
    };
    let all = state.customizations.as_ref();
    Ok(all.map(|all| all.iter().map(|one| Customization::clone(one)).collect()))
}
