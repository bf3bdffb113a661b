//! `agenthost run`: one turn, in this terminal.

mod ask;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use agenthost_client::{Client, Update};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, Message, MessageKind, MessageOrigin, TurnCancelled, TurnStarted,
};
use agenthost_protocol::ids::{ProviderId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{CreateSessionParams, SessionLifecycle};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;
use crate::place::{Attached, Place, unique};
use ask::Asker;
use show::{Ended, Show};

/// Send one message to an agent, here in the terminal
///
/// Makes a session in this folder, streams the answer, and asks before
/// anything is done. Attaches to the host that runs, or starts one for the
/// time. Output goes to stdout, questions and remarks to stderr. The exit
/// code is 0 if all went well, 1 if something failed or was denied, 130 if it
/// was cancelled.
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

const EXAMPLES: &str = "\
Examples:
  agenthost run \"ls -la\"
  agenthost run --yes \"cargo test\"
  agenthost run --json \"git status\" < /dev/null";

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let directory = match &arguments.cwd {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().context("this folder")?,
    };
    let directory = std::fs::canonicalize(&directory)
        .with_context(|| format!("folder `{}`", directory.display()))?;
    if !directory.is_dir() {
        bail!("`{}` is not a folder", directory.display());
    }
    let mut attached = Attached::to(&arguments.place, Vec::new()).await?;
    let ended = turn(&mut attached.client, &arguments, &directory).await;
    attached.leave().await?;
    Ok(match ended? {
        Ended::Well => ExitCode::SUCCESS,
        Ended::Badly => ExitCode::FAILURE,
        Ended::Cancelled => ExitCode::from(130),
    })
}

async fn turn(
    client: &mut Client,
    arguments: &Arguments,
    directory: &std::path::Path,
) -> anyhow::Result<Ended> {
    let session = Uri::from(format!("ahp-session:/{}", unique()?));
    let folder = file_uri(directory)?;
    client
        .request(CreateSessionParams {
            channel: session.clone(),
            provider: arguments.agent.as_deref().map(ProviderId::from),
            working_directories: Some(vec![folder]),
            config: None,
            active_client: None,
            progress_token: None,
            meta: None,
        })
        .await?;
    let mut show = Show::new(arguments.json);
    let chat = ready(client, &session, &show).await?;
    let snapshot = client.subscribe(&chat).await?;
    show.snapshot(snapshot)?;
    show.follow_chat(chat.clone());
    let turn = TurnId::from("1");
    let started = ChatAction::TurnStarted(TurnStarted {
        turn_id: turn.clone(),
        started_at: Timestamp::from_millis(now()),
        message: Arc::new(Message {
            text: arguments.message.clone(),
            origin: MessageOrigin {
                kind: MessageKind::User,
            },
            attachments: None,
            model: None,
            agent: None,
            meta: None,
        }),
        queued_message_id: None,
        meta: None,
    });
    client.dispatch(&chat, started).await?;

    let mut asker = Asker::new(arguments.yes);
    let mut interrupted = false;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        let update = tokio::select! {
            update = client.next() => update?,
            answer = asker.answer() => {
                if let Some(confirmed) = answer {
                    client.dispatch(&chat, confirmed).await?;
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
                let cancelled = TurnCancelled { turn_id: turn.clone(), duration, meta: None };
                client.dispatch(&chat, ChatAction::TurnCancelled(cancelled)).await?;
                continue;
            }
        };
        if let Update::Rejected { reason, .. } = &update {
            bail!("the host refused: {reason}");
        }
        if let Some(ended) = show.update(client, &update).await? {
            show.finish()?;
            return Ok(ended);
        }
        if let Some(ChannelState::Chat(state)) = client.state(&chat) {
            asker.look(state);
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

/// Waits until a session can be used, and returns its chat.
async fn ready(client: &mut Client, session: &Uri, show: &Show) -> anyhow::Result<Uri> {
    let snapshot = client.subscribe(session).await?;
    show.snapshot(snapshot)?;
    loop {
        let Some(ChannelState::Session(state)) = client.state(session) else {
            bail!("the session is gone");
        };
        match &state.lifecycle {
            SessionLifecycle::Ready => {
                let chat = state.default_chat.clone();
                return chat.context("the session has no chat");
            }
            SessionLifecycle::Failed => {
                let error = state.creation_error.as_ref();
                let reason = error.map_or("no reason was given", |error| &error.message);
                bail!("the agent could not start: {reason}");
            }
            SessionLifecycle::Creating | SessionLifecycle::Unknown(_) => {}
        }
        let update = client.next().await?;
        show.json(&update)?;
    }
}

fn file_uri(path: &std::path::Path) -> anyhow::Result<Uri> {
    let path = path
        .to_str()
        .context("the name of the folder is not UTF-8")?;
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    Ok(Uri::from(uri))
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
