//! What an agent can do at the gateway: list tools, and call them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tool_servers::{ServerTool, ToolEvent, ToolTicket};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use rmcp::model::{
    CallToolRequestParams, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::answers::{answer, failure};
use super::super::challenge::Challenge;
use super::super::link::{LinkError, Listener};
use super::super::metadata::{Shown, requirement};
use super::super::room::{By, Door, Room, Standing};
use super::super::servers::Shared;

/// How long a tool of a server may take. Agents give up long before.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Most calls of an agent at once. More are refused.
const CALLS: usize = 256;

/// When an agent came.
pub(super) struct Came {
    /// How often the host had told what clients offer.
    pub(super) told: u64,
    /// How long it waits for servers that start.
    pub(super) until: Instant,
}

/// Serves the agent of one chat.
pub(super) struct Counter {
    pub(super) shared: Arc<Shared>,
    pub(super) room: Arc<Room>,
    pub(super) chat: Uri,
    came: Came,
    /// Cancelled when the agent is gone, or its session is over.
    gone: CancellationToken,
    /// How many calls the agent can still make.
    room_for_calls: Semaphore,
}

/// A call of a client's tool that somebody waits for. Dropped before it is
/// answered, the host hears that nobody does any more.
struct Waiting {
    shared: Arc<Shared>,
    room: Arc<Room>,
    call: ToolTicket,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.room.forget(self.call) {
            return;
        }
        let (shared, session) = (Arc::clone(&self.shared), self.room.session.clone());
        let abandoned = ToolEvent::Abandoned { call: self.call };
        self.shared.tasks.spawn(async move {
            shared.tell(&session, abandoned).await;
        });
    }
}

impl Counter {
    /// Serves the agent of a chat.
    pub(super) fn new(
        shared: Arc<Shared>,
        room: Arc<Room>,
        chat: Uri,
        came: Came,
        gone: CancellationToken,
    ) -> Self {
        Counter {
            shared,
            room,
            chat,
            came,
            gone,
            room_for_calls: Semaphore::new(CALLS),
        }
    }

    /// The tools. Whoever has just come waits a little for servers that start;
    /// what comes later is told, but not all agents listen.
    async fn list(&self) -> Json {
        let settled = self.room.settled(self.came.told);
        // What is there by then is what there is.
        drop(tokio::time::timeout_at(self.came.until, settled).await);
        let (offer, allowed) = (self.room.offer(), self.room.allowed(&self.chat));
        let tools = offer.iter().filter(|tool| allowed.includes(tool));
        let tools: Vec<_> = tools.map(|tool| &tool.definition).collect();
        json!({ "tools": tools })
    }

