//! `agenthost run`: runs one turn in the terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, TurnCancelled};
use agenthost_protocol::ids::{ClientSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::background::HostLifetime;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::dialog;
use crate::dialog::StdinLines;
use crate::dialog::printer::{TurnEnding, TurnPrinter};
use crate::dialog::prompter::{LineOutcome, Prompter};
use crate::output;

/// Send one message to an agent and stream the response
///
/// Creates a session in this folder, streams the response, and asks for approvals. Attaches to
/// the running host, or starts one in the background. Input goes to a command while one runs.
/// Output goes to stdout, prompts and notices to stderr. The exit code is 0 on success, 1 if
/// something failed or was denied, 130 if the turn was cancelled.
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The message; for the shell agent, a command line
    message: String,
    /// The agent [default: the host's default agent: the shell, unless configured]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Working directory of the agent [default: this folder]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Work in a git worktree with its own branch
    #[arg(long)]
    worktree: bool,
    /// Approve everything without asking
    #[arg(long, short)]
    yes: bool,
    /// Print snapshots and actions, one JSON object per line; `agenthost reduce -` reads them
    #[arg(long)]
    json: bool,
    /// If no host is running, start one that ends with its last client and turn
    #[arg(long, env = TEMPORARY_VARIABLE)]
    temporary: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// The environment variable for `--temporary`.
pub(crate) const TEMPORARY_VARIABLE: &str = "AGENTHOST_TEMPORARY";

/// The control character (Ctrl-D) that signals the end of input in a terminal.
const END_OF_INPUT: &str = "\u{4}";

const RUN_EXAMPLES: &str = "\
Examples:
  agenthost run \"ls -la\"
  agenthost run --yes \"cargo test\"
  agenthost run '!make'                  run a command without the agent
  agenthost run --json --yes \"git status\" < /dev/null";

pub(crate) async fn run(arguments: RunArgs) -> anyhow::Result<ExitCode> {
    let directory = resolve_directory(arguments.cwd.as_deref())?;
    let lifetime = HostLifetime::of_flag(arguments.temporary);
    let connected =
        HostConnection::connect_or_start(&arguments.host, lifetime, COMMAND_RECONNECT_TIMEOUT);
    let mut connection = connected.await?;
    let ended = run_turn(&mut connection.client, &arguments, &directory).await;
    connection.close().await?;
    Ok(match ended? {
        TurnEnding::Succeeded => ExitCode::SUCCESS,
        TurnEnding::Failed => ExitCode::FAILURE,
        TurnEnding::Cancelled => ExitCode::from(130),
    })
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

async fn run_turn(
    client: &mut Client,
    arguments: &RunArgs,
    directory: &Path,
) -> anyhow::Result<TurnEnding> {
    let session = create_session(client, arguments, directory).await?;
    let mut printer = TurnPrinter::new(arguments.json);
    let chat = open_chat(client, &session, &mut printer).await?;
    let mut turn = RunningTurn::start(client, chat, arguments).await?;
    let mut stdin_lines = StdinLines::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        if let Some(ChannelState::Chat(state)) = client.confirmed_state(&turn.chat) {
            turn.prompter.update_from_chat(state);
        }
        if turn.approves_all
            && let Some(agreed) = turn.prompter.approve()
        {
            turn.answer(client, agreed).await?;
            continue;
        }
        turn.prompter.print_prompt(&mut printer)?;
        let terminal = printer.running_terminal(client);
        let update = tokio::select! {
            update = client.next_update() => update?,
            line = stdin_lines.next_line(), if turn.reads_input(terminal.as_ref()) => {
                turn.handle_line(client, terminal.as_ref(), line).await?;
                continue;
            }
            reason = wait_for_stop(&mut interrupt, &printer, turn.interrupted) => {
                turn.cancel(client, reason).await?;
                continue;
            }
        };
        if let ClientUpdate::Rejected { origin, reason } = &update {
            turn.handle_rejection(origin.as_ref(), reason)?;
        }
        if let Some(ended) = printer.handle_update(client, &update).await? {
            printer.finish()?;
            return Ok(ended);
        }
    }
}

async fn create_session(
    client: &mut Client,
    arguments: &RunArgs,
    directory: &Path,
) -> anyhow::Result<Uri> {
    let config = arguments.worktree.then(|| {
        let isolation = ("isolation".to_owned(), Json::from("worktree"));
        Object::from_iter([isolation])
    });
    let agent = arguments.agent.as_deref();
    dialog::create_session(client, agent, directory, config).await
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
    let chat =
        dialog::wait_until_ready(client, session, |update| printer.print_json(update)).await?;
    let snapshot = client.subscribe(&chat).await?;
    printer.print_snapshot(snapshot)?;
    printer.set_chat(chat.clone());
    Ok(chat)
}

/// The turn of this command, with the prompts for the user.
struct RunningTurn {
    chat: Uri,
    id: TurnId,
    start_seq: ClientSeq,
    approves_all: bool,
    prompter: Prompter,
    interrupted: bool,
    /// `true` if the end of input has been sent to the running terminal.
    input_ended: bool,
    /// The sequence number of the last dispatched answer.
    answer_seq: Option<ClientSeq>,
}

impl RunningTurn {
    async fn start(client: &mut Client, chat: Uri, arguments: &RunArgs) -> anyhow::Result<Self> {
        let id = TurnId::from("1");
        let started = dialog::turn_started(id.clone(), &arguments.message);
        let start_seq = client.dispatch(&chat, started).await?;
        Ok(RunningTurn {
            chat,
            id,
            start_seq,
            approves_all: arguments.yes,
            prompter: Prompter::default(),
            interrupted: false,
            input_ended: false,
            answer_seq: None,
        })
    }

    /// Returns `true` if a line of input can be used: for a prompt or for the running
    /// terminal.
    fn reads_input(&self, terminal: Option<&Uri>) -> bool {
        self.prompter.has_open_prompt() || terminal.is_some() && !self.input_ended
    }

    async fn answer(&mut self, client: &mut Client, answer: ChatAction) -> anyhow::Result<()> {
        self.answer_seq = Some(client.dispatch(&self.chat, answer).await?);
        Ok(())
    }

    /// Handles a line of input, or the end of input if it is `None`.
    async fn handle_line(
        &mut self,
        client: &mut Client,
        terminal: Option<&Uri>,
        line: Option<String>,
    ) -> anyhow::Result<()> {
        if let (false, Some(terminal)) = (self.prompter.has_open_prompt(), terminal) {
            self.input_ended = line.is_none();
            let data = line.map(|line| format!("{line}\n"));
            let data = data.unwrap_or_else(|| END_OF_INPUT.to_owned());
            let input = TerminalAction::Input(TerminalInput { data });
            client.dispatch(terminal, input).await?;
            return Ok(());
        }
        let confirmed = match line {
            Some(line) => match self.prompter.handle_line(&line) {
                LineOutcome::Answer(confirmed) => Some(*confirmed),
                LineOutcome::Unclear => None,
            },
            None => {
                output::print_note(
                    "standard input has ended, so the request is denied; `--yes` approves everything",
                );
                self.prompter.deny()
            }
        };
        if let Some(confirmed) = confirmed {
            self.answer(client, confirmed).await?;
        }
        Ok(())
    }

    /// Cancels the turn. The second call exits the process at once.
    async fn cancel(&mut self, client: &mut Client, reason: &str) -> anyhow::Result<()> {
        if self.interrupted {
            // The user does not want to wait, so buffered output is discarded.
            std::process::exit(130);
        }
        self.interrupted = true;
        output::print_note(reason);
        let duration = Millis(0);
        let cancelled = TurnCancelled {
            turn_id: self.id.clone(),
            duration,
            meta: None,
        };
        client
            .dispatch(&self.chat, ChatAction::TurnCancelled(cancelled))
            .await?;
        Ok(())
    }

    fn handle_rejection(
        &mut self,
        origin: Option<&ActionOrigin>,
        reason: &str,
    ) -> anyhow::Result<()> {
        let refused = origin.map(|origin| origin.client_seq);
        let answer = refused.is_some() && refused == self.answer_seq;
        if refused == Some(self.start_seq) || answer && self.approves_all {
            bail!("the host refused the action: {reason}");
        }
        // Other rejected actions were for a turn or terminal that had just ended.
        if answer {
            // The user can correct an answer that the host rejected.
            self.prompter.handle_rejection();
            output::print_note(&format!("refused: {reason}"));
        }
        Ok(())
    }
}

/// Waits for Ctrl-C, or until stdout has been closed. Returns the note to print.
async fn wait_for_stop(
    interrupt: &mut Signal,
    printer: &TurnPrinter,
    interrupted: bool,
) -> &'static str {
    let closed = async {
        printer.wait_closed().await;
        // The turn is being cancelled already; only Ctrl-C may end the command sooner.
        if interrupted {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = interrupt.recv() => "cancelling; press Ctrl-C again to exit at once",
        () = closed => "stdout was closed: cancelling",
    }
}
