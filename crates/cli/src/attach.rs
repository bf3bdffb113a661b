//! `agenthost attach`: take part in a session, line by line.

mod lines;

use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::{Client, Update};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::uri::{RootChannel, Uri};
use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::output;
use crate::place::{Attached, Place};
use crate::run::folder;
use crate::talk::ask::Asker;
use crate::talk::show::Show;
use crate::talk::{self, Typed};

/// Take part in a session: see it live, write, approve, cancel
///
/// Any number of terminals can attach to the same session, beside any other
/// client. What is typed is a message; while a turn runs it waits its turn.
/// Lines that begin with a slash are commands: /help names them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The session, or the end of its address [default: the latest]
    session: Option<String>,
    /// Make a new session in this folder
    #[arg(long, conflicts_with = "session")]
    new: bool,
    /// The agent of the new session [default: the first that the host offers]
    #[arg(long, value_name = "NAME", requires = "new")]
    agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  agenthost attach                  the latest session
  agenthost attach --new            a new one, in this folder
  agenthost attach 6314fd6f         the session whose address ends or begins so";

/// How long to wait for a host that is gone: a person can leave any time.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut attached = Attached::to(&arguments.place, PATIENCE).await?;
    let result = talk(&mut attached.client, &arguments).await;
    attached.leave().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn talk(client: &mut Client, arguments: &Arguments) -> anyhow::Result<()> {
    let session = if arguments.new {
        talk::create_session(client, arguments.agent.as_deref(), &folder(None)?, None).await?
    } else {
        find(client, arguments.session.as_deref()).await?
    };
    client.subscribe(&session).await?;
    let chat = talk::ready(client, &session, |_| Ok(())).await?;
    client.subscribe(&chat).await?;
    output::note(&format!(
        "attached to {session}; /help says what you can do"
    ));
    let mut show = Show::new(false);
    show.follow_chat(chat.clone());
    show.history(client).await?;

    let mut asker = Asker::default();
    let mut typed = Typed::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    loop {
        if let Some(ChannelState::Chat(state)) = client.confirmed(&chat) {
            asker.look(state);
        }
        if asker.was_withdrawn() {
            show.remark("somebody else has answered")?;
        }
        asker.prompt(&mut show)?;
        tokio::select! {
            update = client.next() => {
                let update = update?;
                if let Update::Rejected { reason, .. } = &update {
                    asker.refused();
                    show.remark(&format!("refused: {reason}"))?;
                }
                show.update(client, &update).await?;
            }
            line = typed.next(), if !asker.is_waiting() || client.is_lost() => {
                let Some(line) = line else {
                    return leave(client, show);
                };
                let wish = lines::understand(client, &chat, &mut asker, line.trim())?;
                for note in wish.notes {
                    show.remark(&note)?;
                }
                for action in wish.actions {
                    client.dispatch(&chat, action).await?;
                }
                if wish.leaves {
                    return leave(client, show);
                }
            }
            _ = interrupt.recv() => match lines::cancel(client, &chat) {
                Some(action) if !client.is_lost() => {
                    client.dispatch(&chat, action).await?;
                }
                _ => return leave(client, show),
            },
        }
    }
}

/// Goes, and says so if something that was typed has not been sent.
fn leave(client: &Client, mut show: Show) -> anyhow::Result<()> {
    if client.is_lost() && client.unsent() > 0 {
        show.remark("the host is gone: what was typed last was not sent")?;
    }
    show.finish()
}

/// The session that is meant: the latest if none is named.
pub(crate) async fn find(client: &mut Client, named: Option<&str>) -> anyhow::Result<Uri> {
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
        ([], None) => bail!("there are no sessions yet; `agenthost attach --new` makes one"),
        ([], Some(named)) => {
            bail!("there is no session `{named}`; `agenthost sessions` lists them")
        }
        (several, _) => bail!(
            "there are {} such sessions; say more of the address",
            several.len()
        ),
    }
}
