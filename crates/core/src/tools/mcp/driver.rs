//! Commands to the MCP driver, and its events.
//!
//! The driver presents the MCP servers of a session and the tools of its clients to the agent
//! as one server, the gateway. Calls of client tools go through the host. Calls of server tools
//! do not.

use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::common::McpAuthRequirement;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::rpc::{RequestId, RpcError};
use agenthost_protocol::session::McpServerApps;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde::{Deserialize, Serialize};

use crate::agent::ClientTool;
use crate::customization::driver::HookDenial;
use crate::host::input::ConnectionId;

/// A command of the host to the MCP driver.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum McpCommand {
    /// Starts or restarts a server.
    Start {
        /// Channel URI of the session.
        session: Uri,
        /// The server to start.
        server: CustomizationId,
        /// The reason of the start. Only the user can start code that is not trusted.
        reason: StartReason,
    },
    /// Stops a running server.
    Stop {
        /// Channel URI of the session.
        session: Uri,
        /// The server to stop.
        server: CustomizationId,
    },
    /// Stops all servers of a session and removes its tools.
    EndSession {
        /// Channel URI of the session.
        session: Uri,
    },
    /// Replaces the tools that clients of a session execute.
    SetClientTools {
        /// Channel URI of the session.
        session: Uri,
        /// All tools of all active clients.
        tools: Vec<ClientTool>,
    },
    /// Replaces the tool filter of a chat (CUS-18).
    SetToolFilter {
        /// Channel URI of the session.
        session: Uri,
        /// Channel URI of the chat.
        chat: Uri,
        /// Tool names as the user wrote them; `None` allows all tools.
        tools: Option<Vec<String>>,
    },
    /// Completes a call of a client tool.
    CompleteCall {
        /// The call at the gateway.
        call: GatewayCallId,
        /// The result for the agent.
        result: Box<ToolCallResult>,
    },
    /// Sets the gate for tool calls of a session. Initially it is open.
    SetCallGate {
        /// Channel URI of the session.
        session: Uri,
        /// The new mode of the gate.
        mode: CallGateMode,
    },
    /// Resolves a call that waits at the gate.
    ResolveApproval {
        /// Channel URI of the session.
        session: Uri,
        /// The call at the gateway.
        call: GatewayCallId,
        /// The reason if the call was denied.
        verdict: Result<(), HookDenial>,
    },
    /// Forwards a request of a client to a server.
    ForwardRequest(Box<McpForward>),
    /// Forwards a notification of a client to a server.
    ForwardNotification {
        /// Channel URI of the session.
        session: Uri,
        /// The server to notify.
        server: CustomizationId,
        /// The method name in MCP.
        method: String,
        /// The parameters, without the channel.
        params: Object,
    },
}

/// The mode of the gate for tool calls of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallGateMode {
    /// Each call waits for the hook check of the host.
    Hooks,
    /// Calls are executed at once.
    Open,
}

/// The reason to start a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartReason {
    /// A turn could use the server.
    Turn,
    /// The user requested the start.
    User,
}

/// A request of a client that is forwarded to a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct McpForward {
    /// The connection that sent the request.
    pub connection: ConnectionId,
    /// The id of the request to answer.
    pub id: RequestId,
    /// Channel URI of the session.
    pub session: Uri,
    /// The server that receives the request.
    pub server: CustomizationId,
    /// The method name in MCP.
    pub method: String,
    /// The parameters, without the channel.
    pub params: Object,
}

/// Omits the parameters, so that they never reach the log.
impl std::fmt::Debug for McpForward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpForward")
            .field("connection", &self.connection)
            .field("server", &self.server)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Identifies one tool call at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GatewayCallId(pub u64);

/// A tool of an MCP server, as offered to the agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpTool {
    /// The server of the tool.
    pub server: CustomizationId,
    /// The name that the agent uses.
    pub name: String,
    /// The name that the server uses.
    pub original_name: String,
    /// The display name of the tool.
    pub title: Option<String>,
    /// The description of the tool, truncated.
    pub description: Option<String>,
    /// The app that displays the tool's results (`_meta.ui`).
    pub ui: Option<Json>,
}

