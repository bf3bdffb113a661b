//! Runs the MCP servers of all sessions, and the gateway for their agents.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_core::tools::mcp::driver::{GatewayCallId, McpCommand, McpEvent};
use agenthost_core::tools::mcp::transport::McpServerSpec;
use agenthost_core::{AccessToken, Input, Principal, TokenKey};
use agenthost_process::kill_leftovers;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::scratch::ScratchSpace;
use agenthost_stdx::sync::lock;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app_requests;
use super::auth::tokens::McpTokens;
use super::gateway::{GatewayAddress, GatewayListener, HttpGateway};
use super::server::registry::{ServerRegistry, StartedServer};
use super::server::{DesiredState, ServerTask};
use super::session_tools::{RunningServer, SessionTools, server_tools};
use super::transport::http;

/// Error code of a server that failed.
pub(super) const SERVER_FAILED_CODE: &str = "mcpServerFailed";

/// Capacity of the event queue. When it is full, senders wait, and notifications of servers are
/// dropped. The queue is separate from that of the inputs, because agents can keep that one
/// full for a long time, and a notification would almost never fit.
const EVENT_QUEUE: usize = 256;

/// Settings of the manager.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// Directory for pid files. With it, the next host kills the servers if this host is
    /// killed.
    pub pid_dir: Option<PathBuf>,
    /// Scratch space for the socket of the gateway.
    pub scratch: ScratchSpace,
    /// Timeout for the start of a server, from its spawn to the end of the MCP handshake.
    pub start_timeout: Duration,
    /// Timeout for a call that requires a token.
    pub token_timeout: Duration,
    /// Time that a new agent waits for servers that start. Many agents request the tool list
    /// only once, with a timeout of ten seconds.
    pub startup_wait: Duration,
}

impl Default for McpConfig {
    fn default() -> Self {
        McpConfig {
            pid_dir: None,
            scratch: ScratchSpace::default(),
            start_timeout: Duration::from_secs(30),
            token_timeout: Duration::from_secs(5 * 60),
            startup_wait: Duration::from_secs(8),
        }
    }
}

/// The error of a manager that can't be created.
#[derive(Debug, thiserror::Error)]
pub enum McpStartError {
    /// The socket of the gateway could not be created.
    #[error("create the gateway socket: {0}")]
    Gateway(#[source] io::Error),
    /// The HTTP client could not be created.
    #[error("create the HTTP client: {0}")]
    Http(String),
}

/// The MCP servers of all sessions, and the gateway. [`McpManager::stop`] ends all tasks and
/// waits for them; drop only cancels them.
pub struct McpManager {
    shared: Arc<McpContext>,
    registry: Arc<ServerRegistry>,
    gateway: GatewayAddress,
    http_gateway: HttpGateway,
}

/// State that all tasks of the manager share.
pub(super) struct McpContext {
    pub(super) config: McpConfig,
    /// The event queue. It keeps the order of the events of all servers.
    pub(super) events: mpsc::Sender<(Uri, McpEvent)>,
    pub(super) tokens: McpTokens,
    /// HTTP client for the servers and their metadata.
    pub(super) client: reqwest::Client,
    /// Tracks all tasks of the manager.
    pub(super) tasks: TaskTracker,
    /// Cancelled when the manager stops.
    pub(super) stopping: CancellationToken,
    sessions: Mutex<BTreeMap<Uri, Arc<SessionTools>>>,
    next_call_number: AtomicU64,
}

impl McpManager {
    /// Starts the gateway, and sends events to the host as `Input::Mcp`. While the host takes
    /// no inputs, servers and calls wait; only notifications of servers are dropped, see
    /// `EVENT_QUEUE`.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the socket of the gateway or the HTTP client can't be created.
    pub fn new(config: McpConfig, inputs: mpsc::Sender<Input>) -> Result<Self, McpStartError> {
        if let Some(notes) = &config.pid_dir {
            kill_leftovers(notes);
        }
        let (events, event_receiver) = mpsc::channel(EVENT_QUEUE);
        let shared = Arc::new(McpContext {
            config,
            events,
            tokens: McpTokens::default(),
            client: http::build_client().map_err(|error| McpStartError::Http(error.to_string()))?,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            sessions: Mutex::default(),
            next_call_number: AtomicU64::new(1),
        });
        let gateway =
            GatewayListener::open(&shared.config.scratch).map_err(McpStartError::Gateway)?;
        let address = gateway.address();
        shared.tasks.spawn(gateway.serve(Arc::clone(&shared)));
        let stopping = shared.stopping.clone();
        shared.tasks.spawn(async move {
            let forwarding = forward_events(event_receiver, inputs);
            stopping.run_until_cancelled(forwarding).await;
        });
        Ok(McpManager {
            http_gateway: HttpGateway::new(Arc::clone(&shared), address.clone()),
            shared,
            registry: Arc::default(),
            gateway: address,
        })
    }

