//! Runs the servers of all sessions, and the gateway that their agents get.

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

/// What a server that fails is told as, for programs.
pub(super) const SERVER_FAILED_CODE: &str = "mcpServerFailed";

/// Events that wait until the host takes them. Further events wait with their senders; further
/// notifications of servers are dropped. The queue is separate from that of the inputs, which
/// agents can keep full for long: then a notification would almost never find a place in it.
const EVENT_QUEUE: usize = 256;

/// How servers are run.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// Where it is noted which programs run, so that the next host can end
    /// them if this one can't.
    pub pid_dir: Option<PathBuf>,
    /// Where the socket of the gateway is made.
    pub scratch: ScratchSpace,
    /// How long a server may take until it is ready.
    pub start_timeout: Duration,
    /// How long a call waits for a token that it needs.
    pub token_timeout: Duration,
    /// How long an agent that has just come waits for servers that start. Many
    /// ask for tools only once, but give up after ten seconds.
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

/// Why no servers can be run.
#[derive(Debug, thiserror::Error)]
pub enum McpStartError {
    /// There is no place for agents to come to.
    #[error("make a socket for agents: {0}")]
    Gateway(#[source] io::Error),
    /// Requests can't be sent.
    #[error("prepare for requests to servers: {0}")]
    Http(String),
}

/// The servers of all sessions. [`McpManager::stop`] ends all of it; dropped,
/// all of it ends some time later.
pub struct McpManager {
    shared: Arc<McpContext>,
    registry: Arc<ServerRegistry>,
    gateway: GatewayAddress,
    http_gateway: HttpGateway,
}

/// What all tasks here use.
pub(super) struct McpContext {
    /// How servers are run.
    pub(super) config: McpConfig,
    /// The event queue. Events of all servers stay in the order in which they were sent.
    pub(super) events: mpsc::Sender<(Uri, McpEvent)>,
    /// Tokens for servers.
    pub(super) tokens: McpTokens,
    /// What requests go through.
    pub(super) client: reqwest::Client,
    /// Owns all tasks.
    pub(super) tasks: TaskTracker,
    /// Cancelled when all of it is to end.
    pub(super) stopping: CancellationToken,
    sessions: Mutex<BTreeMap<Uri, Arc<SessionTools>>>,
    next_call_number: AtomicU64,
}

impl McpManager {
    /// Starts the gateway, and sends events to the host as `Input::Mcp`. While the host takes no
    /// inputs, servers and calls wait; only notifications of servers are dropped, see
    /// `EVENT_QUEUE`.
    ///
    /// Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// If the socket of the gateway or the HTTP client can't be created.
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

    /// Where agents find the tools of their session.
    pub fn gateway(&self) -> &GatewayAddress {
        &self.gateway
    }

    /// Where agents that want HTTP find them.
    pub fn http_gateway(&self) -> &HttpGateway {
        &self.http_gateway
    }

    /// Does what the host wants. How a server that is to be started is
    /// reached, the caller knows.
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
                    let error = ErrorInfo::new(SERVER_FAILED_CODE, "there is no such server");
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
                // Without a room nobody waits any more.
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

    /// Starts a server. One that runs by this name already ends first, without
    /// a word.
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

    /// Gives a token, or takes one back. Servers that wait for one go on; a
    /// server that used it shows another one, or asks again.
    pub fn set_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.shared.tokens.set(key, token);
    }

    /// Says whose tokens a session uses: that of the first who has one for a
    /// resource (AUT-13).
    pub fn set_token_principals(&self, session: &Uri, principals: Vec<Principal>) {
        self.shared.tokens.set_principals(session, principals);
    }

    /// Ends all of it, and waits until nothing is left.
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

    /// Tells something in time.
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

/// Leaves out what runs.
impl std::fmt::Debug for McpManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpManager")
            .field("gateway", &self.gateway)
            .finish_non_exhaustive()
    }
}

impl McpContext {
    /// Tells the host something, unless all ends.
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
            Some(Err(_)) => tracing::debug!("nobody hears of tools any more"),
        }
    }

    /// A session. One that was not known is, from now on.
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

    /// A server that runs.
    fn running_server(&self, session: &Uri, server: &CustomizationId) -> Option<RunningServer> {
        self.lock().get(session)?.running_server(server)
    }

    /// A number that no other call has.
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

/// Sends events to the host as inputs.
async fn forward_events(mut events: mpsc::Receiver<(Uri, McpEvent)>, inputs: mpsc::Sender<Input>) {
    while let Some((session, event)) = events.recv().await {
        inputs
            .send(Input::Mcp { session, event })
            .await
            .ignore_closed();
    }
}

/// Tells the host which tools the servers of a session have, whenever that
/// changes. Agents hear of it after that.
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