/// An event of the MCP servers of a session.
#[derive(Clone, Serialize, Deserialize)]
pub enum McpEvent {
    /// An agent has requested the tools of the session. Many agents request them only once, at
    /// their start, so the servers have to start now. The host then sends `SetClientTools`, and
    /// the gateway delays its response to the agent until then.
    ToolsRequested,
    /// A server has started and is ready.
    ServerReady {
        /// The server that is ready.
        server: CustomizationId,
        /// The capabilities of its apps on its `mcp:` channel.
        apps: McpServerApps,
    },
    /// A server needs an access token.
    ServerAuthRequired {
        /// The server that needs it.
        server: CustomizationId,
        /// The resource and scopes of the token.
        requirement: Box<McpAuthRequirement>,
    },
    /// A server failed, or has ended by itself.
    ServerFailed {
        /// The server that failed.
        server: CustomizationId,
        /// The error to publish.
        error: ErrorInfo,
    },
    /// A server has stopped after a `Stop` command, or may not start.
    ServerStopped {
        /// The server that has stopped.
        server: CustomizationId,
    },
    /// A running server lists tools that can't be used.
    ToolListProblem {
        /// The server with the problem.
        server: CustomizationId,
        /// The problem as text; `None` if all tools are usable.
        problem: Option<String>,
    },
    /// The tools of all running servers of the session have changed.
    ToolsChanged {
        /// All tools, with unique names.
        tools: Vec<McpTool>,
    },
    /// The agent has called a client tool.
    ClientToolCalled {
        /// The chat of the call.
        chat: Uri,
        /// The id that the result has to carry.
        call: GatewayCallId,
        /// The tool name that the agent uses.
        tool: String,
        /// The arguments as JSON.
        input: String,
    },
    /// The agent has called a tool of a server or client, and the call waits at the gate.
    ApprovalRequested {
        /// The chat of the call.
        chat: Uri,
        /// The id that the verdict has to carry.
        call: GatewayCallId,
        /// The tool name that the agent uses.
        tool: String,
        /// The arguments as JSON.
        input: String,
    },
    /// The agent no longer waits for a call.
    CallAbandoned {
        /// The call at the gateway.
        call: GatewayCallId,
    },
    /// A call of a server's tool needs an access token and waits for it.
    CallAuthRequired {
        /// The chat of the call.
        chat: Uri,
        /// The tool name that the agent uses.
        tool: String,
        /// The resource and scopes of the token.
        requirement: Box<McpAuthRequirement>,
    },
    /// A call that waited for a token continues.
    CallAuthorized {
        /// The chat of the call.
        chat: Uri,
        /// The tool name that the agent uses.
        tool: String,
    },
    /// A server has answered a forwarded request.
    ForwardAnswered {
        /// The connection that sent the request.
        connection: ConnectionId,
        /// The id of the request to answer.
        id: RequestId,
        /// The result or the error of the server.
        result: Box<Result<Json, RpcError>>,
    },
    /// A server has sent a notification for clients.
    ServerNotified {
        /// The server that sent it.
        server: CustomizationId,
        /// The method name in MCP.
        method: String,
        /// The parameters of the notification.
        params: Object,
    },
}

/// Prints only the kind of event, so that arguments and results never reach the log.
impl std::fmt::Debug for McpEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            McpEvent::ToolsRequested => "ToolsRequested",
            McpEvent::ServerReady { .. } => "ServerReady",
            McpEvent::ServerAuthRequired { .. } => "ServerAuthRequired",
            McpEvent::ServerFailed { .. } => "ServerFailed",
            McpEvent::ServerStopped { .. } => "ServerStopped",
            McpEvent::ToolListProblem { .. } => "ToolListProblem",
            McpEvent::ToolsChanged { .. } => "ToolsChanged",
            McpEvent::ClientToolCalled { .. } => "ClientToolCalled",
            McpEvent::ApprovalRequested { .. } => "ApprovalRequested",
            McpEvent::CallAbandoned { .. } => "CallAbandoned",
            McpEvent::CallAuthRequired { .. } => "CallAuthRequired",
            McpEvent::CallAuthorized { .. } => "CallAuthorized",
            McpEvent::ForwardAnswered { .. } => "ForwardAnswered",
            McpEvent::ServerNotified { .. } => "ServerNotified",
        })
    }
}
