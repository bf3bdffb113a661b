//! MCP server of one agent connection: lists the tools of its session and calls them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tools::mcp::driver::{GatewayCallId, McpEvent, McpTool};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::result::IgnoreResult;
use rmcp::model::{
    CallToolRequestParams, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::results::{error_result, to_mcp_result};
use crate::auth::challenge::AuthChallenge;
use crate::auth::metadata::{PresentedToken, fetch_requirement};
use crate::manager::McpContext;
use crate::server::handle::{ProgressListener, ServerCallError};
use crate::session_tools::{AuthEndpoint, RunningServer, SessionTools, ToolProvider};

/// Timeout for a call of a server's tool. It only bounds leaked calls; agents time out long
/// before.
const TOOL_CALL_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of concurrent calls of one agent. Further ones fail.
const MAX_AGENT_CALLS: usize = 256;

/// State of the session at the time when the agent connected.
pub(super) struct AgentArrival {
    /// Number of client tool lists that the host had published by then.
    pub(super) publish_count: u64,
    /// Time until which the first tool list waits for servers that start.
    pub(super) deadline: Instant,
}

/// The MCP server for the agent of one chat.
pub(super) struct GatewayServer {
    pub(super) shared: Arc<McpContext>,
    pub(super) session_tools: Arc<SessionTools>,
    pub(super) chat: Uri,
    arrival: AgentArrival,
    /// Cancelled when the agent disconnects or its session ends.
    gone: CancellationToken,
    /// Permits for concurrent calls.
    call_permits: Semaphore,
}

/// A pending call of a client tool. If it is dropped before the result arrives, the host
/// receives [`McpEvent::CallAbandoned`].
struct PendingClientCall {
    shared: Arc<McpContext>,
    session_tools: Arc<SessionTools>,
    call: GatewayCallId,
}

impl Drop for PendingClientCall {
    fn drop(&mut self) {
        if !self.session_tools.remove_call(self.call) {
            return;
        }
        let (shared, session) = (Arc::clone(&self.shared), self.session_tools.session.clone());
        let abandoned = McpEvent::CallAbandoned { call: self.call };
        self.shared.tasks.spawn(async move {
            shared.send_event(&session, abandoned).await;
        });
    }
}

impl GatewayServer {
    pub(super) fn new(
        shared: Arc<McpContext>,
        session_tools: Arc<SessionTools>,
        chat: Uri,
        arrival: AgentArrival,
        gone: CancellationToken,
    ) -> Self {
        GatewayServer {
            shared,
            session_tools,
            chat,
            arrival,
            gone,
            call_permits: Semaphore::new(MAX_AGENT_CALLS),
        }
    }

    /// Returns the tools that the chat may use. A new agent waits until its deadline for
    /// servers that start. Later tools are announced with a notification, but some agents
    /// ignore it.
    async fn list_tools(&self) -> Json {
        let settled = self.session_tools.wait_started(self.arrival.publish_count);
        let waited = tokio::time::timeout_at(self.arrival.deadline, settled).await;
        waited.ignore_elapsed();
        let (offer, allowed) = (
            self.session_tools.offered_tools(),
            self.session_tools.tool_filter(&self.chat),
        );
        let tools = offer.iter().filter(|tool| allowed.allows(tool));
        let tools: Vec<_> = tools.map(|tool| &tool.definition).collect();
        json!({ "tools": tools })
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Json, ErrorData> {
        let offer = self.session_tools.offered_tools();
        let name = params.name.as_ref();
        let Some(tool) = offer.iter().find(|tool| tool.name == name) else {
            let reason = "there is no tool with this name";
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, reason, None));
        };
        if !self.session_tools.tool_filter(&self.chat).allows(tool) {
            return Ok(error_result(
                "the selected custom agent may not use this tool",
            ));
        }
        let Ok(_call) = self.call_permits.try_acquire() else {
            return Ok(error_result("too many concurrent calls"));
        };
        let arguments = params.arguments.unwrap_or_default();
        let cancel = context.ct.clone();
        let calling = async {
            if let Err(denial) = self.await_approval(&tool.name, &arguments).await {
                return Ok(error_result(&denial.to_string()));
            }
            match &tool.provider {
                ToolProvider::Client => self.call_client_tool(&tool.name, arguments).await,
                ToolProvider::Server(tool) => self.call_server_tool(tool, arguments, context).await,
            }
        };
        let called = async {
            tokio::select! {
                answer = calling => answer,
                // A cancelled request gets no response, so this result is discarded.
                () = cancel.cancelled() => Ok(error_result("cancelled")),
            }
        };
        match self.gone.run_until_cancelled(called).await {
            Some(answer) => answer,
            None => Ok(error_result("the session has ended")),
        }
    }

    async fn call_client_tool(&self, tool: &str, arguments: Object) -> Result<Json, ErrorData> {
        let call = self.shared.next_call_id();
        let answered = self.session_tools.register_call(call);
        let _waiting = PendingClientCall {
            shared: Arc::clone(&self.shared),
            session_tools: Arc::clone(&self.session_tools),
            call,
        };
        let called = McpEvent::ClientToolCalled {
            chat: self.chat.clone(),
            call,
            tool: tool.to_owned(),
            input: Json::Object(arguments).to_string(),
        };
        self.shared
            .send_event(&self.session_tools.session, called)
            .await;
        Ok(match answered.await {
            Ok(result) => to_mcp_result(&result),
            Err(_) => error_result("the call got no result"),
        })
    }

    async fn call_server_tool(
        &self,
        tool: &McpTool,
        arguments: Object,
        context: RequestContext<RoleServer>,
    ) -> Result<Json, ErrorData> {
        let Some(server) = self.session_tools.running_server(&tool.server) else {
            return Ok(error_result("the MCP server of this tool is not running"));
        };
        // The token that the request has; it may be replaced before the server responds.
        let auth = server.auth.as_ref();
        let shown = auth.and_then(|auth| auth.bearer.current());
        let refused = shown.map_or(0, |given| given.number);
        let (challenge, auth) = match self
            .send_tool_call(&server, tool, arguments.clone(), &context)
            .await
        {
            Err(ServerCallError::AuthRequired(challenge)) => match server.auth {
                Some(auth) => (challenge, auth),
                None => return Ok(error_result("the tool requires a token")),
            },
            other => return to_agent_result(other),
        };
        let waiting = self.await_token(tool, &challenge, &auth, refused);
        let within = self.shared.config.token_timeout;
        let Ok(server) = tokio::time::timeout(within, waiting).await else {
            return Ok(error_result(
                "the tool requires a token, and no client sent one",
            ));
        };
        let goes_on = McpEvent::CallAuthorized {
            chat: self.chat.clone(),
            tool: tool.name.clone(),
        };
        self.shared
            .send_event(&self.session_tools.session, goes_on)
            .await;
        to_agent_result(
            self.send_tool_call(&server, tool, arguments, &context)
                .await,
        )
    }

    /// Sends a tool call to a server and waits for the result.
    async fn send_tool_call(
        &self,
        server: &RunningServer,
        tool: &McpTool,
        arguments: Object,
        context: &RequestContext<RoleServer>,
    ) -> Result<Json, ServerCallError> {
        let mut params = Object::new();
        params.insert("name".to_owned(), Json::from(tool.original_name.as_str()));
        params.insert("arguments".to_owned(), Json::Object(arguments));
        if !context.meta.is_empty() {
            let meta = serde_json::to_value(&context.meta).unwrap_or_default();
            params.insert("_meta".to_owned(), meta);
        }
        let listener = match context.meta.get_progress_token() {
            Some(token) => ProgressListener::Agent(context.peer.clone(), token),
            None => ProgressListener::Ignored,
        };
        // This future is dropped when the request or the agent's connection ends. A separate
        // task then sends the cancellation to the server.
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let handle = server.handle.clone();
        let asking = self.shared.tasks.spawn(async move {
            handle
                .request("tools/call", params, listener, TOOL_CALL_TIMEOUT, &ended)
                .await
        });
        let answer = asking.await;
        drop(end);
        answer.unwrap_or(Err(ServerCallError::Disconnected))
    }

    /// Reports that a call requires a token. Waits until the session has a new token and the
    /// server runs with it.
    async fn await_token(
        &self,
        tool: &McpTool,
        challenge: &AuthChallenge,
        auth: &AuthEndpoint,
        refused: u64,
    ) -> RunningServer {
        let shown = match auth.bearer.current() {
            Some(_) => PresentedToken::Rejected,
            None => PresentedToken::Absent,
        };
        let needed = fetch_requirement(&self.shared.client, &auth.url, challenge, shown).await;
        let resource = needed.resource.resource.clone();
        let needs = McpEvent::CallAuthRequired {
            chat: self.chat.clone(),
            tool: tool.name.clone(),
            requirement: Box::new(needed),
        };
        self.shared
            .send_event(&self.session_tools.session, needs)
            .await;
        let (tokens, session) = (&self.shared.tokens, &self.session_tools.session);
        let given = tokens.wait_for_new_token(session, &resource, refused).await;
        let server = self.session_tools.wait_for_server(&tool.server).await;
        if let Some(auth) = &server.auth {
            auth.bearer.set(Some(given));
        }
        server
    }
}

