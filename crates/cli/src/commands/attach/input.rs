//! Parses the lines that the user types in `agenthost attach`.

use std::path::Path;
use std::sync::Arc;

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatState, Message, PendingMessageKind, PendingMessageRemoved, PendingMessageSet,
    TurnCancelled,
};
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_view::queue::{QueueKind, QueueRow, queue_rows};

use crate::commands::settings::chat_model::current_model;
use crate::connect::random_id;
use crate::dialog;
use crate::dialog::attachments::attach_mentioned;
use crate::dialog::prompter::{DECLINE_COMMAND, LineOutcome, Prompter};
use crate::terminal::message_meta;

/// The command that leaves for another session.
pub(super) const SWITCH_COMMAND: &str = "/switch";

/// The commands, with what they do.
pub(super) const CHAT_COMMANDS: &[(&str, &str)] = &[
    (
        DECLINE_COMMAND,
        "declines to answer the questions of the agent",
    ),
    ("/steer", "TEXT: sends a message to the running turn"),
    (
        "/queue",
        "TEXT: queues a message, also while a question is open",
    ),
    ("/waiting", "lists the messages that wait"),
    (
        "/drop",
        "drops the messages that wait; with a number, one of them",
    ),
    (
        "/cancel",
        "cancels the running turn, like Ctrl-C; if no turn runs, Ctrl-C leaves",
    ),
    (SWITCH_COMMAND, "ID: joins another session"),
    ("/help", "lists the commands"),
    (
        "/quit",
        "leaves; the session and its turn go on (Ctrl-D does the same)",
    ),
];

/// Other things to enter, with what they do.
const HELP_LINES: &[(&str, &str)] = &[
    (
        "TEXT",
        "sends a message; while a turn runs, the message is queued",
    ),
    ("!COMMAND", "runs a command without the agent"),
    (
        "y, n, NUMBER",
        "answers the open question; if it asks for text, type the text",
    ),
    ("//NAME", "sends the command /NAME to the agent"),
    ("Alt-Enter", "begins a new line; a paste is one message"),
    ("Ctrl-G", "edits the message in $EDITOR"),
    ("Up, Ctrl-R", "repeats an earlier message, searches for one"),
    ("Tab", "completes commands, @files and session ids"),
];

/// Width of the names in the help.
const HELP_COLUMN: usize = 14;

/// The note for a message that the host has queued.
const QUEUED_NOTE: &str = "queued until the turn ends";

/// The note for a steering message that waits for the agent.
const STEERING_NOTE: &str = "sent to the running turn; /waiting lists it until the agent takes it";

/// The note for a steering message that the agent has taken already.
const STEERED_NOTE: &str = "sent to the running turn";

/// The note for a steering message to an agent that takes none.
const QUEUED_STEERING_NOTE: &str =
    "this turn takes no messages, so it is queued first; cancelling drops it";

/// The relation of a line to the open question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTiming {
    /// The user has seen the question, if there is one.
    AfterPrompt,
    /// The question appeared when the line was typed already, so the line does not answer it.
    TypedAhead,
}

/// The effects of a line.
pub(super) enum LineAction {
    Notes(Vec<String>),
    /// Actions to dispatch, and a note about them.
    Dispatch {
        actions: Vec<ChatAction>,
        note: Option<String>,
    },
    /// A message to send. If the host rejects it, the user gets the text back.
    Send(Box<ChatAction>),
    /// The user joins another session.
    Switch(String),
    Quit,
}

impl LineAction {
    fn with_note(text: impl Into<String>) -> Self {
        LineAction::Notes(vec![text.into()])
    }

    fn with_action(action: ChatAction) -> Self {
        LineAction::Dispatch {
            actions: vec![action],
            note: None,
        }
    }
}

/// Parses a line as an answer, a command or a message, in this order.
pub(super) fn parse_line(
    client: &Client,
    chat: &Uri,
    folder: Option<&Path>,
    prompter: &mut Prompter,
    line: &str,
    timing: LineTiming,
) -> anyhow::Result<LineAction> {
    if prompter.is_late_answer(line) {
        let note = "the question is closed; type the line again to send it as a message";
        return Ok(LineAction::with_note(note));
    }
    let is_answer = match timing {
        LineTiming::AfterPrompt => !line.starts_with('/') || line == DECLINE_COMMAND,
        LineTiming::TypedAhead => false,
    };
    if prompter.has_printed_prompt() && is_answer {
        return Ok(match prompter.handle_line(line) {
            LineOutcome::Answer(answer) => LineAction::with_action(*answer),
            LineOutcome::Unclear if line.is_empty() => LineAction::Notes(Vec::new()),
            // The line may be a typo, so it is not sent to the agent as a message.
            LineOutcome::Unclear => {
                LineAction::with_note("not a valid answer; /queue TEXT queues a message")
            }
        });
    }
    if line.is_empty() {
        return Ok(LineAction::Notes(Vec::new()));
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let is_turn_running = running_turn(client, chat).is_some();
    Ok(match word {
        "/quit" => LineAction::Quit,
        "/help" => LineAction::Notes(help_lines()),
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
        "/steer" => send_pending(
            PendingMessageKind::Steering,
            to_message(client, chat, folder, rest),
        )?,
        "/queue" => send_pending(
            PendingMessageKind::Queued,
            to_message(client, chat, folder, rest),
        )?,
        "/waiting" => LineAction::Notes(waiting_lines(client, chat)),
        "/drop" => drop_waiting(client, chat, rest),
        SWITCH_COMMAND if rest.is_empty() => LineAction::with_note(format!(
            "usage: {word} ID; `agenthost sessions` lists the sessions"
        )),
        SWITCH_COMMAND => LineAction::Switch(rest.to_owned()),
        DECLINE_COMMAND => LineAction::with_note("no question is open"),
        other if is_command(other) => LineAction::with_note(
            "unknown command; /help lists the commands, //NAME sends /NAME to the agent",
        ),
        _ => {
            // The first slash is the escape; the agent gets the command with the second
            // one.
            let agents = line.strip_prefix('/').filter(|_| line.starts_with("//"));
            let text = agents.unwrap_or(line);
            let message = to_message(client, chat, folder, text);
            if is_turn_running {
                send_pending(PendingMessageKind::Queued, message)?
            } else {
                let started = dialog::turn_started(TurnId::from(random_id()?), message);
                LineAction::Send(Box::new(started))
            }
        }
    })
}

fn help_lines() -> Vec<String> {
    let lines = HELP_LINES.iter().chain(CHAT_COMMANDS);
    let lines = lines.map(|(name, about)| format!("{name:<HELP_COLUMN$}{about}"));
    lines.collect()
}

/// Returns `true` if a word is a command: it starts with a slash and is not a path.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.contains('/'))
}

