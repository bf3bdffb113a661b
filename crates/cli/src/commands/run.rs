//! `agenthost run`: runs one turn in the terminal.

mod command_keys;
mod message;
mod running_turn;
mod stop_signals;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::Message;
use agenthost_protocol::session::DisposeSessionParams;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use clap_complete::engine::ArgValueCandidates;

use self::message::{MessageArgs, StdinUse};
use self::running_turn::{RunningTurn, TurnOutcome};
use crate::background::HostLifetime;
use crate::commands::settings::chat_model::{current_model, offered_models, select_model};
use crate::commands::settings::session_settings::{self, MODE_KEY};
use crate::completion_values::{agent_names, session_ids};
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostTarget};
use crate::dialog;
use crate::dialog::agent_choice::{
    SHELL_AGENT, agent_of_session, choose_agent, default_or_named_agent,
};
use crate::dialog::printer::{PrinterMode, TurnEnding, TurnPrinter};
use crate::dialog::turn_output::{OutputFormat, TurnOutput};
use crate::output;
use crate::session_lookup::{find_session, latest_session_in, local_folder};
use crate::terminal::message_meta;
use crate::terminal::spinner::{START_DELAY, show_while};

/// Send one message to an agent and stream the response
///
/// Creates a session in this folder, streams the response, and asks for approvals. Attaches to
/// the running host, or starts one in the background. Text that is piped to it is attached to the
/// message; a command gets it as its input. While a command runs, it reads the keys of the
/// terminal: Ctrl-C interrupts the command, Ctrl-\ cancels the turn. Output goes to stdout,
/// prompts and notices to stderr. The exit code is 0 on success, 1 if something failed, 130 if the
/// turn was cancelled. A call that you or a hook denied is no failure of an agent. A command of the
/// shell agent has its own exit code, and 1 if it was denied.
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    message: MessageArgs,
    /// The agent; `shell` runs the message as a command
    /// [default: the host's default agent; asks once if there are several]
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(agent_names))]
    agent: Option<String>,
    /// The mode of the session, as `agenthost mode` lists it
    #[arg(long, value_name = "ID")]
    mode: Option<String>,
    /// Continue the latest session in this folder
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["agent", "worktree", "session"])]
    continues: bool,
    /// Continue a session: its address, or the beginning or end of its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["agent", "worktree", "cwd"], add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    /// Working directory of the agent [default: this folder]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Work in a git worktree with its own branch
    #[arg(long)]
    worktree: bool,
    /// Approve everything without asking
    #[arg(long, short)]
    yes: bool,
    /// The format of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    output_format: OutputFormat,
    /// The same as `--output-format stream-json`
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// If no host is running, start one that ends with its last client and turn
    #[arg(long, env = TEMPORARY_VARIABLE)]
    temporary: bool,
    #[command(flatten)]
    host: HostTarget,
}

/// The environment variable for `--temporary`.
pub(crate) const TEMPORARY_VARIABLE: &str = "AGENTHOST_TEMPORARY";

const RUN_EXAMPLES: &str = "\
Examples:
  agenthost run what does this project do
  git diff | agenthost run --agent goose \"review this\"
  agenthost run --continue \"and now the tests\"
  agenthost run --agent shell --yes \"cargo test\"
  agenthost run '!make'                  run a command without the agent
  agenthost run --output-format json --yes '!git status' < /dev/null";

pub(crate) async fn run(arguments: RunArgs) -> anyhow::Result<ExitCode> {
    if arguments.host.remote.is_none() {
        // A mistake is reported before a host is started.
        resolve_directory(arguments.cwd.as_deref())?;
    }
    let lifetime = HostLifetime::of_flag(arguments.temporary);
    let connected = arguments.host.connect(lifetime, COMMAND_RECONNECT_TIMEOUT);
    let mut connection = connected.await?;
    let outcome = run_turn(&mut connection.client, &arguments).await;
    connection.close().await?;
    Ok(exit_code(outcome?))
}

fn exit_code(outcome: TurnOutcome) -> ExitCode {
    match (outcome.ending, outcome.exit_code) {
        (TurnEnding::Succeeded, _) => ExitCode::SUCCESS,
        (TurnEnding::Cancelled, _) => ExitCode::from(130),
        (TurnEnding::Failed, Some(code)) => ExitCode::from(code),
        (TurnEnding::Failed, None) => ExitCode::FAILURE,
    }
}

/// Returns the absolute path of the given folder, or of the current one.
pub(crate) fn resolve_directory(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let directory = match named {
        Some(directory) => directory.to_owned(),
        None => std::env::current_dir().context("get the current folder")?,
    };
    let directory = std::fs::canonicalize(&directory)
        .with_context(|| format!("resolve folder `{}`", directory.display()))?;
    if !directory.is_dir() {
        bail!("`{}` is not a folder", directory.display());
    }
    Ok(directory)
}

