//! What is asked of whoever runs servers of tools (MCP), and what comes back.
//!
//! The servers of a session, and the tools that its clients carry out, are one
//! server to its agent. What a client's tool is called for goes through the
//! host; what a server's tool is called for does not.

use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::common::McpAuthRequirement;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::rpc::{RequestId, RpcError};
use agenthost_protocol::session::McpServerApps;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::ClientTool;
use crate::input::ConnectionId;

/// What the host wants of servers of tools.
#[derive(Debug, Clone)]
pub enum ToolErrand {
    /// Start a server, or start it again.
    Start {
        /// The session.
        session: Uri,
        /// The server.
        server: CustomizationId,
        /// Who wants that. Only a person can have code started that nobody
        /// allowed before.
        by: StartedBy,
    },
    /// Stop a server.
    Stop {
        /// The session.
        session: Uri,
        /// The server.
        server: CustomizationId,
    },
    /// Stop all servers of a session; its tools are gone.
    End {
        /// The session.
        session: Uri,
    },
    /// Tools that clients of a session carry out: all of them.
    ClientTools {
        /// The session.
        session: Uri,
        /// The tools.
        tools: Vec<ClientTool>,
    },
    /// What the agent of a chat may use of all that there is (CUS-18).
    Allow {
        /// The session.
        session: Uri,
        /// The chat.
        chat: Uri,
        /// Names of tools, as a person wrote them; without a list, all.
        tools: Option<Vec<String>>,
    },
    /// A client's tool has done what it was called for.
    Answer {
        /// The call.
        call: ToolTicket,
        /// What came of it.
        result: Box<ToolCallResult>,
    },
    /// Who has to agree before agents call tools of a session. At first, nobody
    /// has.
    Guard {
        /// The session.
        session: Uri,
        /// Who.
        guard: ToolGuard,
    },
    /// Whether a call that waits may go on.
    Pass {
        /// The session.
        session: Uri,
        /// The call.
        call: ToolTicket,
        /// Why not, in words, if it may not.
        verdict: Result<(), String>,
    },
    /// A client has something to say to a server.
    Forward(Box<Forwarded>),
    /// A client has something to say to a server that needs no answer.
    Tell {
        /// The session.
        session: Uri,
        /// The server.
        server: CustomizationId,
        /// What, in the words of MCP.
        method: String,
        /// With what; without the channel.
        params: Object,
    },
}

/// Who has to agree before a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolGuard {
    /// Hooks: each call waits for a word of the host.
    Hooks,
    /// Nobody: calls are made at once.
    Nobody,
}

/// Who wants a server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedBy {
    /// A turn that could use it.
    Turn,
    /// A person who said so.
    Person,
}

/// Something that a client has to say to a server.
#[derive(Clone)]
pub struct Forwarded {
    /// Who asks.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// The session.
    pub session: Uri,
    /// The server.
    pub server: CustomizationId,
    /// What, in the words of MCP.
    pub method: String,
    /// With what; without the channel.
    pub params: Object,
}

/// Shows nothing of what is said.
impl std::fmt::Debug for Forwarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarded")
            .field("connection", &self.connection)
            .field("server", &self.server)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Tells one call of a tool from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolTicket(pub u64);

/// A tool of a server, as the agent of a session knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    /// The server.
    pub server: CustomizationId,
    /// What the agent calls it.
    pub name: String,
    /// What the server calls it.
    pub own_name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does, cut short.
    pub description: Option<String>,
    /// The app that shows what it does (`_meta.ui`).
    pub ui: Option<Json>,
}

/// What is told about the servers of a session.
#[derive(Clone)]
pub enum ToolEvent {
    /// An agent came for the tools of the session. Many ask for them only once,
    /// when they begin: the servers have to start now, and whoever serves the
    /// agent hears of its clients' tools again when they do.
    Sought,
    /// A server runs.
    Ready {
        /// The server.
        server: CustomizationId,
        /// What its apps may do by its `mcp:` channel.
        apps: McpServerApps,
    },
    /// A server wants a token.
    AuthRequired {
        /// The server.
        server: CustomizationId,
        /// What for.
        requirement: Box<McpAuthRequirement>,
    },
    /// A server failed, or has ended by itself.
    Failed {
        /// The server.
        server: CustomizationId,
        /// Why.
        error: ErrorInfo,
    },
    /// A server has stopped, as it was told to.
    Stopped {
        /// The server.
        server: CustomizationId,
    },
    /// Some of what a server that runs says of its tools can't be used.
    Complaint {
        /// The server.
        server: CustomizationId,
        /// What is wrong, in words; nothing if all can be used.
        about: Option<String>,
    },
    /// The tools of all servers of the session that run.
    Tools {
        /// The tools.
        tools: Vec<ServerTool>,
    },
    /// The agent calls a tool of a client.
    Called {
        /// The chat that it does it for.
        chat: Uri,
        /// What the answer has to name.
        call: ToolTicket,
        /// The tool, as the agent calls it.
        tool: String,
        /// With what, as JSON.
        input: String,
    },
    /// The agent is about to call a tool of a server or a client, and somebody
    /// has to agree first.
    Calling {
        /// The chat that it does it for.
        chat: Uri,
        /// What the answer has to name.
        call: ToolTicket,
        /// The tool, as the agent calls it.
        tool: String,
        /// With what, as JSON.
        input: String,
    },
    /// The agent does not wait for a call any more.
    Abandoned {
        /// The call.
        call: ToolTicket,
    },
    /// A call of a server's tool needs a token, and waits for it.
    CallNeedsToken {
        /// The chat that it is for.
        chat: Uri,
        /// The tool, as the agent calls it.
        tool: String,
        /// What for.
        requirement: Box<McpAuthRequirement>,
    },
    /// Such a call goes on.
    CallHasToken {
        /// The chat that it is for.
        chat: Uri,
        /// The tool, as the agent calls it.
        tool: String,
    },
    /// What a server said to a client.
    Answered {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
        /// The answer, in the words of MCP.
        answer: Box<Result<Json, RpcError>>,
    },
    /// A server has something to say to all clients that can hear it.
    Said {
        /// The server.
        server: CustomizationId,
        /// What, in the words of MCP.
        method: String,
        /// With what.
        params: Object,
    },
}

/// Shows nothing of what tools are called with or answer.
impl std::fmt::Debug for ToolEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ToolEvent::Sought => "Sought",
            ToolEvent::Ready { .. } => "Ready",
            ToolEvent::AuthRequired { .. } => "AuthRequired",
            ToolEvent::Failed { .. } => "Failed",
            ToolEvent::Stopped { .. } => "Stopped",
            ToolEvent::Complaint { .. } => "Complaint",
            ToolEvent::Tools { .. } => "Tools",
            ToolEvent::Called { .. } => "Called",
            ToolEvent::Calling { .. } => "Calling",
            ToolEvent::Abandoned { .. } => "Abandoned",
            ToolEvent::CallNeedsToken { .. } => "CallNeedsToken",
            ToolEvent::CallHasToken { .. } => "CallHasToken",
            ToolEvent::Answered { .. } => "Answered",
            ToolEvent::Said { .. } => "Said",
        })
    }
}