    /// Returns the address of the gateway socket, for agents that start the relay.
    pub fn gateway(&self) -> &GatewayAddress {
        &self.gateway
    }

    /// Returns the gateway for agents that connect over HTTP.
    pub fn http_gateway(&self) -> &HttpGateway {
        &self.http_gateway
    }

    /// Executes a command of the host. `spec` returns the specification of a server that is to
    /// be started.
    pub fn execute(
        &self,
        command: McpCommand,
        spec: impl FnOnce(&Uri, &CustomizationId) -> Option<McpServerSpec>,
    ) {
        match command {
            McpCommand::Start {
                session, server, ..
            } => match spec(&session, &server) {
                Some(spec) => self.start_server(&session, &server, spec),
                None => {
                    let error = ErrorInfo::new(SERVER_FAILED_CODE, "there is no such MCP server");
                    self.spawn_event(session, McpEvent::ServerFailed { server, error });
                }
            },
            McpCommand::Stop { session, server } => {
                if !self
                    .registry
                    .set_desired_state((session.clone(), server.clone()), DesiredState::Stopped)
                {
                    self.spawn_event(session, McpEvent::ServerStopped { server });
                }
            }
            McpCommand::EndSession { session } => self.end_session(&session),
            McpCommand::SetClientTools { session, tools } => {
                self.shared.session_tools(&session).set_client_tools(tools);
            }
            McpCommand::SetToolFilter {
                session,
                chat,
                tools,
            } => self
                .shared
                .session_tools(&session)
                .set_tool_filter(&chat, tools),
            McpCommand::CompleteCall { call, result } => {
                let mut result = Some(result);
                for session_tools in self.shared.all_session_tools() {
                    if let Some(given) = result.take() {
                        result = session_tools.complete_call(call, given);
                    }
                }
            }
            McpCommand::SetCallGate {
                session,
                mode: guard,
            } => self
                .shared
                .session_tools(&session)
                .call_gate
                .set_mode(guard),
            McpCommand::ResolveApproval {
                session,
                call,
                verdict,
            } => {
                // If the session has no tools entry, no call of it is pending.
                if let Some(session_tools) = self.shared.lock().get(&session) {
                    session_tools.call_gate.resolve(call, verdict);
                }
            }
            McpCommand::ForwardRequest(asked) => {
                let shared = Arc::clone(&self.shared);
                self.shared.tasks.spawn(async move {
                    let running = shared.running_server(&asked.session, &asked.server);
                    let (connection, id) = (asked.connection, asked.id.clone());
                    let session = asked.session.clone();
                    let asking = app_requests::forward_request(running, &shared.client, *asked);
                    let Some(answer) = shared.stopping.run_until_cancelled(asking).await else {
                        return;
                    };
                    let answer = Box::new(answer);
                    let answered = McpEvent::ForwardAnswered {
                        connection,
                        id,
                        result: answer,
                    };
                    shared.send_event(&session, answered).await;
                });
            }
            McpCommand::ForwardNotification {
                session,
                server,
                method,
                params,
            } => {
                let running = self.shared.running_server(&session, &server);
                app_requests::forward_notification(running, &method, &params);
            }
        }
    }

    /// Starts a server. A running server with the same id is ended first, without an event.
    pub fn start_server(&self, session: &Uri, server: &CustomizationId, spec: McpServerSpec) {
        let key = (session.clone(), server.clone());
        self.shared.session_tools(session).mark_starting(server);
        let StartedServer {
            desired: wished,
            ended: over,
            previous: before,
        } = self.registry.start(key.clone());
        let server_task = ServerTask::new(
            Arc::clone(&self.shared),
            self.shared.session_tools(session),
            server.clone(),
            spec,
            wished,
        );
        let registry = Arc::clone(&self.registry);
        self.shared.tasks.spawn(async move {
            if let Some(before) = before {
                before.cancelled().await;
            }
            let reporter = server_task.reporter();
            let last = server_task.run().await;
            if let Some(event) = last {
                reporter.report(event).await;
            }
            if registry.remove_finished(&key, over) == DesiredState::Stopped {
                reporter.report_stopped().await;
            }
        });
    }

    /// Stores or removes a token. Servers that wait for a token continue. A server that used a
    /// removed token gets another one, or reports that it requires one.
    pub fn set_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.shared.tokens.set(key, token);
    }

