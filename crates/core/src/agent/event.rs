//! Events that agents send to the host.

use std::sync::Arc;

use agenthost_protocol::chat::{ChatAction, ChatInteractivity, ErrorPart, Message};
use agenthost_protocol::common::{ErrorInfo, SessionConfigSchema, ToolDefinition};
use agenthost_protocol::ids::{PendingMessageId, ToolCallId, TurnId};
use agenthost_protocol::terminal::{TerminalAction, TerminalState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde::{Deserialize, Serialize};

use crate::terminal::output::CommandLine;

/// An event of the agent of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentEvent {
    /// The agent is ready for turns.
    Opened {
        /// The agent's own tools.
        tools: Vec<ToolDefinition>,
    },
    /// The agent could not start, or has exited. The next turn opens it again.
    Stopped {
        /// The reason, as reported to clients.
        error: ErrorInfo,
    },
    /// An action in a chat. If it belongs to a turn, the turn must be active. The host
    /// accepts actions that only a host may originate, and the content and completion of
    /// tool calls.
    Chat {
        /// The chat of the action.
        chat: Uri,
        /// The action to apply.
        action: Box<ChatAction>,
    },
    /// The agent has accepted a steering message during the active turn.
    SteeringAccepted {
        /// The chat of the message.
        chat: Uri,
        id: PendingMessageId,
    },
    /// The agent starts a turn by itself in a chat without an active turn. The kind of the
    /// message must not be `user`.
    TurnStarted {
        /// The chat of the turn.
        chat: Uri,
        /// Id of the new turn, unique in its chat.
        turn: TurnId,
        /// The message that starts the turn.
        message: Arc<Message>,
    },
    /// A turn has ended.
    TurnEnded {
        /// The chat of the turn.
        chat: Uri,
        turn: TurnId,
        /// The error, or `None` if the turn completed.
        error: Option<ErrorPart>,
    },
    /// The agent opened a chat for a subagent.
    WorkerOpened(Box<WorkerChat>),
    /// The agent no longer needs a worker chat; the host removes it.
    WorkerClosed {
        /// URI of the worker chat.
        chat: Uri,
    },
    /// The slash commands of the agent have changed.
    SlashCommandsChanged {
        /// All commands that the agent accepts now.
        commands: Vec<SlashCommand>,
    },
    /// The agent stores a note that it receives when it is opened again for the session.
    NoteChanged {
        /// The chat that the note belongs to.
        chat: Uri,
        /// The note; `None` removes the stored one.
        note: Option<String>,
    },
    /// The agent has turns from before the chat was created.
    HistoryImported {
        /// The chat, which must not have any turns yet.
        chat: Uri,
        /// The imported turns, the oldest first.
        turns: Vec<ImportedTurn>,
    },
    /// The agent suggests a title for a chat. A title that a user has set stays.
    TitleSuggested {
        /// The chat of the title.
        chat: Uri,
        /// The title to set.
        title: String,
    },
    /// The configuration schema of the agent's sessions has changed. Some agents know it
    /// only once they run.
    ConfigSchemaChanged {
        /// The whole schema; it applies to sessions that are created from now on.
        schema: Box<SessionConfigSchema>,
        /// Current configuration values of this session.
        values: Object,
    },
    /// The configuration values that must not be selected have changed.
    ForbiddenValuesChanged {
        /// All forbidden values of the agent.
        values: Vec<ForbiddenValue>,
    },
    /// The agent can't work until a user has signed in.
    AuthRequired,
    /// The agent opened a terminal that clients can subscribe to.
    TerminalOpened {
        terminal: Uri,
        /// Initial state of the terminal.
        state: Box<TerminalState>,
        /// The command, if the terminal runs exactly one.
        command: Option<CommandLine>,
    },
    /// An action in a terminal that the agent opened.
    Terminal {
        terminal: Uri,
        /// The action to apply.
        action: Box<TerminalAction>,
    },
}

/// A configuration value that must not be selected for the sessions of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForbiddenValue {
    /// Name of the property.
    pub key: String,
    /// The forbidden value of the property.
    pub value: Json,
    /// The reason, shown to users.
    pub reason: String,
}

/// A chat that an agent opens for a subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerChat {
    /// URI of the chat, chosen by the agent.
    pub chat: Uri,
    /// The chat of the tool call that spawned the subagent.
    pub parent: Uri,
    /// The tool call, which must be running.
    pub call: ToolCallId,
    /// Title of the chat, shown to users.
    pub title: String,
    /// The ways in which users may interact with the chat.
    pub interactivity: ChatInteractivity,
}

/// A turn that ended before the host knew the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedTurn {
    /// Id that is unique among the turns of the chat.
    pub id: TurnId,
    /// The message of the user.
    pub message: Arc<Message>,
    /// The response, as the actions that produce it.
    pub actions: Vec<ChatAction>,
}

/// A command that an agent accepts at the beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// Name without the slash.
    pub name: String,
    /// Description in one line; may be empty.
    pub description: String,
}
