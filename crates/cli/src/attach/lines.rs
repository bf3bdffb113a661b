//! What a person types, and what it means.

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, PendingMessageKind, PendingMessageRemoved, PendingMessageSet,
    TurnCancelled,
};
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;

use crate::place::unique;
use crate::talk;
use crate::talk::ask::{Asker, DECLINE, Taken};

const HELP: &[&str] = &[
    "a line is a message; while a turn runs, it is queued",
    "y, n or a number answers the question that is open; text, if it asks for text",
    "/decline      declines to answer what the agent asks",
    "/steer TEXT   says something to the running turn",
    "/queue TEXT   queues a message, also while a question is open",
    "/waiting      shows what is queued; /drop drops it",
    "/cancel       ends the running turn (so does Ctrl-C; when nothing runs, that leaves)",
    "//NAME        a command of the agent, if it has one of this name",
    "/help         this",
    "/quit         leaves; the session goes on (so does the end of input)",
];

/// What comes of a line.
#[derive(Default)]
pub(super) struct Wish {
    pub(super) notes: Vec<String>,
    pub(super) actions: Vec<ChatAction>,
    pub(super) leaves: bool,
}

impl Wish {
    fn note(text: impl Into<String>) -> Self {
        Wish {
            notes: vec![text.into()],
            ..Wish::default()
        }
    }

    fn act(action: ChatAction) -> Self {
        Wish {
            actions: vec![action],
            ..Wish::default()
        }
    }
}

/// Takes a line for an answer, a command or a message, in this order.
pub(super) fn understand(
    client: &Client,
    chat: &Uri,
    asker: &mut Asker,
    line: &str,
) -> anyhow::Result<Wish> {
    if asker.is_late(line) {
        let note = "nothing is asked any more; type it again to send it as a message";
        return Ok(Wish::note(note));
    }
    let is_answer = !line.starts_with('/') || line == DECLINE;
    if asker.is_asking() && is_answer {
        return Ok(match asker.take(line) {
            Taken::Answer(answer) => Wish::act(*answer),
            Taken::Unclear if line.is_empty() => Wish::default(),
            // It may be a slip, and slips are not sent to agents.
            Taken::Unclear => Wish::note("that is no answer; /queue TEXT would queue a message"),
        });
    }
    if line.is_empty() {
        return Ok(Wish::default());
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let runs = running(client, chat).is_some();
    Ok(match word {
        "/quit" => Wish {
            leaves: true,
            ..Wish::default()
        },
        "/help" => Wish {
            notes: HELP.iter().map(|line| (*line).to_owned()).collect(),
            ..Wish::default()
        },
        "/cancel" => match cancel(client, chat) {
            Some(action) => Wish::act(action),
            None => Wish::note("nothing runs"),
        },
        "/steer" | "/queue" if rest.is_empty() => Wish::note(format!("{word} what?")),
        "/steer" if !runs => Wish::note("nothing runs: a message is typed without /steer"),
        "/steer" => Wish::act(pending(PendingMessageKind::Steering, rest)?),
        "/queue" => queue(rest)?,
        "/waiting" => waiting(client, chat),
        "/drop" => drop_queue(client, chat),
        DECLINE => Wish::note("no question is open"),
        other if is_command(other) => Wish::note(
            "there is no such command; /help names them, and // begins one for the agent",
        ),
        _ => {
            // Two slashes: one for us, one for the agent.
            let agents = line.strip_prefix('/').filter(|_| line.starts_with("//"));
            let text = agents.unwrap_or(line);
            if runs {
                queue(text)?
            } else {
                Wish::act(talk::turn(TurnId::from(unique()?), text))
            }
        }
    })
}

/// Whether a word is meant as a command: a slash, and no path.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.contains('/'))
}

fn queue(text: &str) -> anyhow::Result<Wish> {
    Ok(Wish {
        notes: vec!["queued: it goes when the turn is over".to_owned()],
        actions: vec![pending(PendingMessageKind::Queued, text)?],
        leaves: false,
    })
}

fn waiting(client: &Client, chat: &Uri) -> Wish {
    let queue = state(client, chat).and_then(|chat| chat.queued_messages.as_ref());
    let texts = queue.into_iter().flat_map(|queue| queue.items());
    let mut notes: Vec<_> = texts.map(|message| message.message.text.clone()).collect();
    if notes.is_empty() {
        notes.push("nothing waits".to_owned());
    }
    Wish {
        notes,
        ..Wish::default()
    }
}

fn drop_queue(client: &Client, chat: &Uri) -> Wish {
    let queue = state(client, chat).and_then(|chat| chat.queued_messages.as_ref());
    let ids = queue.into_iter().flat_map(|queue| queue.items());
    let actions: Vec<_> = ids
        .map(|message| {
            ChatAction::PendingMessageRemoved(PendingMessageRemoved {
                kind: PendingMessageKind::Queued,
                id: message.id.clone(),
            })
        })
        .collect();
    let note = match actions.len() {
        0 => "nothing waits".to_owned(),
        count => format!("dropped {count}"),
    };
    Wish {
        notes: vec![note],
        actions,
        leaves: false,
    }
}

fn pending(kind: PendingMessageKind, text: &str) -> anyhow::Result<ChatAction> {
    Ok(ChatAction::PendingMessageSet(PendingMessageSet {
        kind,
        id: PendingMessageId::from(unique()?),
        message: talk::message(text),
    }))
}

/// Ends the running turn, if one runs.
pub(super) fn cancel(client: &Client, chat: &Uri) -> Option<ChatAction> {
    let turn_id = running(client, chat)?;
    Some(ChatAction::TurnCancelled(TurnCancelled {
        turn_id,
        duration: Millis(0),
        meta: None,
    }))
}

fn running(client: &Client, chat: &Uri) -> Option<TurnId> {
    Some(state(client, chat)?.active_turn.as_ref()?.id.clone())
}

fn state<'a>(client: &'a Client, chat: &Uri) -> Option<&'a ChatState> {
    match client.state(chat)? {
        ChannelState::Chat(state) => Some(state),
        _ => None,
    }
}
