//! The agent as the host sees it: data, commands, events. What kind of agent
//! it is, nobody here knows.

pub(crate) mod content;
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

pub use event::{AgentEvent, ForbiddenValue, ImportedTurn, SlashCommand, WorkerChat};

use crate::customization::driver::PreparedTurn;
use crate::terminal::PtyCommand;
use crate::tools::mcp::driver::McpTool;

/// What the host asks of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Start working for a session.
    Open {
        /// Directories it may use.
        directories: Vec<Uri>,
        /// Configuration values.
        config: Option<Object>,
        /// What it noted about the chats of the session when it last worked
        /// for it.
        notes: AgentNotes,
    },
    /// The next message of a turn refers to what is elsewhere: on another
    /// channel, or with the client that sent it.
    AddAttachment {
        /// The chat of the message.
        chat: Uri,
        /// Its turn.
        turn: TurnId,
        /// What it refers to.
        resource: Uri,
        /// What is there.
        content: AttachmentContent,
    },
    /// Answer a message.
    Prompt {
        /// The chat.
        chat: Uri,
        /// The turn that the answer belongs to.
        turn: TurnId,
        /// The message.
        message: Arc<Message>,
        /// The turns before it, for an agent that was not there; of a long
        /// chat, the last ones.
        history: List<Turn>,
        /// What customizations have to add.
        prepared: PreparedTurn,
    },
    /// Go on with a turn that failed.
    Resume {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
    },
    /// Stop a turn. Nothing that comes for it later counts.
    Cancel {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
    },
    /// Somebody decided about a tool call.
    DecideToolCall {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The call.
        call: ToolCallId,
        /// What was decided.
        decision: ToolCallDecision,
    },
    /// Somebody answered a question.
    AnswerInput {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The question.
        request: InputRequestId,
        /// How.
        response: InputResponseKind,
        /// With what, if it was accepted.
        answers: Answers,
    },
    /// There is a new chat that knows something already.
    OpenChat {
        /// The chat.
        chat: Uri,
        /// What it knows.
        context: ChatContext,
    },
    /// A chat is gone, or somebody else's.
    CloseChat {
        /// The chat.
        chat: Uri,
    },
    /// A client has carried out a tool call.
    CompleteToolCall {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The call.
        call: ToolCallId,
        /// What it brought.
        result: Box<ToolCallResult>,
    },
    /// The session is configured otherwise now.
    SetConfig {
        /// All values.
        values: Object,
    },
    /// The session may use other directories now.
    SetDirectories {
        /// All of them, the primary one first.
        directories: Vec<Uri>,
    },
    /// The tools that clients offer to the session; all of them.
    SetClientTools {
        /// The tools.
        tools: Vec<ClientTool>,
    },
    /// The agent really calls a tool of a client: the call is the host's from
    /// now on, and its client completes it. What the agent itself tells of it is
    /// not needed any more, also if it tells of it only now.
    HandOverToolCall {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The call: one that the agent told of, or else one that the host
        /// began.
        call: ToolCallId,
        /// The tool, as the agent calls it.
        tool: String,
        /// With what, as JSON.
        input: String,
    },
    /// The user wants to say something while a turn runs. An agent that takes
    /// it in says so; one that can't leaves it.
    Steer {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The waiting message.
        id: PendingMessageId,
        /// What it says.
        message: Arc<Message>,
    },
    /// Somebody wants something of a terminal that it opened: to type into it,
    /// or to resize it.
    UseTerminal {
        /// The chat that the terminal is for.
        chat: Uri,
        /// The terminal.
        terminal: Uri,
        /// What.
        command: PtyCommand,
    },
    /// Complete the call of a command and let the command run on, until it ends
    /// or the chat is closed.
    ContinueInBackground {
        /// The chat that the terminal is for.
        chat: Uri,
        /// The terminal that the command runs in.
        terminal: Uri,
        /// The end of its output so far.
        output: String,
    },
    /// Forget the turns of a chat after this one; `None`: all of them.
    Rewind {
        /// The chat.
        chat: Uri,
        /// The last turn to remember.
        last_turn: Option<TurnId>,
    },
    /// Tools of servers that it can use: all of them. It gets them in other
    /// ways; this is to know them again.
    SetMcpTools {
        /// The tools.
        tools: Vec<McpTool>,
    },
    /// Stop working for the session.
    Close,
}

impl AgentCommand {
    /// The chat that it is about, if it is about one.
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

/// What an agent noted about chats.
pub type AgentNotes = BTreeMap<Uri, String>;

/// What a message refers to.
#[derive(Debug, Clone, PartialEq)]
pub enum AttachmentContent {
    /// What was said in a chat.
    Turns(List<Turn>),
    /// What was noted about files.
    Annotations(List<Annotation>),
    /// What the client had there. It is not to be trusted (SEC-7).
    Resource(Arc<ResourceReadResult>),
    /// It could not be read; why not, in words.
    Unreadable(String),
}

/// A tool that a client carries out.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTool {
    /// The client. Calls of the tool name it as their contributor.
    pub client: ClientId,
    /// What a model should call it: no other tool of the session has this
    /// name (CLT-2).
    pub name: String,
    /// The tool. Calls name it as its client does.
    pub definition: ToolDefinition,
}

/// What a chat knows when its agent gets to see it.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatContext {
    /// Its own turns: it is a copy, or comes from elsewhere.
    History {
        /// The turns.
        turns: List<Turn>,
        /// The chat that it is a copy of, if it has all that was said there.
        copy_of: Option<Uri>,
    },
    /// What was said in the chat beside it, which nobody gets to see here.
    SideChat {
        /// Turns that are over.
        turns: List<Turn>,
        /// The one that was running, as far as it had got.
        running: Option<Arc<ActiveTurn>>,
        /// The text that it is about.
        selection: Option<String>,
    },
}

/// What was decided about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallDecision {
    /// It may run.
    Approved {
        /// The option that was picked.
        option: Option<ConfirmationOptionId>,
        /// Other arguments to run it with.
        edited_input: Option<String>,
    },
    /// It may not.
    Denied {
        /// The option that was picked.
        option: Option<ConfirmationOptionId>,
        /// Why.
        reason: CancellationReason,
        /// What the user wants instead.
        suggestion: Option<Arc<Message>>,
    },
    /// Its result may be used.
    ResultApproved,
    /// Its result may not be used.
    ResultDenied,
}
