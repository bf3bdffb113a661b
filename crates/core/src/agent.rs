//! Commands to agents and the data that they carry.
//!
//! The host treats all agents alike: nothing in this crate depends on the kind of agent.

mod catalog;
pub(crate) mod content;
pub(crate) mod environment;
mod event;
pub(crate) mod handler;
pub(crate) mod models;
pub(crate) mod notes;
pub(crate) mod options;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::annotations::Annotation;
use agenthost_protocol::chat::{
    ActiveTurn, Answers, CancellationReason, InputResponseKind, Message, ToolCallResult, Turn,
};
use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::ids::{
    ClientId, ConfirmationOptionId, InputRequestId, PendingMessageId, ToolCallId, TurnId,
};
use agenthost_protocol::list::List;
use agenthost_protocol::resource::ResourceReadResult;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use serde::{Deserialize, Serialize};

pub use event::{AgentEvent, ForbiddenValue, ImportedTurn, SlashCommand, WorkerChat};

use crate::customization::driver::PreparedTurn;
use crate::terminal::PtyCommand;
use crate::tools::mcp::driver::McpTool;

/// A command of the host to the agent of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentCommand {
    /// Starts work for a session.
    Open {
        /// Directories that the agent may use.
        directories: Vec<Uri>,
        /// Configuration values of the session.
        config: Option<Object>,
        /// Notes that the agent stored about the chats of the session before it was last
        /// closed.
        notes: AgentNotes,
    },
    /// Passes content that the next prompt of a turn refers to and that is not part of the
    /// message: it comes from another channel or from the client that sent the message.
    AddAttachment {
        /// The chat of the message.
        chat: Uri,
        /// The turn of the message.
        turn: TurnId,
        /// URI that the message refers to.
        resource: Uri,
        /// Content found at that URI.
        content: AttachmentContent,
    },
    /// Sends a message to the agent, which answers it in a turn.
    Prompt {
        /// The chat of the turn.
        chat: Uri,
        /// The turn that the response belongs to.
        turn: TurnId,
        /// The message to answer.
        message: Arc<Message>,
        /// The turns before this one, for an agent that does not know them. For a long
        /// chat, only the latest of them.
        history: List<Turn>,
        /// Context that customizations add to the prompt.
        prepared: PreparedTurn,
    },
    /// Resumes a turn that has failed.
    Resume {
        /// The chat of the turn.
        chat: Uri,
        /// The turn to resume.
        turn: TurnId,
    },
    /// Cancels a turn. The host drops every later event of this turn.
    Cancel {
        /// The chat of the turn.
        chat: Uri,
        /// The turn to cancel.
        turn: TurnId,
    },
    /// Reports a decision about a tool call or its result.
    DecideToolCall {
        /// The chat of the call.
        chat: Uri,
        /// The turn of the call.
        turn: TurnId,
        call: ToolCallId,
        /// Approval or denial, with its details.
        decision: ToolCallDecision,
    },
    /// Reports the response of a user to an input request.
    AnswerInput {
        /// The chat of the request.
        chat: Uri,
        /// The turn of the request.
        turn: TurnId,
        request: InputRequestId,
        /// Kind of response: accepted, declined or cancelled.
        response: InputResponseKind,
        /// The answers, if the request was accepted.
        answers: Answers,
    },
    /// Opens a chat that starts with context.
    OpenChat {
        /// URI of the new chat.
        chat: Uri,
        /// The turns that the agent has to know.
        context: ChatContext,
    },
    /// Closes a chat that was removed or moved to another session.
    CloseChat {
        /// URI of the closed chat.
        chat: Uri,
    },
    /// Reports the result of a tool call that a client has executed.
    CompleteToolCall {
        /// The chat of the call.
        chat: Uri,
        /// The turn of the call.
        turn: TurnId,
        call: ToolCallId,
        /// Result that the client returned.
        result: Box<ToolCallResult>,
    },
    /// Replaces the configuration of the session.
    SetConfig {
        /// All configuration values, changed or not.
        values: Object,
    },
    /// Replaces the directories that the session may use.
    SetDirectories {
        /// All directories, the primary one first.
        directories: Vec<Uri>,
    },
    /// Replaces the tools that clients offer to the session.
    SetClientTools {
        /// All client tools of the session.
        tools: Vec<ClientTool>,
    },
    /// Hands a call of a client tool over to the host: the agent has sent the call to the
    /// gateway, so the host owns it from now on and the client completes it. The agent must
    /// not report anything more about this call, even if its own announcement of the call
    /// arrives later.
    HandOverToolCall {
        /// The chat of the call.
        chat: Uri,
        /// The turn of the call.
        turn: TurnId,
        /// Id of the call: one that the agent has announced, or else one that the host has
        /// started.
        call: ToolCallId,
        /// Name that the agent uses for the tool.
        tool: String,
        /// Arguments of the call, as JSON.
        input: String,
    },
    /// Sends a steering message during a turn. An agent that accepts it sends
    /// [`AgentEvent::SteeringAccepted`]. Only agents that support steering get the command.
    Steer {
        /// The chat of the turn.
        chat: Uri,
        /// The turn to steer.
        turn: TurnId,
        id: PendingMessageId,
        /// Content of the steering message.
        message: Arc<Message>,
    },
    /// Writes input to a terminal that the agent opened, or resizes it.
    UseTerminal {
        /// The chat that the terminal belongs to.
        chat: Uri,
        terminal: Uri,
        /// The input or the new size.
        command: PtyCommand,
    },
    /// Completes the tool call of a command and lets the command continue in the background
    /// until it exits or the chat is closed.
    ContinueInBackground {
        /// The chat that the terminal belongs to.
        chat: Uri,
        /// The terminal that the command runs in.
        terminal: Uri,
        /// The end of the output so far.
        output: String,
    },
    /// Removes the turns of a chat after `last_turn` from the agent's memory.
    Rewind {
        chat: Uri,
        /// The last turn to keep; `None` removes all turns.
        last_turn: Option<TurnId>,
    },
    /// Replaces the list of MCP tools that the agent can call. The agent reaches them
    /// through its gateway; the list only lets it recognize calls of these tools.
    SetMcpTools {
        /// All MCP tools of the session.
        tools: Vec<McpTool>,
    },
    /// Stops work for the session.
    Close,
}

