//! State of one session: running servers, offered tools and pending calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use agenthost_core::agent::ClientTool;
use agenthost_core::tools::mcp::driver::{GatewayCallId, McpTool};
use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::app_requests::ForwardedRequests;
use super::gateway::call_gate::CallGate;
use super::gateway::tool_names::ToolNames;
use super::server::handle::ServerHandle;
use super::server::tool_list::ListedTool;
use super::tool_filter::{ToolFilter, add_gateway_prefix, tool_aliases};
use super::transport::http::BearerToken;

/// The servers, tools and pending calls of one session.
pub(super) struct SessionTools {
    pub(super) session: Uri,
    state: Mutex<SessionToolsState>,
    /// Increases with every change of the offered tools.
    version: watch::Sender<u64>,
    /// The last version that was sent to the host.
    published: watch::Sender<u64>,
    /// Progress of the session's start, for agents that wait for the tool list.
    startup: watch::Sender<StartupProgress>,
    /// Approval of gateway calls by hooks.
    pub(super) call_gate: CallGate,
    /// Cancelled when the session ends.
    pub(super) over: CancellationToken,
}

/// The conditions for which a new agent waits before it gets a tool list.
#[derive(Default)]
struct StartupProgress {
    /// Number of client tool lists that the host has published. The host publishes one after it
    /// has started the session's servers.
    publish_count: u64,
    starting: BTreeSet<CustomizationId>,
}

#[derive(Default)]
struct SessionToolsState {
    servers: BTreeMap<CustomizationId, RunningServer>,
    client_tools: Vec<ClientTool>,
    offered_tools: Arc<Vec<OfferedTool>>,
    /// Filters of the chats that may not use all tools.
    tool_filters: BTreeMap<Uri, ToolFilter>,
    calls: BTreeMap<GatewayCallId, oneshot::Sender<Box<ToolCallResult>>>,
}

/// A connected server with its tools.
#[derive(Clone)]
pub(super) struct RunningServer {
    pub(super) name: String,
    pub(super) handle: ServerHandle,
    /// Pending requests of clients to this server.
    pub(super) forwarded_requests: Arc<ForwardedRequests>,
    /// Endpoint for tokens, `None` for servers with pipes.
    pub(super) auth: Option<AuthEndpoint>,
    pub(super) tools: Vec<ListedTool>,
}

/// The URL and the bearer token of an HTTP server.
#[derive(Clone)]
pub(super) struct AuthEndpoint {
    pub(super) url: reqwest::Url,
    pub(super) bearer: BearerToken,
}

/// A tool that the agents of the session can call.
#[derive(Debug, PartialEq)]
pub(super) struct OfferedTool {
    /// Name of the tool for agents.
    pub(super) name: String,
    /// Names by which a tool filter may refer to it.
    pub(super) aliases: Vec<String>,
    /// Definition in the tool list for agents.
    pub(super) definition: Json,
    pub(super) provider: ToolProvider,
}

/// The executor of a tool.
#[derive(Debug, PartialEq)]
pub(super) enum ToolProvider {
    /// An MCP server of the session.
    Server(McpTool),
    /// A client of the session.
    Client,
}

impl SessionTools {
    pub(super) fn new(session: Uri, over: CancellationToken) -> Self {
        SessionTools {
            session,
            state: Mutex::default(),
            version: watch::Sender::new(0),
            published: watch::Sender::new(0),
            startup: watch::Sender::default(),
            call_gate: CallGate::default(),
            over,
        }
    }

    pub(super) fn mark_starting(&self, server: &CustomizationId) {
        self.startup.send_modify(|settling| {
            settling.starting.insert(server.clone());
        });
    }

    /// Records that a server is ready, failed, stopped or requires a token.
    pub(super) fn mark_started(&self, server: &CustomizationId) {
        self.startup
            .send_if_modified(|settling| settling.starting.remove(server));
    }

    /// Returns the number of client tool lists that the host has published.
    pub(super) fn publish_count(&self) -> u64 {
        self.startup.borrow().publish_count
    }

    /// Waits until the host has published client tools again and no server is starting.
    pub(super) async fn wait_started(&self, since: u64) {
        let mut settling = self.startup.subscribe();
        let settled = settling
            .wait_for(|settling| settling.publish_count > since && settling.starting.is_empty());
        // `self` holds the sender, so the wait can't fail.
        settled.await.ignore_infallible();
    }

    /// Inserts a server, or replaces it after its tool list has changed.
    pub(super) fn insert_server(&self, server: &CustomizationId, running: RunningServer) {
        let mut state = self.lock();
        state.servers.insert(server.clone(), running);
        self.notify_changed(state);
    }

    pub(super) fn remove_server(&self, server: &CustomizationId) {
        let mut state = self.lock();
        if state.servers.remove(server).is_some() {
            self.notify_changed(state);
        }
    }

    /// Replaces the tools that clients execute.
    pub(super) fn set_client_tools(&self, tools: Vec<ClientTool>) {
        let mut state = self.lock();
        if state.client_tools != tools {
            state.client_tools = tools;
            self.notify_changed(state);
        } else {
            drop(state);
        }
        self.startup.send_modify(|settling| {
            settling.publish_count = settling.publish_count.saturating_add(1);
        });
    }

    /// Sets the tools that a chat may use; `None` allows all.
    pub(super) fn set_tool_filter(&self, chat: &Uri, tools: Option<Vec<String>>) {
        let mut state = self.lock();
        match tools {
            Some(tools) => state
                .tool_filters
                .insert(chat.clone(), ToolFilter::only(tools)),
            None => state.tool_filters.remove(chat),
        };
        self.notify_changed(state);
    }