/// Creates a message with the model of the chat and the files that it mentions.
fn to_message(client: &Client, chat: &Uri, folder: Option<&Path>, text: &str) -> Message {
    let mut message = Message::of_user(text);
    message.model = current_model(client, chat);
    message.meta = message_meta();
    // A command names its files itself.
    if let Some(folder) = folder.filter(|_| !text.starts_with('!')) {
        let attachments = attach_mentioned(text, folder);
        message.attachments = (!attachments.is_empty()).then_some(attachments);
    }
    message
}

/// Creates the action that sends a message to the running turn, or that queues it.
fn send_pending(kind: PendingMessageKind, message: Message) -> anyhow::Result<LineAction> {
    let set = ChatAction::PendingMessageSet(PendingMessageSet {
        kind,
        id: PendingMessageId::from(random_id()?),
        message: Arc::new(message),
    });
    Ok(LineAction::Send(Box::new(set)))
}

/// Returns the kind of the waiting message that an action begins.
pub(super) fn pending_kind(action: &ChatAction) -> Option<PendingMessageKind> {
    match action {
        ChatAction::PendingMessageSet(set) => Some(set.kind),
        _ => None,
    }
}

/// Returns a note about a waiting message that the host has handled. There is none if it began a
/// turn: then the turn is printed.
pub(super) fn pending_note(
    client: &Client,
    chat: &Uri,
    kind: PendingMessageKind,
    id: &str,
) -> Option<&'static str> {
    let Some(ChannelState::Chat(state)) = client.confirmed_state(chat) else {
        return None;
    };
    let mut queued = state.queued_messages.iter().flat_map(|queue| queue.items());
    let is_queued = queued.any(|message| message.id.as_str() == id);
    let steering = state.steering_message.as_ref();
    let waits_for_agent = steering.is_some_and(|message| message.id.as_str() == id);
    match kind {
        PendingMessageKind::Queued => is_queued.then_some(QUEUED_NOTE),
        PendingMessageKind::Steering if is_queued => Some(QUEUED_STEERING_NOTE),
        PendingMessageKind::Steering if waits_for_agent => Some(STEERING_NOTE),
        PendingMessageKind::Steering => state.active_turn.as_ref().map(|_| STEERED_NOTE),
    }
}

/// Returns the id of the turn, or of the waiting message, that an action begins.
pub(super) fn message_id(action: &ChatAction) -> Option<&str> {
    match action {
        ChatAction::TurnStarted(started) => Some(started.turn_id.as_str()),
        ChatAction::PendingMessageSet(set) => Some(set.id.as_str()),
        _ => None,
    }
}

/// Returns the messages that wait, with their numbers.
fn waiting_messages(client: &Client, chat: &Uri) -> Vec<QueueRow> {
    chat_state(client, chat).map(queue_rows).unwrap_or_default()
}

fn waiting_lines(client: &Client, chat: &Uri) -> Vec<String> {
    let rows = waiting_messages(client, chat);
    if rows.is_empty() {
        return vec!["no messages wait".to_owned()];
    }
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let kind = match row.kind {
            QueueKind::Queued => "queued",
            QueueKind::Steering => "to the running turn",
        };
        lines.push(format!("{}) {kind}:", index + 1));
        lines.extend(row.text.lines().map(str::to_owned));
    }
    lines
}

/// Drops the message with a number, or all messages that wait.
fn drop_waiting(client: &Client, chat: &Uri, number: &str) -> LineAction {
    let mut rows = waiting_messages(client, chat);
    if rows.is_empty() {
        return LineAction::with_note("no messages wait");
    }
    if !number.is_empty() {
        let index = number.parse::<usize>().ok();
        let index = index.and_then(|number| number.checked_sub(1));
        let Some(row) = index.filter(|index| *index < rows.len()) else {
            return LineAction::with_note(format!(
                "`{number}` is not the number of a message; /waiting lists them"
            ));
        };
        rows = vec![rows.swap_remove(row)];
    }
    let note = Some(format!("dropped {}", rows.len()));
    let removed = rows.into_iter().map(|row| {
        ChatAction::PendingMessageRemoved(PendingMessageRemoved {
            kind: match row.kind {
                QueueKind::Queued => PendingMessageKind::Queued,
                QueueKind::Steering => PendingMessageKind::Steering,
            },
            id: row.key,
        })
    });
    LineAction::Dispatch {
        actions: removed.collect(),
        note,
    }
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
