//! A server that runs, as others use it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_core::tools::mcp::driver::McpEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::sync::lock;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ErrorData, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerCapabilities,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RoleClient, RoleServer, ServiceError,
};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::raw_result::unwrap_raw_result;
use crate::auth::challenge::AuthChallenge;

/// How many notes of progress can be on their way to agents.
const MAX_PROGRESS_IN_FLIGHT: usize = 64;

/// Why a server did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerCallError {
    /// It said so itself.
    #[error("{}", .0.message)]
    Rejected(ErrorData),
    /// It wants a token.
    #[error("the server wants a token")]
    AuthRequired(AuthChallenge),
    /// Nobody waits for it any more.
    #[error("cancelled")]
    Cancelled,
    /// It took too long.
    #[error("the server did not answer in time")]
    TimedOut,
    /// It can't be reached.
    #[error("the server can't be reached")]
    Disconnected,
}

/// A server that runs.
#[derive(Clone)]
pub(crate) struct ServerHandle {
    peer: Peer<RoleClient>,
    listeners: Arc<ProgressListeners>,
    /// Somebody could not reach it, or its token was refused: whoever runs it
    /// should have a look.
    suspicion: Arc<Notify>,
}

/// Who wants to hear how far a request has got.
#[derive(Clone)]
pub(crate) enum ProgressListener {
    /// Nobody.
    Ignored,
    /// An agent, by the name that it gave the request.
    Agent(Peer<RoleServer>, ProgressToken),
    /// All clients that can hear of it, by the name that one of them gave it.
    Clients(ProgressToken),
}

impl ServerHandle {
    /// The server at the other end.
    pub(crate) fn new(peer: Peer<RoleClient>, handler: &NotificationHandler) -> Self {
        ServerHandle {
            peer,
            listeners: Arc::clone(&handler.listeners),
            suspicion: Arc::clone(&handler.suspicion),
        }
    }

    /// What the server says it can do.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        capabilities(&self.peer)
    }

    /// Asks for something, and says what came back, as it came. When it is
    /// cancelled, or takes too long, the server hears of it.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Object,
        listener: ProgressListener,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Json, ServerCallError> {
        let request = CustomRequest::new(method, Some(Json::Object(params)));
        let request = ClientRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|error| self.to_call_error(error))?;
        let _subscription = self
            .listeners
            .subscribe(handle.progress_token.clone(), listener);
        let (why, error) = tokio::select! {
            answer = &mut handle.rx => {
                return match answer {
                    Ok(Ok(result)) => Ok(unwrap_raw_result(&result)),
                    Ok(Err(error)) => Err(self.to_call_error(error)),
                    Err(_) => Err(ServerCallError::Disconnected),
                };
            }
            () = cancel.cancelled() => ("nobody waits for it", ServerCallError::Cancelled),
            () = tokio::time::sleep(timeout) => ("it takes too long", ServerCallError::TimedOut),
        };
        if handle.cancel(Some(why.to_owned())).await.is_err() {
            tracing::debug!("a server that is gone was not told of a cancellation");
        }
        Err(error)
    }

    fn to_call_error(&self, error: ServiceError) -> ServerCallError {
        match error {
            ServiceError::McpError(error) => ServerCallError::Rejected(error),
            ServiceError::Cancelled { .. } => ServerCallError::Cancelled,
            ServiceError::Timeout { .. } => ServerCallError::TimedOut,
            ServiceError::TransportSend(error) => {
                self.suspicion.notify_one();
                match AuthChallenge::from_error(error.error.as_ref()) {
                    Some(challenge) => ServerCallError::AuthRequired(challenge),
                    None => ServerCallError::Disconnected,
                }
            }
            _ => ServerCallError::Disconnected,
        }
    }
}

/// What a server says it can do. Clients hear of nothing else (MCP-13).
fn capabilities(peer: &Peer<RoleClient>) -> ServerCapabilities {
    let info = peer.peer_info();
    info.map(|info| info.capabilities.clone())
        .unwrap_or_default()
}

/// Who wants to hear of what, by the names that requests have for the server.
#[derive(Default)]
struct ProgressListeners(Mutex<HashMap<ProgressToken, ProgressListener>>);

