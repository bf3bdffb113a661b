//! A server that runs, as others use it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agenthost_core::tool_servers::ToolEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
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

use super::challenge::Challenge;
use super::seal::open;

/// How many notes of progress can be on their way to agents.
const PASSING: usize = 64;

/// Why a server did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    /// It said so itself.
    #[error("{}", .0.message)]
    Refused(ErrorData),
    /// It wants a token.
    #[error("the server wants a token")]
    Challenged(Challenge),
    /// Nobody waits for it any more.
    #[error("cancelled")]
    Cancelled,
    /// It took too long.
    #[error("the server did not answer in time")]
    Silent,
    /// It can't be reached.
    #[error("the server can't be reached")]
    Gone,
}

/// A server that runs.
#[derive(Clone)]
pub(super) struct Link {
    peer: Peer<RoleClient>,
    listeners: Arc<Listeners>,
    /// Somebody could not reach it, or its token was refused: whoever runs it
    /// should have a look.
    doubt: Arc<Notify>,
}

/// Who wants to hear how far a request has got.
#[derive(Clone)]
pub(super) enum Listener {
    /// Nobody.
    Nobody,
    /// An agent, by the name that it gave the request.
    Agent(Peer<RoleServer>, ProgressToken),
    /// All clients that can hear of it, by the name that one of them gave it.
    Clients(ProgressToken),
}

impl Link {
    /// The server at the other end.
    pub(super) fn new(peer: Peer<RoleClient>, ears: &Ears) -> Self {
        Link {
            peer,
            listeners: Arc::clone(&ears.listeners),
            doubt: Arc::clone(&ears.doubt),
        }
    }

    /// What the server says it can do.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        capabilities(&self.peer)
    }

    /// Asks for something, and says what came back, as it came. When it is
    /// cancelled, or takes too long, the server hears of it.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Object,
        listener: Listener,
        patience: Duration,
        cancel: &CancellationToken,
    ) -> Result<Json, LinkError> {
        let request = CustomRequest::new(method, Some(Json::Object(params)));
        let request = ClientRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|error| self.failed(error))?;
        let _heard = self
            .listeners
            .listen(handle.progress_token.clone(), listener);
        let (why, error) = tokio::select! {
            answer = &mut handle.rx => {
                return match answer {
                    Ok(Ok(result)) => Ok(open(&result)),
                    Ok(Err(error)) => Err(self.failed(error)),
                    Err(_) => Err(LinkError::Gone),
                };
            }
            () = cancel.cancelled() => ("nobody waits for it", LinkError::Cancelled),
            () = tokio::time::sleep(patience) => ("it takes too long", LinkError::Silent),
        };
        if handle.cancel(Some(why.to_owned())).await.is_err() {
            tracing::debug!("a server that is gone was not told of a cancellation");
        }
        Err(error)
    }

    fn failed(&self, error: ServiceError) -> LinkError {
        match error {
            ServiceError::McpError(error) => LinkError::Refused(error),
            ServiceError::Cancelled { .. } => LinkError::Cancelled,
            ServiceError::Timeout { .. } => LinkError::Silent,
            ServiceError::TransportSend(error) => {
                self.doubt.notify_one();
                match Challenge::behind(error.error.as_ref()) {
                    Some(challenge) => LinkError::Challenged(challenge),
                    None => LinkError::Gone,
                }
            }
            _ => LinkError::Gone,
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
struct Listeners(Mutex<HashMap<ProgressToken, Listener>>);

impl Listeners {
    fn listen(self: &Arc<Self>, token: ProgressToken, listener: Listener) -> Listening {
        self.lock().insert(token.clone(), listener);
        Listening {
            listeners: Arc::clone(self),
            token,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Listener>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody listens, until this is dropped.
struct Listening {
    listeners: Arc<Listeners>,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listeners.lock().remove(&self.token);
    }
}

/// Hears what a server says on its own.
#[derive(Clone)]
pub(super) struct Ears {
    session: Uri,
    server: CustomizationId,
    events: mpsc::Sender<(Uri, ToolEvent)>,
    listeners: Arc<Listeners>,
    doubt: Arc<Notify>,
    tools_changed: Arc<Notify>,
    /// How much can be on its way to agents. What is more is lost: an agent
    /// that does not listen must not keep what a server tells of.
    passing: Arc<Semaphore>,
}

impl Ears {
    /// Ears for a server of a session.
    pub(super) fn new(
        session: Uri,
        server: CustomizationId,
        events: mpsc::Sender<(Uri, ToolEvent)>,
    ) -> Self {
        Ears {
            session,
            server,
            events,
            listeners: Arc::default(),
            doubt: Arc::default(),
            tools_changed: Arc::default(),
            passing: Arc::new(Semaphore::new(PASSING)),
        }
    }

    /// Where it is told that the server could not be reached.
    pub(super) fn doubts(&self) -> Arc<Notify> {
        Arc::clone(&self.doubt)
    }

    /// Waits until somebody could not reach the server.
    pub(super) async fn doubt(&self) {
        self.doubt.notified().await;
    }

    /// Waits until the server says that it has other tools.
    pub(super) async fn tools_changed(&self) {
        self.tools_changed.notified().await;
    }

    /// Passes something on to clients. A server that says more than anybody
    /// takes is not waited for: what does not fit is lost.
    fn say(&self, method: &str, params: Object) {
        let said = ToolEvent::Said {
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
fn object(value: &impl serde::Serialize) -> Object {
    match serde_json::to_value(value) {
        Ok(Json::Object(object)) => object,
        Ok(_) | Err(_) => Object::new(),
    }
}

#[expect(deprecated, reason = "apps still get what servers log (MCP-13)")]
impl ClientHandler for Ears {
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
            Some(Listener::Agent(agent, token)) => {
                let Ok(_passing) = self.passing.try_acquire() else {
                    return;
                };
                params.progress_token = token;
                if agent.notify_progress(params).await.is_err() {
                    tracing::debug!("an agent that is gone hears nothing of progress");
                }
            }
            Some(Listener::Clients(token)) => {
                params.progress_token = token;
                self.say("notifications/progress", object(&params));
            }
            Some(Listener::Nobody) | None => {}
        }
    }

    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        if capabilities(&context.peer).logging.is_some() {
            self.say("notifications/message", object(&params));
        }
    }

    async fn on_resource_list_changed(&self, context: NotificationContext<RoleClient>) {
        let resources = capabilities(&context.peer).resources;
        if resources.is_some_and(|resources| resources.list_changed == Some(true)) {
            self.say("notifications/resources/list_changed", Object::new());
        }
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
        let tools = capabilities(&context.peer).tools;
        if tools.is_some_and(|tools| tools.list_changed == Some(true)) {
            self.say("notifications/tools/list_changed", Object::new());
        }
    }
}
