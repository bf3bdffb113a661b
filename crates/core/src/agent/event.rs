//! What agents tell the host.

use std::sync::Arc;

use agenthost_protocol::chat::{ChatAction, ChatInteractivity, ErrorPart, Message};
use agenthost_protocol::common::{ErrorInfo, SessionConfigSchema, ToolDefinition};
use agenthost_protocol::ids::{PendingMessageId, ToolCallId, TurnId};
use agenthost_protocol::terminal::{TerminalAction, TerminalState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::terminal::output::CommandLine;

/// What an agent tells the host.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// It is ready for turns, with these tools of its own.
    Opened {
        /// Its tools.
        tools: Vec<ToolDefinition>,
    },
    /// It could not start, or it is gone. The next turn opens it again.
    Stopped {
        /// Why.
        error: ErrorInfo,
    },
    /// Something happened in a running turn. The turn must still be running,
    /// and the action must be one that only the host may originate.
    Chat {
        /// The chat.
        chat: Uri,
        /// What happened.
        action: Box<ChatAction>,
    },
    /// It took in what the user wanted to say while a turn runs.
    SteeringAccepted {
        /// The chat.
        chat: Uri,
        /// The waiting message.
        id: PendingMessageId,
    },
    /// It begins a turn by itself, in a chat that has none. The message is not
    /// the user's.
    TurnStarted {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// What it is about.
        message: Arc<Message>,
    },
    /// A turn is over.
    TurnEnded {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// Why it failed; `None` if it did not.
        error: Option<ErrorPart>,
    },
    /// It opened a chat for a worker.
    WorkerOpened(Box<WorkerChat>),
    /// The chat of a worker can go.
    WorkerClosed {
        /// The chat.
        chat: Uri,
    },
    /// What it understands at the beginning of a message; all of it.
    SlashCommandsChanged {
        /// The commands.
        commands: Vec<SlashCommand>,
    },
    /// It wants to be told something when it is opened again for the session.
    NoteChanged {
        /// The chat that it is about.
        chat: Uri,
        /// What; none to forget what there was.
        note: Option<String>,
    },
    /// It knows what was said before the chat was there.
    HistoryImported {
        /// The chat, in which nothing was said yet.
        chat: Uri,
        /// What was said.
        turns: Vec<ImportedTurn>,
    },
    /// It has a better name for what a chat is about. A name that a person gave
    /// stays.
    TitleSuggested {
        /// The chat.
        chat: Uri,
        /// The name.
        title: String,
    },
    /// What can be configured about its sessions, and how this one is: some
    /// agents know only when they run.
    ConfigSchemaChanged {
        /// All that can be; holds for sessions that are made from now on.
        schema: Box<SessionConfigSchema>,
        /// How this session is configured.
        values: Object,
    },
    /// Values that nobody may choose for its sessions; all of them.
    ForbiddenValuesChanged {
        /// The values.
        values: Vec<ForbiddenValue>,
    },
    /// It does not work until somebody signs in.
    AuthRequired,
    /// It opened a terminal for all to see.
    TerminalOpened {
        /// The terminal.
        terminal: Uri,
        /// How it starts.
        state: Box<TerminalState>,
        /// The command that it was opened for, if it is one command.
        command: Option<CommandLine>,
    },
    /// Something happened in a terminal of its own.
    Terminal {
        /// The terminal.
        terminal: Uri,
        /// What happened.
        action: Box<TerminalAction>,
    },
}

/// A value that nobody may choose for the sessions of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ForbiddenValue {
    /// The property.
    pub key: String,
    /// The value.
    pub value: Json,
    /// Why not, for people.
    pub reason: String,
}

/// A chat for a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerChat {
    /// Its address, which the agent chooses.
    pub chat: Uri,
    /// The chat of the call that spawned it.
    pub parent: Uri,
    /// The call, which has to be running.
    pub call: ToolCallId,
    /// What people get to see.
    pub title: String,
    /// What people can do in it.
    pub interactivity: ChatInteractivity,
}

/// A turn that was over before the host knew of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTurn {
    /// A name for it that no other turn of the chat has.
    pub id: TurnId,
    /// What the user said.
    pub message: Arc<Message>,
    /// What the agent did.
    pub actions: Vec<ChatAction>,
}

/// Something that an agent understands at the beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, in a line; may be empty.
    pub description: String,
}
