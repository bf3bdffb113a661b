//! `agenthost run`: one turn, in this terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::{Client, Update};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, TurnCancelled};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;
use crate::place::{Attached, PATIENCE, Place};
use crate::talk::ask::{Asker, Taken};
use crate::talk::show::{Ended, Show};
use crate::talk::{self, Typed};

/// Send one message to an agent, here in the terminal
///
/// Makes a session in this folder, streams the answer, and asks before
/// anything is done. Attaches to the host that runs, or starts one for the
/// time. What is typed while a command runs goes to the command. Output goes
/// to stdout, questions and remarks to stderr. The exit code is 0 if all went
/// well, 1 if something failed or was denied, 130 if it was cancelled.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
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
    place: Place,
}

/// What tells a program in a terminal that nothing more comes.
const END_OF_INPUT: &str = "\u{4}";

const EXAMPLES: &str = "\
Examples:
  agenthost run \"ls -la\"
  agenthost run --yes \"cargo test\"
  agenthost run '!make'                  a command in a session of any agent, not asked about
  agenthost run --json \"git status\" < /dev/null";

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let directory = folder(arguments.cwd.as_deref())?;
    let mut attached = Attached::to(&arguments.place, PATIENCE).await?;
    let ended = turn(&mut attached.client, &arguments, &directory).await;
    attached.leave().await?;
    Ok(match ended? {
        Ended::Well => ExitCode::SUCCESS,
        Ended::Badly => ExitCode::FAILURE,
        Ended::Cancelled => ExitCode::from(130),
    })
}

/// The folder that was named, or this one.
pub(crate) fn folder(named: Option<&Path>) -> anyhow::Result<PathBuf> {
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

async fn turn(
    client: &mut Client,
    arguments: &Arguments,
    directory: &Path,
) -> anyhow::Result<Ended> {
    let config = arguments.worktree.then(|| {
        let isolation = ("isolation".to_owned(), Json::from("worktree"));
        Object::from_iter([isolation])
    });
    let agent = arguments.agent.as_deref();
    let session = talk::create_session(client, agent, directory, config).await?;
    let mut show = Show::new(arguments.json);
    let snapshot = client.subscribe(&session).await?;
    show.snapshot(snapshot)?;
    let chat = talk::ready(client, &session, |update| show.json(update)).await?;
    let snapshot = client.subscribe(&chat).await?;
    show.snapshot(snapshot)?;
    show.follow_chat(chat.clone());
    let id = TurnId::from("1");
    let started = talk::turn(id.clone(), &arguments.message);
    let begun = client.dispatch(&chat, started).await?;

    let mut asker = Asker::default();
    let mut typed = Typed::new();
    let mut interrupted = false;
    // Whether what runs was told that nothing more is typed.
    let mut hung_up = false;
    // The last answer that was given.
    let mut answered = None;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        if let Some(ChannelState::Chat(state)) = client.confirmed(&chat) {
            asker.look(state);
        }
        if arguments.yes
            && let Some(agreed) = asker.agree()
        {
            answered = Some(client.dispatch(&chat, agreed).await?);
            continue;
        }
        asker.prompt(&mut show)?;
        let terminal = show.running_terminal(client);
        let update = tokio::select! {
            update = client.next() => update?,
            line = typed.next(), if asker.is_asking() || terminal.is_some() && !hung_up => {
                if let (false, Some(terminal)) = (asker.is_asking(), &terminal) {
                    hung_up = line.is_none();
                    let data = line.map(|line| format!("{line}\n"));
                    let data = data.unwrap_or_else(|| END_OF_INPUT.to_owned());
                    let input = TerminalAction::Input(TerminalInput { data });
                    client.dispatch(terminal, input).await?;
                    continue;
                }
                let confirmed = match line {
                    Some(line) => match asker.take(&line) {
                        Taken::Answer(confirmed) => Some(*confirmed),
                        Taken::Unclear => None,
                    },
                    None => {
                        output::note(
                            "nobody is here to agree, so it is denied; `--yes` agrees to everything",
                        );
                        asker.deny()
                    }
                };
                if let Some(confirmed) = confirmed {
                    answered = Some(client.dispatch(&chat, confirmed).await?);
                }
                continue;
            }
            reason = stopped(&mut interrupt, &show, interrupted) => {
                if interrupted {
                    // At once: whatever has not been read stays unread.
                    std::process::exit(130);
                }
                interrupted = true;
                output::note(reason);
                let duration = Millis(0);
                let cancelled = TurnCancelled { turn_id: id.clone(), duration, meta: None };
                client.dispatch(&chat, ChatAction::TurnCancelled(cancelled)).await?;
                continue;
            }
        };
        if let Update::Rejected { origin, reason } = &update {
            let refused = origin.as_ref().map(|origin| origin.client_seq);
            let answer = refused.is_some() && refused == answered;
            if refused == Some(begun) || answer && arguments.yes {
                bail!("the host refused: {reason}");
            }
            // All else was for something that had just ended.
            if answer {
                // One that does not fit can be given again by who gave it.
                asker.refused();
                output::note(&format!("refused: {reason}"));
            }
        }
        if let Some(ended) = show.update(client, &update).await? {
            show.finish()?;
            return Ok(ended);
        }
    }
}

/// Waits until the person wants no more: pressed Ctrl-C, or reads no more.
async fn stopped(interrupt: &mut Signal, show: &Show, interrupted: bool) -> &'static str {
    let closed = async {
        show.closed().await;
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