/// Converts the response of a server to that for the agent. Only errors from the server itself
/// become JSON-RPC errors.
fn to_agent_result(answer: Result<Json, ServerCallError>) -> Result<Json, ErrorData> {
    match answer {
        Ok(result) => Ok(result),
        Err(ServerCallError::Rejected(error)) => Err(error),
        Err(error) => Ok(error_result(&error.to_string())),
    }
}

impl Service<RoleServer> for GatewayServer {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let result = match request {
            ClientRequest::InitializeRequest(_) => {
                return Ok(ServerResult::InitializeResult(self.get_info()));
            }
            ClientRequest::PingRequest(_) => json!({}),
            ClientRequest::ListToolsRequest(_) => self.list_tools().await,
            ClientRequest::CallToolRequest(call) => self.call_tool(call.params, context).await?,
            other => {
                let method = other.method();
                // `rmcp` reads a known method with invalid parameters as a custom request.
                let code = match method {
                    "initialize" | "ping" | "tools/list" | "tools/call" => {
                        ErrorCode::INVALID_PARAMS
                    }
                    _ => ErrorCode::METHOD_NOT_FOUND,
                };
                return Err(ErrorData::new(code, method.to_owned(), None));
            }
        };
        Ok(ServerResult::CustomResult(CustomResult(result)))
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // `rmcp` handles cancellations before it calls this function.
        Ok(())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        let begun = known.filter(|version| version.has_initialize());
        Cow::Owned(begun.cloned().collect())
    }

    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let own = Implementation::new("agenthost", env!("CARGO_PKG_VERSION"));
        InitializeResult::new(capabilities)
            .with_server_info(own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
