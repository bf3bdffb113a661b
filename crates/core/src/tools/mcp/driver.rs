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
use crate::customization::driver::HookDenial;
use crate::host::input::ConnectionId;

/// What the host wants of servers of tools.
#[derive(Debug, Clone)]
pub enum McpCommand {
    /// Start a server, or start it again.
    Start {
        /// The session.
        session: Uri,
        /// The server.
        server: CustomizationId,
        /// Who wants that. Only a person can have code started that nobody
        /// allowed before.
        reason: StartReason,
    },
    /// Stop a server.
    Stop {
        /// The session.
        session: Uri,
        /// The server.
        server: CustomizationId,
    },
    /// Stop all servers of a session; its tools are gone.
    EndSession {
        /// The session.
        session: Uri,
    },
    /// Tools that clients of a session carry out: all of them.
    SetClientTools {
        /// The session.
        session: Uri,
        /// The tools.
        tools: Vec<ClientTool>,
    },
    /// What the agent of a chat may use of all that there is (CUS-18).
    SetToolFilter {
        /// The session.
        session: Uri,
        /// The chat.
        chat: Uri,
        /// Names of tools, as a person wrote them; without a list, all.
        tools: Option<Vec<String>>,
    },
    /// A client's tool has done what it was called for.
    CompleteCall {
        /// The call.
        call: GatewayCallId,
        /// What came of it.
        result: Box<ToolCallResult>,
    },
    /// Who has to agree before agents call tools of a session. At first, nobody
    /// has.
    SetCallGate {
        /// The session.
        session: Uri,
        /// Who.
        mode: CallGateMode,
    },
    /// Whether a call that waits may go on.
    ResolveApproval {
        /// The session.
        session: Uri,
        /// The call.
        call: GatewayCallId,
        /// Why not, if it may not.
        verdict: Result<(), HookDenial>,
    },
    /// A client has something to say to a server.
    ForwardRequest(Box<McpForward>),
    /// A client has something to say to a server that needs no answer.
    ForwardNotification {
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
pub enum CallGateMode {
    /// Hooks: each call waits for a word of the host.
    Hooks,
    /// Nobody: calls are made at once.
    Open,
}

/// Who wants a server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReason {
    /// A turn that could use it.
    Turn,
    /// A person who said so.
    User,
}

/// Something that a client has to say to a server.
#[derive(Clone)]
pub struct McpForward {
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
impl std::fmt::Debug for McpForward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpForward")
            .field("connection", &self.connection)
            .field("server", &self.server)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Tells one call of a tool from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GatewayCallId(pub u64);

/// A tool of a server, as the agent of a session knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The server.
    pub server: CustomizationId,
    /// What the agent calls it.
    pub name: String,
    /// What the server calls it.
    pub original_name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does, cut short.
    pub description: Option<String>,
    /// The app that shows what it does (`_meta.ui`).
    pub ui: Option<Json>,
}

/// What is told about the servers of a session.
#[derive(Clone)]
pub enum McpEvent {
    /// An agent came for the tools of the session. Many ask for them only once,
    /// when they begin: the servers have to start now, and whoever serves the
    /// agent hears of its clients' tools again when they do.
    ToolsRequested,
    /// A server runs.
    ServerReady {
        /// The server.
        server: CustomizationId,
        /// What its apps may do by its `mcp:` channel.
        apps: McpServerApps,
    },
    /// A server wants a token.
    ServerAuthRequired {
        /// The server.
        server: CustomizationId,
        /// What for.
        requirement: Box<McpAuthRequirement>,
    },
    /// A server failed, or has ended by itself.
    ServerFailed {
        /// The server.
        server: CustomizationId,
        /// Why.
        error: ErrorInfo,
    },
    /// A server has stopped, as it was told to.
    ServerStopped {
        /// The server.
        server: CustomizationId,
    },
    /// Some of what a server that runs says of its tools can't be used.
    ToolListProblem {
        /// The server.
        server: CustomizationId,
        /// What is wrong, in words; nothing if all can be used.
        problem: Option<String>,
    },
    /// The tools of all servers of the session that run.
    ToolsChanged {
        /// The tools.
        tools: Vec<McpTool>,
    },
    /// The agent calls a tool of a client.
    ClientToolCalled {
        /// The chat that it does it for.
        chat: Uri,
        /// What the answer has to name.
        call: GatewayCallId,
        /// The tool, as the agent calls it.
        tool: String,
        /// With what, as JSON.
        input: String,
    },
    /// The agent is about to call a tool of a server or a client, and somebody
    /// has to agree first.
    ApprovalRequested {
        /// The chat that it does it for.
        chat: Uri,
        /// What the answer has to name.
        call: GatewayCallId,
        /// The tool, as the agent calls it.
        tool: String,
        /// With what, as JSON.
        input: String,
    },
    /// The agent does not wait for a call any more.
    CallAbandoned {
        /// The call.
        call: GatewayCallId,
    },
    /// A call of a server's tool needs a token, and waits for it.
    CallAuthRequired {
        /// The chat that it is for.
        chat: Uri,
        /// The tool, as the agent calls it.
        tool: String,
        /// What for.
        requirement: Box<McpAuthRequirement>,
    },
    /// Such a call goes on.
    CallAuthorized {
        /// The chat that it is for.
        chat: Uri,
        /// The tool, as the agent calls it.
        tool: String,
    },
    /// What a server said to a client.
    ForwardAnswered {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
        /// The answer, in the words of MCP.
        result: Box<Result<Json, RpcError>>,
    },
    /// A server has something to say to all clients that can hear it.
    ServerNotified {
        /// The server.
        server: CustomizationId,
        /// What, in the words of MCP.
        method: String,
        /// With what.
        params: Object,
    },
}

/// Shows nothing of what tools are called with or answer.
impl std::fmt::Debug for McpEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            McpEvent::ToolsRequested => "Sought",
            McpEvent::ServerReady { .. } => "Ready",
            McpEvent::ServerAuthRequired { .. } => "AuthRequired",
            McpEvent::ServerFailed { .. } => "Failed",
            McpEvent::ServerStopped { .. } => "Stopped",
            McpEvent::ToolListProblem { .. } => "Complaint",
            McpEvent::ToolsChanged { .. } => "Tools",
            McpEvent::ClientToolCalled { .. } => "Called",
            McpEvent::ApprovalRequested { .. } => "Calling",
            McpEvent::CallAbandoned { .. } => "Abandoned",
            McpEvent::CallAuthRequired { .. } => "CallNeedsToken",
            McpEvent::CallAuthorized { .. } => "CallHasToken",
            McpEvent::ForwardAnswered { .. } => "Answered",
            McpEvent::ServerNotified { .. } => "Said",
        })
    }
}