    /// Sets the principals whose tokens a session uses. The first one with a token for the
    /// resource counts (AUT-13).
    pub fn set_token_principals(&self, session: &Uri, principals: Vec<Principal>) {
        self.shared.tokens.set_principals(session, principals);
    }

    /// Ends all servers and connections, and waits for their tasks.
    pub async fn stop(self) {
        let sessions: Vec<_> = self.shared.lock().keys().cloned().collect();
        for session in sessions {
            self.end_session(&session);
        }
        self.shared.stopping.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    fn end_session(&self, session: &Uri) {
        let session_tools = self.shared.lock().remove(session);
        self.registry.remove_session(session);
        self.http_gateway.remove_session(session);
        if let Some(session_tools) = session_tools {
            session_tools.over.cancel();
        }
    }

    /// Sends an event from a new task, for callers that can't wait.
    fn spawn_event(&self, session: Uri, event: McpEvent) {
        let shared = Arc::clone(&self.shared);
        self.shared.tasks.spawn(async move {
            shared.send_event(&session, event).await;
        });
    }
}

impl Drop for McpManager {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
    }
}

/// Omits the running servers.
impl std::fmt::Debug for McpManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpManager")
            .field("gateway", &self.gateway)
            .finish_non_exhaustive()
    }
}

impl McpContext {
    /// Sends an event to the host, unless the manager stops first. An event that ends the start
    /// of a server is also recorded in [`SessionTools`].
    pub(super) async fn send_event(&self, session: &Uri, event: McpEvent) {
        let started = match &event {
            McpEvent::ServerReady { server, .. }
            | McpEvent::ServerAuthRequired { server, .. }
            | McpEvent::ServerFailed { server, .. }
            | McpEvent::ServerStopped { server } => Some(server.clone()),
            _ => None,
        };
        let session_tools = self.lock().get(session).cloned();
        if let Some((session_tools, server)) = session_tools.zip(started) {
            session_tools.mark_started(&server);
        }
        let told = self.events.send((session.clone(), event));
        match self.stopping.run_until_cancelled(told).await {
            Some(Ok(())) | None => {}
            Some(Err(_)) => tracing::debug!("the host loop has stopped: dropping MCP events"),
        }
    }

    /// Returns the tools of a session, and creates the entry on first use.
    pub(super) fn session_tools(self: &Arc<Self>, session: &Uri) -> Arc<SessionTools> {
        let mut sessions = self.lock();
        if let Some(session_tools) = sessions.get(session) {
            return Arc::clone(session_tools);
        }
        let over = self.stopping.child_token();
        let session_tools = Arc::new(SessionTools::new(session.clone(), over));
        sessions.insert(session.clone(), Arc::clone(&session_tools));
        self.tasks.spawn(publish_tools_loop(
            Arc::clone(self),
            Arc::clone(&session_tools),
        ));
        session_tools
    }

    fn running_server(&self, session: &Uri, server: &CustomizationId) -> Option<RunningServer> {
        self.lock().get(session)?.running_server(server)
    }

    /// Returns a new id for a gateway call.
    pub(super) fn next_call_id(&self) -> GatewayCallId {
        GatewayCallId(self.next_call_number.fetch_add(1, Ordering::Relaxed))
    }

    fn all_session_tools(&self) -> Vec<Arc<SessionTools>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uri, Arc<SessionTools>>> {
        lock(&self.sessions)
    }
}

/// Forwards events to the host as inputs.
async fn forward_events(mut events: mpsc::Receiver<(Uri, McpEvent)>, inputs: mpsc::Sender<Input>) {
    while let Some((session, event)) = events.recv().await {
        inputs
            .send(Input::Mcp { session, event })
            .await
            .ignore_closed();
    }
}

/// Sends the tools of the session's servers to the host whenever they change. Agents are
/// notified after the host.
async fn publish_tools_loop(shared: Arc<McpContext>, session_tools: Arc<SessionTools>) {
    let mut changes = session_tools.subscribe_changes();
    let mut published = Vec::new();
    loop {
        let version = *changes.borrow_and_update();
        let tools = server_tools(&session_tools.offered_tools());
        if tools != published {
            published.clone_from(&tools);
            shared
                .send_event(&session_tools.session, McpEvent::ToolsChanged { tools })
                .await;
        }
        session_tools.mark_published(version);
        let changed = session_tools
            .over
            .run_until_cancelled(changes.changed())
            .await;
        if !matches!(changed, Some(Ok(()))) {
            break;
        }
    }
}
