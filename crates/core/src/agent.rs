//! The agent as the host sees it: data, commands, events. What kind of agent
//! it is, nobody here knows.

use std::sync::Arc;

use agenthost_protocol::annotations::Annotation;
use agenthost_protocol::chat::{
    ActiveTurn, Answers, CancellationReason, ChatAction, ChatInteractivity, ErrorPart,
    InputResponseKind, Message, ToolCallResult, Turn,
};
use agenthost_protocol::common::{ErrorInfo, SessionConfigSchema, ToolDefinition};
use agenthost_protocol::ids::{
    ClientId, ConfirmationOptionId, InputRequestId, PendingMessageId, ToolCallId, TurnId,
};
use agenthost_protocol::list::List;
use agenthost_protocol::resource::ResourceReadResult;
use agenthost_protocol::terminal::{TerminalAction, TerminalState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::terminals::TerminalCommand;

/// What the host asks of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Start working for a session.
    Open {
        /// Directories it may use.
        directories: Vec<Uri>,
        /// Configuration values.
        config: Option<Object>,
    },
    /// The next message of a turn refers to what is elsewhere: on another
    /// channel, or with the client that sent it.
    Attached {
        /// The chat of the message.
        chat: Uri,
        /// Its turn.
        turn: TurnId,
        /// What it refers to.
        resource: Uri,
        /// What is there.
        content: Attached,
    },
    /// Answer a message.
    Prompt {
        /// The chat.
        chat: Uri,
        /// The turn that the answer belongs to.
        turn: TurnId,
        /// The message.
        message: Arc<Message>,
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
    Decide {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// The call.
        call: ToolCallId,
        /// What was decided.
        decision: Decision,
    },
    /// Somebody answered a question.
    Answer {
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
    ToolCompleted {
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
    Configure {
        /// All values.
        values: Object,
    },
    /// The session may use other directories now.
    Directories {
        /// All of them, the primary one first.
        directories: Vec<Uri>,
    },
    /// The tools that clients offer to the session; all of them.
    ClientTools {
        /// The tools.
        tools: Vec<ClientTool>,
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
        command: TerminalCommand,
    },
    /// Forget the turns of a chat after this one; `None`: all of them.
    Rewind {
        /// The chat.
        chat: Uri,
        /// The last turn to remember.
        last: Option<TurnId>,
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
            | AgentCommand::Decide { chat, .. }
            | AgentCommand::Answer { chat, .. }
            | AgentCommand::OpenChat { chat, .. }
            | AgentCommand::CloseChat { chat }
            | AgentCommand::ToolCompleted { chat, .. }
            | AgentCommand::Steer { chat, .. }
            | AgentCommand::Attached { chat, .. }
            | AgentCommand::UseTerminal { chat, .. }
            | AgentCommand::Rewind { chat, .. } => Some(chat),
            AgentCommand::Open { .. }
            | AgentCommand::Configure { .. }
            | AgentCommand::Directories { .. }
            | AgentCommand::ClientTools { .. }
            | AgentCommand::Close => None,
        }
    }
}

/// What a message refers to.
#[derive(Debug, Clone, PartialEq)]
pub enum Attached {
    /// What was said in a chat.
    Turns(List<Turn>),
    /// What was noted about files.
    Annotations(List<Annotation>),
    /// What the client had there. It is not to be trusted (SEC-7).
    Content(Arc<ResourceReadResult>),
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
    Own(List<Turn>),
    /// What was said in the chat beside it, which nobody gets to see here.
    Beside {
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
pub enum Decision {
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
    Steered {
        /// The chat.
        chat: Uri,
        /// The waiting message.
        id: PendingMessageId,
    },
    /// It begins a turn by itself, in a chat that has none. The message is not
    /// the user's.
    TurnBegun {
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
    WorkerOpened(Box<Worker>),
    /// The chat of a worker can go.
    WorkerClosed {
        /// The chat.
        chat: Uri,
    },
    /// What it understands at the beginning of a message; all of it.
    Commands {
        /// The commands.
        commands: Vec<SlashCommand>,
    },
    /// It has a better name for what a chat is about. A name that a person gave
    /// stays.
    Titled {
        /// The chat.
        chat: Uri,
        /// The name.
        title: String,
    },
    /// What can be configured about its sessions, and how this one is: some
    /// agents know only when they run.
    Configurable {
        /// All that can be; holds for sessions that are made from now on.
        schema: Box<SessionConfigSchema>,
        /// How this session is configured.
        values: Object,
    },
    /// Values that nobody may choose for its sessions; all of them.
    Forbids {
        /// The values.
        values: Vec<ForbiddenValue>,
    },
    /// It does not work until somebody signs in.
    SignInNeeded,
    /// It opened a terminal for all to see.
    TerminalOpened {
        /// The terminal.
        terminal: Uri,
        /// How it starts.
        state: Box<TerminalState>,
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
pub struct Worker {
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

/// Something that an agent understands at the beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, in a line; may be empty.
    pub description: String,
}