    /// Returns the filter for the agent of a chat.
    pub(super) fn tool_filter(&self, chat: &Uri) -> ToolFilter {
        let allowed = self.lock().tool_filters.get(chat).cloned();
        allowed.unwrap_or_default()
    }

    /// Returns all tools of the session, without the filter of a chat.
    pub(super) fn offered_tools(&self) -> Arc<Vec<OfferedTool>> {
        Arc::clone(&self.lock().offered_tools)
    }

    pub(super) fn running_server(&self, server: &CustomizationId) -> Option<RunningServer> {
        self.lock().servers.get(server).cloned()
    }

    /// Waits until a server is connected.
    pub(super) async fn wait_for_server(&self, server: &CustomizationId) -> RunningServer {
        let mut version = self.version.subscribe();
        loop {
            if let Some(standing) = self.running_server(server) {
                return standing;
            }
            if version.changed().await.is_err() {
                // Not reachable: `self` holds the sender, so the channel can't be closed here.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns a receiver of the tool version.
    pub(super) fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Records that the host has received all changes up to this version.
    pub(super) fn mark_published(&self, version: u64) {
        self.published
            .send_if_modified(|told| std::mem::replace(told, version) != version);
    }

    /// Returns a receiver of the version that the host has received.
    pub(super) fn subscribe_published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// Waits until the host has received all changes so far, or the session ends.
    pub(super) async fn wait_published(&self) {
        let version = *self.version.borrow();
        let mut told = self.published.subscribe();
        let heard = told.wait_for(|told| *told >= version);
        // `self` holds the sender, so the wait can't fail.
        let waited = self.over.run_until_cancelled(heard).await;
        waited.transpose().ignore_infallible();
    }

    /// Registers a pending call of a client tool and returns the receiver of its result.
    pub(super) fn register_call(
        &self,
        call: GatewayCallId,
    ) -> oneshot::Receiver<Box<ToolCallResult>> {
        let (sender, receiver) = oneshot::channel();
        self.lock().calls.insert(call, sender);
        receiver
    }

    /// Removes a pending call. Returns `true` if it was still pending.
    pub(super) fn remove_call(&self, call: GatewayCallId) -> bool {
        self.lock().calls.remove(&call).is_some()
    }

    /// Delivers the result of a client tool call. Returns the result if no such call is pending
    /// in this session.
    pub(super) fn complete_call(
        &self,
        call: GatewayCallId,
        result: Box<ToolCallResult>,
    ) -> Option<Box<ToolCallResult>> {
        match self.lock().calls.remove(&call) {
            Some(waiting) => waiting.send(result).err(),
            None => Some(result),
        }
    }

    fn notify_changed(&self, mut state: MutexGuard<'_, SessionToolsState>) {
        let offer = build_offered_tools(&state);
        state.offered_tools = Arc::new(offer);
        drop(state);
        self.version
            .send_modify(|version| *version = version.saturating_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, SessionToolsState> {
        lock(&self.state)
    }
}

/// Returns those of the offered tools that servers provide.
pub(super) fn server_tools(offer: &[OfferedTool]) -> Vec<McpTool> {
    let of_servers = offer.iter().filter_map(|offered| match &offered.provider {
        ToolProvider::Server(tool) => Some(tool.clone()),
        ToolProvider::Client => None,
    });
    of_servers.collect()
}

fn build_offered_tools(state: &SessionToolsState) -> Vec<OfferedTool> {
    let mut names = ToolNames::default();
    let mut offer = Vec::new();
    for tool in &state.client_tools {
        names.reserve(&tool.name);
        offer.push(OfferedTool {
            name: tool.name.clone(),
            aliases: vec![
                tool.name.clone(),
                tool.definition.name.clone(),
                add_gateway_prefix(&tool.name),
            ],
            definition: to_mcp_tool(tool),
            provider: ToolProvider::Client,
        });
    }
    for (id, running) in &state.servers {
        for own in running.tools.iter().filter(|own| own.is_for_models()) {
            let name = names.assign_name(&running.name, &own.name);
            let mut definition = own.definition.clone();
            definition.insert("name".to_owned(), Json::from(name.as_str()));
            let tool = McpTool {
                server: id.clone(),
                name: name.clone(),
                original_name: own.name.clone(),
                title: own.title.clone(),
                description: own.description(),
                ui: own.ui.clone(),
            };
            offer.push(OfferedTool {
                aliases: tool_aliases(&name, &running.name, &own.name),
                name,
                definition: Json::Object(definition),
                provider: ToolProvider::Server(tool),
            });
        }
    }
    offer
}

/// Converts the definition of a client tool to MCP.
fn to_mcp_tool(tool: &ClientTool) -> Json {
    let definition = &tool.definition;
    let mut listed = Object::from_iter([("name".to_owned(), Json::from(tool.name.as_str()))]);
    let mut add = |name: &str, value: Option<Json>| {
        listed.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("title", definition.title.clone().map(Json::from));
    add(
        "description",
        definition.description.clone().map(Json::from),
    );
    let schema = definition.input_schema.clone().filter(Json::is_object);
    let any = || json!({"type": "object"});
    add("inputSchema", Some(schema.unwrap_or_else(any)));
    let output = definition.output_schema.clone().filter(Json::is_object);
    add("outputSchema", output);
    add(
        "annotations",
        definition.annotations.as_ref().map(wire::to_json),
    );
    Json::Object(listed)
}
