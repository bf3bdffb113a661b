//! `agenthost attach`: takes part in a session, line by line.

pub(crate) mod input;

use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::uri::{RootChannel, Uri};
use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::background::HostLifetime;
use crate::commands::run::{TEMPORARY_VARIABLE, resolve_directory};
use crate::connect::{HostConnection, HostOptions};
use crate::dialog;
use crate::dialog::StdinLines;
use crate::dialog::printer::TurnPrinter;
use crate::dialog::prompter::Prompter;
use crate::output;

/// Take part in a session: see it live, write, approve, cancel
///
/// Any number of terminals and other clients can attach to the same session. A line is a
/// message; while a turn runs, it is queued. Lines that begin with a slash are commands: /help
/// lists them.
#[derive(clap::Args)]
#[command(after_help = ATTACH_EXAMPLES)]
pub(crate) struct AttachArgs {
    /// The session: its address, or the beginning or end of its id [default: the latest]
    session: Option<String>,
    /// Create a new session in this folder
    #[arg(long, conflicts_with = "session")]
    new: bool,
    /// The agent of the new session [default: the host's default agent: the shell, unless
    /// configured]
    #[arg(long, value_name = "NAME", requires = "new")]
    agent: Option<String>,
    /// If no host is running, start one that ends with its last client and turn
    #[arg(long, env = TEMPORARY_VARIABLE)]
    temporary: bool,
    #[command(flatten)]
    host: HostOptions,
}

const ATTACH_EXAMPLES: &str = "\
Examples:
  agenthost attach                  join the latest session
  agenthost attach --new            create a session in this folder
  agenthost attach 6314fd6f         join the session whose id begins or ends like this";

/// Time that the client tries to reconnect to a lost host. It is long, because the user can
/// leave at any time.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) async fn run(arguments: AttachArgs) -> anyhow::Result<ExitCode> {
    let lifetime = HostLifetime::of_flag(arguments.temporary);
    let attached = HostConnection::connect_or_start(&arguments.host, lifetime, RECONNECT_TIMEOUT);
    let mut attached = attached.await?;
    let result = run_dialog(&mut attached.client, &arguments).await;
    attached.close().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn run_dialog(client: &mut Client, arguments: &AttachArgs) -> anyhow::Result<()> {
    let session = if arguments.new {
        dialog::create_session(
            client,
            arguments.agent.as_deref(),
            &resolve_directory(None)?,
            None,
        )
        .await?
    } else {
        find_session(client, arguments.session.as_deref()).await?
    };
    client.subscribe(&session).await?;
    let chat = dialog::wait_until_ready(client, &session, |_| Ok(())).await?;
    client.subscribe(&chat).await?;
    output::print_note(&format!("attached to {session}; /help lists the commands"));
    let mut printer = TurnPrinter::new(false);
    printer.set_chat(chat.clone());
    printer.print_history(client).await?;

    let mut prompter = Prompter::default();
    let mut stdin_lines = StdinLines::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        if let Some(ChannelState::Chat(state)) = client.confirmed_state(&chat) {
            prompter.update_from_chat(state);
        }
        if prompter.take_withdrawn() {
            printer.print_note("answered by another client")?;
        }
        prompter.print_prompt(&mut printer)?;
        tokio::select! {
            update = client.next_update() => {
                let update = update?;
                if let ClientUpdate::Rejected { reason, .. } = &update {
                    prompter.handle_rejection();
                    printer.print_note(&format!("refused: {reason}"))?;
                }
                printer.handle_update(client, &update).await?;
            }
            line = stdin_lines.next_line(), if !prompter.is_answer_pending() || client.is_disconnected() => {
                let Some(line) = line else {
                    return detach(client, printer);
                };
                let line_action = input::parse_line(client, &chat, &mut prompter, line.trim())?;
                for note in line_action.notes {
                    printer.print_note(&note)?;
                }
                for action in line_action.actions {
                    client.dispatch(&chat, action).await?;
                }
                if line_action.quits {
                    return detach(client, printer);
                }
            }
            _ = interrupt.recv() => match input::cancel_turn(client, &chat) {
                Some(action) if !client.is_disconnected() => {
                    client.dispatch(&chat, action).await?;
                }
                _ => return detach(client, printer),
            },
        }
    }
}

/// Flushes the output and leaves. Prints a note if unconfirmed actions were not sent.
fn detach(client: &Client, mut printer: TurnPrinter) -> anyhow::Result<()> {
    if client.is_disconnected() && client.unconfirmed_count() > 0 {
        printer.print_note("disconnected from the host: the last line was not sent")?;
    }
    printer.finish()
}

/// Finds a session by its URI or a part of its id. Returns the latest one if no name is
/// given.
pub(crate) async fn find_session(client: &mut Client, named: Option<&str>) -> anyhow::Result<Uri> {
    let mut cursor = None;
    let mut found = Vec::new();
    loop {
        let list = ListSessionsParams {
            channel: RootChannel,
            limit: None,
            cursor,
            meta: None,
        };
        let page = client.request(list).await?;
        for summary in page.items {
            let Some(named) = named else {
                return Ok(summary.resource);
            };
            let text = summary.resource.as_str();
            let name = text.split(['/', ':']).next_back().unwrap_or_default();
            if text == named {
                return Ok(summary.resource);
            }
            if text.ends_with(named) || name.starts_with(named) {
                found.push(summary.resource);
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    match (&found[..], named) {
        ([one], _) => Ok(one.clone()),
        ([], None) => {
            bail!("there are no sessions yet\nhint: `agenthost attach --new` creates one")
        }
        ([], Some(named)) => {
            bail!("there is no session `{named}`\nhint: `agenthost sessions` lists them")
        }
        (several, _) => bail!(
            "{} sessions match; specify more of the address",
            several.len()
        ),
    }
}
