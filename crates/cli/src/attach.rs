//! `agenthost attach`: take part in a session, line by line.

use std::process::ExitCode;

use agenthost_client::{Client, Update};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, PendingMessageKind, PendingMessageSet, TurnCancelled,
};
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::uri::{RootChannel, Uri};
use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::output;
use crate::place::{Attached, Place, unique};
use crate::run::folder;
use crate::talk::ask::{Asker, DECLINE, Taken};
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

const HELP: &[&str] = &[
    "a line is a message; while a turn runs, it is queued",
    "y, n or a number answers the question that is open; text, if it asks for text",
    "/decline      declines to answer what the agent asks",
    "/steer TEXT   says something to the running turn",
    "/cancel       ends the running turn (so does Ctrl-C)",
    "//NAME        a command of the agent, if it has one of this name",
    "/help         this",
    "/quit         leaves; the session goes on (so does the end of input)",
];

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut attached = Attached::to(&arguments.place).await?;
    let result = talk(&mut attached.client, &arguments).await;
    attached.leave().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn talk(client: &mut Client, arguments: &Arguments) -> anyhow::Result<()> {
    let session = if arguments.new {
        talk::create_session(client, arguments.agent.as_deref(), &folder(None)?).await?
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
        asker.prompt();
        tokio::select! {
            update = client.next() => {
                let update = update?;
                if let Update::Rejected { reason, .. } = &update {
                    asker.refused();
                    output::note(&format!("refused: {reason}"));
                }
                show.update(client, &update).await?;
            }
            line = typed.next(), if !asker.is_waiting() => {
                let Some(line) = line else {
                    return show.finish();
                };
                match typed_line(client, &chat, &mut asker, line.trim())? {
                    Wish::Nothing => {}
                    Wish::Leave => return show.finish(),
                    Wish::Do(action) => {
                        client.dispatch(&chat, *action).await?;
                    }
                }
            }
            _ = interrupt.recv() => match cancel(client, &chat) {
                Some(action) => {
                    client.dispatch(&chat, action).await?;
                }
                None => return show.finish(),
            },
        }
    }
}

/// What a person wants.
enum Wish {
    Nothing,
    Leave,
    Do(Box<ChatAction>),
}

fn typed_line(client: &Client, chat: &Uri, asker: &mut Asker, line: &str) -> anyhow::Result<Wish> {
    let command = line.starts_with('/') && line != DECLINE;
    if asker.is_asking() && !command {
        // A question that any text answers takes no messages.
        match asker.take(line) {
            Taken::Answer(answer) => return Ok(Wish::Do(answer)),
            Taken::Unclear if asker.takes_any_text() => return Ok(Wish::Nothing),
            Taken::Unclear => {}
        }
    }
    if line.is_empty() {
        return Ok(Wish::Nothing);
    }
    let text = line;
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let action = match word {
        "/quit" => return Ok(Wish::Leave),
        "/help" => {
            for line in HELP {
                output::note(line);
            }
            return Ok(Wish::Nothing);
        }
        "/cancel" => match cancel(client, chat) {
            Some(action) => action,
            None => {
                output::note("nothing runs");
                return Ok(Wish::Nothing);
            }
        },
        "/steer" => pending(PendingMessageKind::Steering, rest)?,
        DECLINE => {
            output::note("no question is open");
            return Ok(Wish::Nothing);
        }
        other if is_command(other) => {
            output::note(
                "there is no such command; /help names them, and // begins one for the agent",
            );
            return Ok(Wish::Nothing);
        }
        _ => {
            // Two slashes: one for us, one for the agent.
            let line = line.strip_prefix('/').filter(|_| line.starts_with("//"));
            let text = line.unwrap_or(text);
            if running(client, chat).is_some() {
                output::note("queued: it goes when the turn is over");
                pending(PendingMessageKind::Queued, text)?
            } else {
                talk::turn(TurnId::from(unique()?), text)
            }
        }
    };
    Ok(Wish::Do(Box::new(action)))
}

/// Whether a word is meant as a command: a slash, and no path.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.contains('/'))
}

fn pending(kind: PendingMessageKind, text: &str) -> anyhow::Result<ChatAction> {
    Ok(ChatAction::PendingMessageSet(PendingMessageSet {
        kind,
        id: PendingMessageId::from(unique()?),
        message: talk::message(text),
    }))
}

fn cancel(client: &Client, chat: &Uri) -> Option<ChatAction> {
    let turn_id = running(client, chat)?;
    Some(ChatAction::TurnCancelled(TurnCancelled {
        turn_id,
        duration: Millis(0),
        meta: None,
    }))
}

fn running(client: &Client, chat: &Uri) -> Option<TurnId> {
    let ChannelState::Chat(state) = client.state(chat)? else {
        return None;
    };
    let state: &ChatState = state;
    Some(state.active_turn.as_ref()?.id.clone())
}

/// The session that is meant.
async fn find(client: &mut Client, named: Option<&str>) -> anyhow::Result<Uri> {
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
