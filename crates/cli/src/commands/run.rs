//! `agenthost run`: one turn, in this terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, TurnCancelled};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::dialog;
use crate::dialog::StdinLines;
use crate::dialog::printer::{TurnEnding, TurnPrinter};
use crate::dialog::prompter::{LineOutcome, Prompter};
use crate::output;

/// Send one message to an agent, here in the terminal
///
/// Makes a session in this folder, streams the answer, and asks before
/// anything is done. Attaches to the host that runs, or starts one for the
/// time. What is typed while a command runs goes to the command. Output goes
/// to stdout, questions and remarks to stderr. The exit code is 0 if all went
/// well, 1 if something failed or was denied, 130 if it was cancelled.
#[derive(clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The message; for the shell agent, a command line
    message: String,
    /// The agent [default: the first that the host offers]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Where the agent works [default: this folder]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Work in a git worktree with a branch of its own
    #[arg(long)]
    worktree: bool,
    /// Agree to everything without asking
    #[arg(long, short)]
    yes: bool,
    /// Snapshots and actions as they come, one JSON object a line; `agenthost
    /// reduce -` reads them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// What tells a program in a terminal that nothing more comes.
const END_OF_INPUT: &str = "\u{4}";

const RUN_EXAMPLES: &str = "\
Examples:
  agenthost run \"ls -la\"
  agenthost run --yes \"cargo test\"
  agenthost run '!make'                  a command in a session of any agent, not asked about
  agenthost run --json \"git status\" < /dev/null";

pub(crate) async fn run(arguments: RunArgs) -> anyhow::Result<ExitCode> {
    let directory = resolve_directory(arguments.cwd.as_deref())?;
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let ended = run_turn(&mut connection.client, &arguments, &directory).await;
    connection.close().await?;
    Ok(match ended? {
        TurnEnding::Succeeded => ExitCode::SUCCESS,
        TurnEnding::Failed => ExitCode::FAILURE,
        TurnEnding::Cancelled => ExitCode::from(130),
    })
}

/// The folder that was named, or this one.
pub(crate) fn resolve_directory(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let directory = match named {
        Some(directory) => directory.to_owned(),
        None => std::env::current_dir().context("this folder")?,
    };
    let directory = std::fs::canonicalize(&directory)
        .with_context(|| format!("folder `{}`", directory.display()))?;
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
    let config = arguments.worktree.then(|| {
        let isolation = ("isolation".to_owned(), Json::from("worktree"));
        Object::from_iter([isolation])
    });
    let agent = arguments.agent.as_deref();
    let session = dialog::create_session(client, agent, directory, config).await?;
    let mut printer = TurnPrinter::new(arguments.json);
    let snapshot = client.subscribe(&session).await?;
    printer.print_snapshot(snapshot)?;
    let chat =
        dialog::wait_until_ready(client, &session, |update| printer.print_json(update)).await?;
    let snapshot = client.subscribe(&chat).await?;
    printer.print_snapshot(snapshot)?;
    printer.set_chat(chat.clone());
    let id = TurnId::from("1");
    let started = dialog::turn_started(id.clone(), &arguments.message);
    let start_seq = client.dispatch(&chat, started).await?;

    let mut prompter = Prompter::default();
    let mut stdin_lines = StdinLines::new();
    let mut interrupted = false;
    // Whether what runs was told that nothing more is typed.
    let mut input_ended = false;
    // The last answer that was given.
    let mut answer_seq = None;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        if let Some(ChannelState::Chat(state)) = client.confirmed_state(&chat) {
            prompter.update_from_chat(state);
        }
        if arguments.yes
            && let Some(agreed) = prompter.approve()
        {
            answer_seq = Some(client.dispatch(&chat, agreed).await?);
            continue;
        }
        prompter.print_prompt(&mut printer)?;
        let terminal = printer.running_terminal(client);
        let update = tokio::select! {
            update = client.next_update() => update?,
            line = stdin_lines.next_line(), if prompter.has_open_prompt() || terminal.is_some() && !input_ended => {
                if let (false, Some(terminal)) = (prompter.has_open_prompt(), &terminal) {
                    input_ended = line.is_none();
                    let data = line.map(|line| format!("{line}\n"));
                    let data = data.unwrap_or_else(|| END_OF_INPUT.to_owned());
                    let input = TerminalAction::Input(TerminalInput { data });
                    client.dispatch(terminal, input).await?;
                    continue;
                }
                let confirmed = match line {
                    Some(line) => match prompter.handle_line(&line) {
                        LineOutcome::Answer(confirmed) => Some(*confirmed),
                        LineOutcome::Unclear => None,
                    },
                    None => {
                        output::print_note(
                            "nobody is here to agree, so it is denied; `--yes` agrees to everything",
                        );
                        prompter.deny()
                    }
                };
                if let Some(confirmed) = confirmed {
                    answer_seq = Some(client.dispatch(&chat, confirmed).await?);
                }
                continue;
            }
            reason = wait_for_stop(&mut interrupt, &printer, interrupted) => {
                if interrupted {
                    // At once: whatever has not been read stays unread.
                    std::process::exit(130);
                }
                interrupted = true;
                output::print_note(reason);
                let duration = Millis(0);
                let cancelled = TurnCancelled { turn_id: id.clone(), duration, meta: None };
                client.dispatch(&chat, ChatAction::TurnCancelled(cancelled)).await?;
                continue;
            }
        };
        if let ClientUpdate::Rejected { origin, reason } = &update {
            let refused = origin.as_ref().map(|origin| origin.client_seq);
            let answer = refused.is_some() && refused == answer_seq;
            if refused == Some(start_seq) || answer && arguments.yes {
                bail!("the host refused: {reason}");
            }
            // All else was for something that had just ended.
            if answer {
                // One that does not fit can be given again by who gave it.
                prompter.handle_rejection();
                output::print_note(&format!("refused: {reason}"));
            }
        }
        if let Some(ended) = printer.handle_update(client, &update).await? {
            printer.finish()?;
            return Ok(ended);
        }
    }
}

/// Waits until the person wants no more: pressed Ctrl-C, or reads no more.
async fn wait_for_stop(
    interrupt: &mut Signal,
    printer: &TurnPrinter,
    interrupted: bool,
) -> &'static str {
    let closed = async {
        printer.wait_closed().await;
        // The turn is being cancelled; this is no reason to leave before.
        if interrupted {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = interrupt.recv() => "cancelling; once more to leave at once",
        () = closed => "nobody reads the output any more: cancelling",
    }
}