async fn run_turn(client: &mut Client, arguments: &RunArgs) -> anyhow::Result<TurnOutcome> {
    let directory = arguments
        .host
        .resolve_directory(client, arguments.cwd.as_deref())?;
    let directory = directory.as_path();
    let (text, stdin) = arguments.message.read_text()?;
    let chosen = choose_session(client, arguments, directory, &text).await?;
    let format = match arguments.json {
        true => OutputFormat::StreamJson,
        false => arguments.output_format,
    };
    let output = TurnOutput::to_streams(format);
    let mut printer = TurnPrinter::new(output, PrinterMode::OneTurn);
    let prepared = prepare_turn(
        client,
        arguments,
        directory,
        &chosen,
        &mut printer,
        text,
        stdin,
    )
    .await;
    match prepared {
        Ok((turn, message)) => turn.run(client, printer, message).await,
        Err(error) => {
            if let ChosenSession::New(session) = chosen {
                delete_session(client, session).await;
            }
            Err(error)
        }
    }
}

/// Opens the session and sets its mode. Returns the turn with its message.
async fn prepare_turn(
    client: &mut Client,
    arguments: &RunArgs,
    directory: &Path,
    chosen: &ChosenSession,
    printer: &mut TurnPrinter,
    text: String,
    stdin: StdinUse,
) -> anyhow::Result<(RunningTurn, Message)> {
    let session = chosen.uri();
    let chat = open_chat(client, session, printer).await?;
    if let Some(mode) = &arguments.mode {
        session_settings::set_choice(client, session, MODE_KEY, mode).await?;
    }
    let agent = agent_of_session(client, session);
    let of_shell = agent
        .as_ref()
        .is_some_and(|agent| agent.as_str() == SHELL_AGENT);
    let is_command = of_shell || text.starts_with('!');
    let folder = session_folder_path(client, session).unwrap_or_else(|| directory.to_owned());
    let read = arguments
        .message
        .complete(text, stdin, is_command, &folder)?;
    let mut message = read.message;
    message.meta = message_meta();
    message.model = match (arguments.message.model(), agent) {
        (Some(named), Some(agent)) => {
            let offered = offered_models(client, &agent).await?;
            Some(select_model(&offered, named)?)
        }
        _ => current_model(client, &chat),
    };
    let turn = RunningTurn {
        session: session.clone(),
        chat,
        is_command,
        approves_all: arguments.yes,
        stdin: read.stdin,
    };
    Ok((turn, message))
}

/// The session of the turn.
enum ChosenSession {
    /// A session that was created for the turn.
    New(Uri),
    Existing(Uri),
}

impl ChosenSession {
    fn uri(&self) -> &Uri {
        match self {
            ChosenSession::New(session) | ChosenSession::Existing(session) => session,
        }
    }
}

/// Deletes a session whose first turn could not begin.
async fn delete_session(client: &mut Client, session: Uri) {
    let deletion = DisposeSessionParams {
        channel: session,
        meta: None,
    };
    if let Err(error) = client.request(deletion).await {
        output::print_note(&format!("the empty session was not deleted: {error}"));
    }
}

/// Returns the session to continue, or a new one.
async fn choose_session(
    client: &mut Client,
    arguments: &RunArgs,
    directory: &Path,
    text: &str,
) -> anyhow::Result<ChosenSession> {
    if let Some(named) = &arguments.session {
        let found = find_session(client, named).await?.resource;
        return Ok(ChosenSession::Existing(found));
    }
    if arguments.continues {
        return match latest_session_in(client, directory).await? {
            Some(summary) => Ok(ChosenSession::Existing(summary.resource)),
            None => bail!(
                "there is no session in this folder to continue\n\
                 hint: `agenthost sessions` lists all; `--session ID` names one"
            ),
        };
    }
    let config = arguments.worktree.then(|| {
        let isolation = ("isolation".to_owned(), Json::from("worktree"));
        Object::from_iter([isolation])
    });
    let agent = match text.starts_with('!') {
        // Every agent runs such a message as a command, so there is nothing to ask.
        true => default_or_named_agent(client, arguments.agent.as_deref()).await?,
        false => choose_agent(client, arguments.agent.as_deref(), &arguments.host).await?,
    };
    let session = dialog::create_session(client, agent, directory, config).await?;
    Ok(ChosenSession::New(session))
}

fn session_folder_path(client: &Client, session: &Uri) -> Option<PathBuf> {
    match client.state(session)? {
        ChannelState::Session(state) => local_folder(&state.metadata),
        _ => None,
    }
}

/// Subscribes to a session and waits until it is ready. Subscribes to its default chat and
/// returns it.
async fn open_chat(
    client: &mut Client,
    session: &Uri,
    printer: &mut TurnPrinter,
) -> anyhow::Result<Uri> {
    let snapshot = client.subscribe(session).await?;
    printer.print_snapshot(snapshot)?;
    let label = dialog::start_label(client, session);
    let ready = dialog::wait_until_ready(client, session, |update| printer.print_json(update));
    let chat = show_while(&label, START_DELAY, ready).await?;
    let snapshot = client.subscribe(&chat).await?;
    printer.print_snapshot(snapshot)?;
    printer.set_chat(chat.clone());
    Ok(chat)
}
