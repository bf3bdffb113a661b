//! Parses the lines that the user types in `agenthost attach`.

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, PendingMessageKind, PendingMessageRemoved, PendingMessageSet,
    TurnCancelled,
};
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;

use crate::connect::random_id;
use crate::dialog;
use crate::dialog::prompter::{DECLINE_COMMAND, LineOutcome, Prompter};

const HELP_LINES: &[&str] = &[
    "TEXT          sends a message; while a turn runs, the message is queued",
    "y, n, NUMBER  answers the open question; if it asks for text, type the text",
    "/decline      declines to answer the questions of the agent",
    "/steer TEXT   sends a message to the running turn",
    "/queue TEXT   queues a message, also while a question is open",
    "/waiting      lists the queued messages",
    "/drop         drops the queued messages",
    "/cancel       cancels the running turn, like Ctrl-C; if no turn runs, Ctrl-C leaves",
    "//NAME        sends the command /NAME to the agent",
    "/help         lists the commands",
    "/quit         exits; the session continues (the end of input does the same)",
];

/// The effects of a line: notes to print, actions to dispatch, and leaving.
#[derive(Default)]
pub(super) struct LineAction {
    pub(super) notes: Vec<String>,
    pub(super) actions: Vec<ChatAction>,
    pub(super) quits: bool,
}

impl LineAction {
    fn with_note(text: impl Into<String>) -> Self {
        LineAction {
            notes: vec![text.into()],
            ..LineAction::default()
        }
    }

    fn with_action(action: ChatAction) -> Self {
        LineAction {
            actions: vec![action],
            ..LineAction::default()
        }
    }
}

/// Parses a line as an answer, a command or a message, in this order.
pub(super) fn parse_line(
    client: &Client,
    chat: &Uri,
    prompter: &mut Prompter,
    line: &str,
) -> anyhow::Result<LineAction> {
    if prompter.is_late_answer(line) {
        let note = "the question is closed; type the line again to send it as a message";
        return Ok(LineAction::with_note(note));
    }
    let is_answer = !line.starts_with('/') || line == DECLINE_COMMAND;
    if prompter.has_open_prompt() && is_answer {
        return Ok(match prompter.handle_line(line) {
            LineOutcome::Answer(answer) => LineAction::with_action(*answer),
            LineOutcome::Unclear if line.is_empty() => LineAction::default(),
            // The line may be a typo, so it is not sent to the agent as a message.
            LineOutcome::Unclear => {
                LineAction::with_note("not a valid answer; /queue TEXT queues a message")
            }
        });
    }
    if line.is_empty() {
        return Ok(LineAction::default());
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let is_turn_running = running_turn(client, chat).is_some();
    Ok(match word {
        "/quit" => LineAction {
            quits: true,
            ..LineAction::default()
        },
        "/help" => LineAction {
            notes: HELP_LINES.iter().map(|line| (*line).to_owned()).collect(),
            ..LineAction::default()
        },
        "/cancel" => match cancel_turn(client, chat) {
            Some(action) => LineAction::with_action(action),
            None => LineAction::with_note("no turn is running"),
        },
        "/steer" | "/queue" if rest.is_empty() => {
            LineAction::with_note(format!("usage: {word} TEXT"))
        }
        "/steer" if !is_turn_running => {
            LineAction::with_note("no turn is running: type the message without /steer")
        }
        "/steer" => LineAction::with_action(pending_message(PendingMessageKind::Steering, rest)?),
        "/queue" => queue_message(rest)?,
        "/waiting" => list_queue(client, chat),
        "/drop" => drop_queue(client, chat),
        DECLINE_COMMAND => LineAction::with_note("no question is open"),
        other if is_command(other) => LineAction::with_note(
            "unknown command; /help lists the commands, //NAME sends /NAME to the agent",
        ),
        _ => {
            // The first slash is the escape; the agent gets the command with the second
            // one.
            let agents = line.strip_prefix('/').filter(|_| line.starts_with("//"));
            let text = agents.unwrap_or(line);
            if is_turn_running {
                queue_message(text)?
            } else {
                LineAction::with_action(dialog::turn_started(TurnId::from(random_id()?), text))
            }
        }
    })
}

/// Returns `true` if a word is a command: it starts with a slash and is not a path.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.contains('/'))
}

fn queue_message(text: &str) -> anyhow::Result<LineAction> {
    Ok(LineAction {
        notes: vec!["queued until the turn ends".to_owned()],
        actions: vec![pending_message(PendingMessageKind::Queued, text)?],
        quits: false,
    })
}

fn list_queue(client: &Client, chat: &Uri) -> LineAction {
    let queue = chat_state(client, chat).and_then(|chat| chat.queued_messages.as_ref());
    let texts = queue.into_iter().flat_map(|queue| queue.items());
    let mut notes: Vec<_> = texts.map(|message| message.message.text.clone()).collect();
    if notes.is_empty() {
        notes.push("no messages are queued".to_owned());
    }
    LineAction {
        notes,
        ..LineAction::default()
    }
}

fn drop_queue(client: &Client, chat: &Uri) -> LineAction {
    let queue = chat_state(client, chat).and_then(|chat| chat.queued_messages.as_ref());
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
        0 => "no messages are queued".to_owned(),
        count => format!("dropped {count}"),
    };
    LineAction {
        notes: vec![note],
        actions,
        quits: false,
    }
}

fn pending_message(kind: PendingMessageKind, text: &str) -> anyhow::Result<ChatAction> {
    Ok(ChatAction::PendingMessageSet(PendingMessageSet {
        kind,
        id: PendingMessageId::from(random_id()?),
        message: dialog::user_message(text),
    }))
}

/// Returns the action that cancels the active turn, if there is one.
pub(super) fn cancel_turn(client: &Client, chat: &Uri) -> Option<ChatAction> {
    let turn_id = running_turn(client, chat)?;
    Some(ChatAction::TurnCancelled(TurnCancelled {
        turn_id,
        duration: Millis(0),
        meta: None,
    }))
}

fn running_turn(client: &Client, chat: &Uri) -> Option<TurnId> {
    Some(chat_state(client, chat)?.active_turn.as_ref()?.id.clone())
}

fn chat_state<'a>(client: &'a Client, chat: &Uri) -> Option<&'a ChatState> {
    match client.state(chat)? {
        ChannelState::Chat(state) => Some(state),
        _ => None,
    }
}