impl AgentCommand {
    /// Returns the chat that the command addresses, or `None` if it addresses the session.
    pub fn chat(&self) -> Option<&Uri> {
        match self {
            AgentCommand::Prompt { chat, .. }
            | AgentCommand::Resume { chat, .. }
            | AgentCommand::Cancel { chat, .. }
            | AgentCommand::DecideToolCall { chat, .. }
            | AgentCommand::AnswerInput { chat, .. }
            | AgentCommand::OpenChat { chat, .. }
            | AgentCommand::CloseChat { chat }
            | AgentCommand::CompleteToolCall { chat, .. }
            | AgentCommand::HandOverToolCall { chat, .. }
            | AgentCommand::Steer { chat, .. }
            | AgentCommand::AddAttachment { chat, .. }
            | AgentCommand::UseTerminal { chat, .. }
            | AgentCommand::ContinueInBackground { chat, .. }
            | AgentCommand::Rewind { chat, .. } => Some(chat),
            AgentCommand::Open { .. }
            | AgentCommand::SetConfig { .. }
            | AgentCommand::SetDirectories { .. }
            | AgentCommand::SetClientTools { .. }
            | AgentCommand::SetMcpTools { .. }
            | AgentCommand::Close => None,
        }
    }
}

/// Notes that an agent has stored, by chat.
pub type AgentNotes = BTreeMap<Uri, String>;

/// Content that a message refers to by its URI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AttachmentContent {
    /// Turns of an attached chat.
    Turns(List<Turn>),
    /// Annotations on files of a session.
    Annotations(List<Annotation>),
    /// Content that the client returned. It is untrusted (SEC-7).
    Resource(Arc<ResourceReadResult>),
    /// The content could not be read, for this reason.
    Unreadable(String),
}

/// A tool that a client offers and executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// The client. It is the contributor of every call of the tool.
    pub client: ClientId,
    /// Name of the tool for the model, unique among the tools of the session (CLT-2).
    pub name: String,
    /// Definition of the tool, with the name that the client uses. Calls carry that name.
    pub definition: ToolDefinition,
}

/// Context of a chat that the agent is asked to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ChatContext {
    /// Turns of the chat itself: it is a fork or comes from another session.
    History {
        /// The turns, the oldest first.
        turns: List<Turn>,
        /// The chat that was forked, if the fork contains all of its turns.
        copy_of: Option<Uri>,
    },
    /// Turns of the chat that a side chat was opened from. They are not part of the side
    /// chat's own transcript.
    SideChat {
        /// Turns of the source chat that have ended.
        turns: List<Turn>,
        /// The active turn of the source chat, as it was when the side chat was created.
        running: Option<Arc<ActiveTurn>>,
        /// The selected text that the side chat is about.
        selection: Option<String>,
    },
}

/// A decision about a tool call or its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToolCallDecision {
    /// The call may run.
    Approved {
        /// The confirmation option that was selected.
        option: Option<ConfirmationOptionId>,
        /// Arguments that replace those of the call.
        edited_input: Option<String>,
    },
    /// The call must not run.
    Denied {
        /// The confirmation option that was selected.
        option: Option<ConfirmationOptionId>,
        /// The reason for the denial.
        reason: CancellationReason,
        /// Instruction of the user to do something else instead.
        suggestion: Option<Arc<Message>>,
    },
    /// The agent may use the result.
    ResultApproved,
    /// The agent must not use the result.
    ResultDenied,
}
