//! `agenthost customizations`: what makes agents behave as they should here.

mod allow;
mod describe;
mod fetch;
mod here;
mod quoting;
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

pub(crate) use self::here::{Here, Trust};
use self::tree::{Servers, Tree};
use crate::place::{Attached, PATIENCE, Place};
use crate::{attach, output};

/// List the rules, skills, prompts, custom agents, hooks, plugins and servers
/// of tools (MCP) that agents get to use in a folder
///
/// They are read here and now, as the host would for a new session. With
/// `--session`, it is what the host shows for a session: what is on and off
/// there, and how its servers are.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The folder [default: this folder]
    #[arg(value_name = "DIR", conflicts_with = "session")]
    directory: Option<PathBuf>,
    /// Whose plugins are meant [default: those of all agents]
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    agent: Option<String>,
    /// A session, or the end or beginning of its address
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    Fetch(fetch::Arguments),
    Allow(allow::Arguments),
}

const EXAMPLES: &str = "\
Examples:
  agenthost customizations                     what there is for this folder
  agenthost customizations --agent goose       what sessions of goose get
  agenthost customizations --session 6314fd6f  what a session has, with its servers
  agenthost customizations fetch               get the plugins of the configuration
  agenthost customizations allow               which code waits to be allowed
  agenthost customizations allow Hooks         see what it runs, and allow it

docs/customizations.md says what is read from where, and when agents get it.";

/// How long the host may take to read what a session has.
const READING: Duration = Duration::from_secs(10);

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Some(Command::Fetch(arguments)) => return fetch::run(arguments).await,
        Some(Command::Allow(arguments)) => return allow::run(arguments).await,
        None => {}
    }
    let (all, servers) = match &arguments.session {
        Some(named) => {
            let all = of_session(&arguments.place, named).await?;
            (all, Servers::Live)
        }
        None => {
            let mut here = Here::new(&arguments.place, arguments.directory.as_deref())?;
            here.agent = match &arguments.agent {
                Some(agent) => Some(here.known_agent(agent)?),
                None => None,
            };
            here::complain(&here.learn_trust(&arguments.place).await);
            let all = here.look().await?;
            let all = all.into_iter().map(|looked| looked.shown).collect();
            (all, Servers::NotRun)
        }
    };
    if arguments.json {
        for customization in &all {
            output::data(&serde_json::to_string(customization)?)?;
        }
    } else {
        let tree = Tree::of(&all, servers);
        for line in &tree.lines {
            output::data(&output::plain(line))?;
        }
        for note in &tree.notes {
            output::note(note);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the host shows for a session.
async fn of_session(place: &Place, named: &str) -> anyhow::Result<Vec<Customization>> {
    let mut attached = Attached::to(place, PATIENCE).await?;
    let found = shown(&mut attached.client, named).await;
    attached.leave().await?;
    found
}

/// What a session has once all of it is read, or what is known after a while.
pub(crate) async fn shown(client: &mut Client, named: &str) -> anyhow::Result<Vec<Customization>> {
    let session = attach::find(client, Some(named)).await?;
    client.subscribe(&session).await?;
    let until = tokio::time::Instant::now() + READING;
    while !is_read(client, &session)? {
        match tokio::time::timeout_at(until, client.next()).await {
            Ok(update) => drop(update?),
            Err(_) => {
                output::note("the host is still reading: this is what it knows so far");
                break;
            }
        }
    }
    of(client, &session).map(|all| all.unwrap_or_default())
}

fn is_read(client: &Client, session: &Uri) -> anyhow::Result<bool> {
    let is_loading =
        |one: &Customization| matches!(one.load(), Some(LoadState::Loading)) && one.is_on();
    let all = of(client, session)?;
    Ok(all.is_some_and(|all| !all.iter().any(is_loading)))
}

/// What a session has; nothing if nobody has looked yet.
fn of(client: &Client, session: &Uri) -> anyhow::Result<Option<Vec<Customization>>> {
    let Some(ChannelState::Session(state)) = client.state(session) else {
        bail!("the session is gone");
    };
    let all = state.customizations.as_ref();
    Ok(all.map(|all| all.iter().map(|one| Customization::clone(one)).collect()))
}
