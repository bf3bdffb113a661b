//! Handle for requests to a connected server, and the handler of its notifications.

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

/// Maximum number of progress notifications that are being sent to agents.
const MAX_PROGRESS_IN_FLIGHT: usize = 64;

/// The error of a request to a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerCallError {
    /// The server responded with an error.
    #[error("{}", .0.message)]
    Rejected(ErrorData),
    /// The server requires a token.
    #[error("the server requires a token")]
    AuthRequired(AuthChallenge),
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
    /// No response arrived before the timeout.
    #[error("the server did not respond in time")]
    TimedOut,
    /// The connection is closed or broken.
    #[error("the server cannot be reached")]
    Disconnected,
}

/// Cloneable handle for requests to a connected server.
#[derive(Clone)]
pub(crate) struct ServerHandle {
    peer: Peer<RoleClient>,
    listeners: Arc<ProgressListeners>,
    /// Notified after a failed request or a rejected token, so that the server task checks the
    /// server.
    suspicion: Arc<Notify>,
}

/// The receiver of the progress notifications of a request.
#[derive(Clone)]
pub(crate) enum ProgressListener {
    /// The caller does not want them.
    Ignored,
    /// An agent, with the progress token of its own request.
    Agent(Peer<RoleServer>, ProgressToken),
    /// All subscribed clients, with the progress token of the client that sent the request.
    Clients(ProgressToken),
}

impl ServerHandle {
    pub(crate) fn new(peer: Peer<RoleClient>, handler: &NotificationHandler) -> Self {
        ServerHandle {
            peer,
            listeners: Arc::clone(&handler.listeners),
            suspicion: Arc::clone(&handler.suspicion),
        }
    }

    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        capabilities(&self.peer)
    }

    /// Sends a request and returns its result unchanged. If the request is cancelled or times
    /// out, the server receives a cancellation.
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
            () = cancel.cancelled() => ("the request was cancelled", ServerCallError::Cancelled),
            () = tokio::time::sleep(timeout) => ("the request timed out", ServerCallError::TimedOut),
        };
        if handle.cancel(Some(why.to_owned())).await.is_err() {
            tracing::debug!("cancellation not sent: the server has exited");
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

/// Returns the capabilities that the server declared. Only these are published to clients
/// (MCP-13).
fn capabilities(peer: &Peer<RoleClient>) -> ServerCapabilities {
    let info = peer.peer_info();
    info.map(|info| info.capabilities.clone())
        .unwrap_or_default()
}

/// The progress listeners by the progress token that was sent to the server.
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

/// Registration of a progress listener. On drop it is removed.
struct ProgressSubscription {
    listeners: Arc<ProgressListeners>,
    token: ProgressToken,
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        self.listeners.lock().remove(&self.token);
    }
}

/// Handles the notifications of a server.
#[derive(Clone)]
pub(crate) struct NotificationHandler {
    session: Uri,
    server: CustomizationId,
    events: mpsc::Sender<(Uri, McpEvent)>,
    listeners: Arc<ProgressListeners>,
    suspicion: Arc<Notify>,
    tools_changed: Arc<Notify>,
    /// Bounds the notifications that are being sent to agents. Further ones are dropped, so
    /// that an agent that does not read can't fill the memory of the host.
    progress_permits: Arc<Semaphore>,
}

impl NotificationHandler {
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

    /// Returns the [`Notify`] that a transport uses to report a failed connection.
    pub(crate) fn suspicion_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.suspicion)
    }

    /// Waits until a request has failed.
    pub(crate) async fn wait_for_suspicion(&self) {
        self.suspicion.notified().await;
    }

    /// Waits until the server announces a changed tool list.
    pub(crate) async fn wait_for_tool_change(&self) {
        self.tools_changed.notified().await;
    }

    /// Publishes a notification to clients. If the event queue is full, the notification is
    /// dropped, so that the server's other messages are not delayed.
    fn publish(&self, method: &str, params: Object) {
        let said = McpEvent::ServerNotified {
            server: self.server.clone(),
            method: method.to_owned(),
            params,
        };
        if self.events.try_send((self.session.clone(), said)).is_err() {
            tracing::debug!(server = %self.server, method, "dropped a notification of an MCP server: the event queue is full");
        }
    }
}

/// Converts a value of `rmcp` to its JSON object.
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
                    tracing::debug!("progress not sent: the agent has disconnected");
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