impl ProgressListeners {
    fn subscribe(
        self: &Arc<Self>,
        token: ProgressToken,
        listener: ProgressListener,
    ) -> ProgressSubscription {
        self.lock().insert(token.clone(), listener);
        ProgressSubscription {
            listeners: Arc::clone(self),
            token,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, ProgressListener>> {
        lock(&self.0)
    }
}

/// Somebody listens, until this is dropped.
struct ProgressSubscription {
    listeners: Arc<ProgressListeners>,
    token: ProgressToken,
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        self.listeners.lock().remove(&self.token);
    }
}

/// Hears what a server says on its own.
#[derive(Clone)]
pub(crate) struct NotificationHandler {
    session: Uri,
    server: CustomizationId,
    events: mpsc::Sender<(Uri, McpEvent)>,
    listeners: Arc<ProgressListeners>,
    suspicion: Arc<Notify>,
    tools_changed: Arc<Notify>,
    /// How much can be on its way to agents. What is more is lost: an agent
    /// that does not listen must not keep what a server tells of.
    progress_permits: Arc<Semaphore>,
}

impl NotificationHandler {
    /// Ears for a server of a session.
    pub(crate) fn new(
        session: Uri,
        server: CustomizationId,
        events: mpsc::Sender<(Uri, McpEvent)>,
    ) -> Self {
        NotificationHandler {
            session,
            server,
            events,
            listeners: Arc::default(),
            suspicion: Arc::default(),
            tools_changed: Arc::default(),
            progress_permits: Arc::new(Semaphore::new(MAX_PROGRESS_IN_FLIGHT)),
        }
    }

    /// Where it is told that the server could not be reached.
    pub(crate) fn suspicion_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.suspicion)
    }

    /// Waits until somebody could not reach the server.
    pub(crate) async fn wait_for_suspicion(&self) {
        self.suspicion.notified().await;
    }

    /// Waits until the server says that it has other tools.
    pub(crate) async fn wait_for_tool_change(&self) {
        self.tools_changed.notified().await;
    }

    /// Passes something on to clients. A server that says more than anybody
    /// takes is not waited for: what does not fit is lost.
    fn publish(&self, method: &str, params: Object) {
        let said = McpEvent::ServerNotified {
            server: self.server.clone(),
            method: method.to_owned(),
            params,
        };
        if self.events.try_send((self.session.clone(), said)).is_err() {
            tracing::debug!(server = %self.server, method, "too much to pass on");
        }
    }
}

/// Something of `rmcp`, as the object that it is on the wire.
fn to_object(value: &impl serde::Serialize) -> Object {
    match serde_json::to_value(value) {
        Ok(Json::Object(object)) => object,
        Ok(_) | Err(_) => Object::new(),
    }
}

#[expect(deprecated, reason = "apps still get what servers log (MCP-13)")]
impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("agenthost", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(
        &self,
        mut params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self.listeners.lock().get(&params.progress_token).cloned();
        match listener {
            Some(ProgressListener::Agent(agent, token)) => {
                let Ok(_passing) = self.progress_permits.try_acquire() else {
                    return;
                };
                params.progress_token = token;
                if agent.notify_progress(params).await.is_err() {
                    tracing::debug!("an agent that is gone hears nothing of progress");
                }
            }
            Some(ProgressListener::Clients(token)) => {
                params.progress_token = token;
                self.publish("notifications/progress", to_object(&params));
            }
            Some(ProgressListener::Ignored) | None => {}
        }
    }

    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        if capabilities(&context.peer).logging.is_some() {
            self.publish("notifications/message", to_object(&params));
        }
    }

    async fn on_resource_list_changed(&self, context: NotificationContext<RoleClient>) {
        let resources = capabilities(&context.peer).resources;
        if resources.is_some_and(|resources| resources.list_changed == Some(true)) {
            self.publish("notifications/resources/list_changed", Object::new());
        }
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
        let tools = capabilities(&context.peer).tools;
        if tools.is_some_and(|tools| tools.list_changed == Some(true)) {
            self.publish("notifications/tools/list_changed", Object::new());
        }
    }
}