    async fn call(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Json, ErrorData> {
        let offer = self.room.offer();
        let name = params.name.as_ref();
        let Some(tool) = offer.iter().find(|tool| tool.name == name) else {
            let reason = "there is no tool of this name";
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, reason, None));
        };
        if !self.room.allowed(&self.chat).includes(tool) {
            return Ok(failure(
                "the custom agent that answers here may not use this tool",
            ));
        }
        let Ok(_call) = self.room_for_calls.try_acquire() else {
            return Ok(failure("too many calls at once"));
        };
        let arguments = params.arguments.unwrap_or_default();
        let cancel = context.ct.clone();
        let calling = async {
            if let Err(reason) = self.ask_leave(&tool.name, &arguments).await {
                return Ok(failure(&reason));
            }
            match &tool.by {
                By::Client => self.call_client(&tool.name, arguments).await,
                By::Server(tool) => self.call_server(tool, arguments, context).await,
            }
        };
        let called = async {
            tokio::select! {
                answer = calling => answer,
                // A cancelled call is not answered; who is gone hears nothing.
                () = cancel.cancelled() => Ok(failure("cancelled")),
            }
        };
        match self.gone.run_until_cancelled(called).await {
            Some(answer) => answer,
            None => Ok(failure("the session is over")),
        }
    }

    async fn call_client(&self, tool: &str, arguments: Object) -> Result<Json, ErrorData> {
        let call = self.shared.next_call();
        let answered = self.room.wait_for(call);
        let _waiting = Waiting {
            shared: Arc::clone(&self.shared),
            room: Arc::clone(&self.room),
            call,
        };
        let called = ToolEvent::Called {
            chat: self.chat.clone(),
            call,
            tool: tool.to_owned(),
            input: Json::Object(arguments).to_string(),
        };
        self.shared.tell(&self.room.session, called).await;
        Ok(match answered.await {
            Ok(result) => answer(&result),
            Err(_) => failure("the call was not answered"),
        })
    }

    async fn call_server(
        &self,
        tool: &ServerTool,
        arguments: Object,
        context: RequestContext<RoleServer>,
    ) -> Result<Json, ErrorData> {
        let Some(standing) = self.room.standing(&tool.server) else {
            return Ok(failure("the server of this tool does not run"));
        };
        // It may be another one when the server has answered.
        let door = standing.door.as_ref();
        let shown = door.and_then(|door| door.bearer.shown());
        let refused = shown.map_or(0, |given| given.number);
        let (challenge, door) = match self.ask(&standing, tool, arguments.clone(), &context).await {
            Err(LinkError::Challenged(challenge)) => match standing.door {
                Some(door) => (challenge, door),
                None => return Ok(failure("the tool needs a token")),
            },
            other => return told(other),
        };
        let waiting = self.wait_for_token(tool, &challenge, &door, refused);
        let within = self.shared.config.token_within;
        let Ok(standing) = tokio::time::timeout(within, waiting).await else {
            return Ok(failure("the tool needs a token, and nobody gave one"));
        };
        let goes_on = ToolEvent::CallHasToken {
            chat: self.chat.clone(),
            tool: tool.name.clone(),
        };
        self.shared.tell(&self.room.session, goes_on).await;
        told(self.ask(&standing, tool, arguments, &context).await)
    }

    /// Asks a server to do something.
    async fn ask(
        &self,
        standing: &Standing,
        tool: &ServerTool,
        arguments: Object,
        context: &RequestContext<RoleServer>,
    ) -> Result<Json, LinkError> {
        let mut params = Object::new();
        params.insert("name".to_owned(), Json::from(tool.own_name.as_str()));
        params.insert("arguments".to_owned(), Json::Object(arguments));
        if !context.meta.is_empty() {
            let meta = serde_json::to_value(&context.meta).unwrap_or_default();
            params.insert("_meta".to_owned(), meta);
        }
        let listener = match context.meta.get_progress_token() {
            Some(token) => Listener::Agent(context.peer.clone(), token),
            None => Listener::Nobody,
        };
        // A call ends with its request, and that with the agent. This future is
        // dropped then, so the server has to hear of it from somebody else.
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let link = standing.link.clone();
        let asking = self.shared.tasks.spawn(async move {
            link.request("tools/call", params, listener, PATIENCE, &ended)
                .await
        });
        let answer = asking.await;
        drop(end);
        answer.unwrap_or(Err(LinkError::Gone))
    }

    /// Tells that a call needs a token, and waits until there is one, and the
    /// server runs with it.
    async fn wait_for_token(
        &self,
        tool: &ServerTool,
        challenge: &Challenge,
        door: &Door,
        refused: u64,
    ) -> Standing {
        let shown = match door.bearer.shown() {
            Some(_) => Shown::Token,
            None => Shown::Nothing,
        };
        let needed = requirement(&self.shared.client, &door.url, challenge, shown).await;
        let resource = needed.resource.resource.clone();
        let needs = ToolEvent::CallNeedsToken {
            chat: self.chat.clone(),
            tool: tool.name.clone(),
            requirement: Box::new(needed),
        };
        self.shared.tell(&self.room.session, needs).await;
        let (tokens, session) = (&self.shared.tokens, &self.room.session);
        let given = tokens.other_than(session, &resource, refused).await;
        let standing = self.room.stands(&tool.server).await;
        if let Some(door) = &standing.door {
            door.bearer.show(Some(given));
        }
        standing
    }
}

/// What an agent hears of what a server answered.
fn told(answer: Result<Json, LinkError>) -> Result<Json, ErrorData> {
    match answer {
        Ok(result) => Ok(result),
        Err(LinkError::Refused(error)) => Err(error),
        Err(error) => Ok(failure(&error.to_string())),
    }
}

impl Service<RoleServer> for Counter {
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
            ClientRequest::ListToolsRequest(_) => self.list().await,
            ClientRequest::CallToolRequest(call) => self.call(call.params, context).await?,
            other => {
                let method = other.method();
                // One that is served, but with something else than it takes.
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
        // Cancellations are seen to before they come here.
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
