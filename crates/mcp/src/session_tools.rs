//! What a session has: servers that run, tools, calls that wait.

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

/// A session, as far as tools go.
pub(super) struct SessionTools {
    /// The session.
    pub(super) session: Uri,
    state: Mutex<SessionToolsState>,
    /// Counts changes of what there is.
    version: watch::Sender<u64>,
    /// The last of them that the host has heard of.
    published: watch::Sender<u64>,
    /// Whether all is there that will be soon.
    startup: watch::Sender<StartupProgress>,
    /// Who has to agree to calls.
    pub(super) call_gate: CallGate,
    /// Cancelled when the session is over.
    pub(super) over: CancellationToken,
}

/// What an agent that comes for tools has to wait for.
#[derive(Default)]
struct StartupProgress {
    /// How often the host has told what clients offer. It does so after it has
    /// had servers started.
    publish_count: u64,
    /// Servers that start.
    starting: BTreeSet<CustomizationId>,
}

#[derive(Default)]
struct SessionToolsState {
    servers: BTreeMap<CustomizationId, RunningServer>,
    client_tools: Vec<ClientTool>,
    offered_tools: Arc<Vec<OfferedTool>>,
    /// What the agents of chats may use, where that is not all.
    tool_filters: BTreeMap<Uri, ToolFilter>,
    calls: BTreeMap<GatewayCallId, oneshot::Sender<Box<ToolCallResult>>>,
}

/// A server that runs.
#[derive(Clone)]
pub(super) struct RunningServer {
    /// Its name.
    pub(super) name: String,
    /// How it is reached.
    pub(super) handle: ServerHandle,
    /// What clients have said to it and wait for.
    pub(super) forwarded_requests: Arc<ForwardedRequests>,
    /// Where tokens for it are shown, if it is one that takes some.
    pub(super) auth: Option<AuthEndpoint>,
    /// Its tools.
    pub(super) tools: Vec<ListedTool>,
}

/// Where a server takes tokens.
#[derive(Clone)]
pub(super) struct AuthEndpoint {
    /// Its address.
    pub(super) url: reqwest::Url,
    /// The token that is shown.
    pub(super) bearer: BearerToken,
}

/// A tool that agents of the session can call.
#[derive(Debug, PartialEq)]
pub(super) struct OfferedTool {
    /// What they call it.
    pub(super) name: String,
    /// What a list of tools that may be used can call it.
    pub(super) aliases: Vec<String>,
    /// What they get to know of it.
    pub(super) definition: Json,
    /// Who carries it out.
    pub(super) provider: ToolProvider,
}

/// Who carries a tool out.
#[derive(Debug, PartialEq)]
pub(super) enum ToolProvider {
    /// A server.
    Server(McpTool),
    /// A client of the session.
    Client,
}

impl SessionTools {
    /// A session with nothing in it.
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

    /// A server starts.
    pub(super) fn mark_starting(&self, server: &CustomizationId) {
        self.startup.send_modify(|settling| {
            settling.starting.insert(server.clone());
        });
    }

    /// A server runs, or will not for now.
    pub(super) fn mark_started(&self, server: &CustomizationId) {
        self.startup
            .send_if_modified(|settling| settling.starting.remove(server));
    }

    /// How often the host has told what clients offer.
    pub(super) fn publish_count(&self) -> u64 {
        self.startup.borrow().publish_count
    }

    /// Waits until the host has told again what clients offer, and no server
    /// starts any more.
    pub(super) async fn wait_started(&self, since: u64) {
        let mut settling = self.startup.subscribe();
        let settled = settling
            .wait_for(|settling| settling.publish_count > since && settling.starting.is_empty());
        // The sender lives as long as this does.
        settled.await.ignore_infallible();
    }

    /// A server runs, or has other tools now.
    pub(super) fn insert_server(&self, server: &CustomizationId, running: RunningServer) {
        let mut state = self.lock();
        state.servers.insert(server.clone(), running);
        self.notify_changed(state);
    }

    /// A server does not run any more.
    pub(super) fn remove_server(&self, server: &CustomizationId) {
        let mut state = self.lock();
        if state.servers.remove(server).is_some() {
            self.notify_changed(state);
        }
    }

    /// Clients carry out these tools, and no others.
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

    /// The agent of a chat may use what a list names; without one, all.
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

    /// What the agent of a chat may use.
    pub(super) fn tool_filter(&self, chat: &Uri) -> ToolFilter {
        let allowed = self.lock().tool_filters.get(chat).cloned();
        allowed.unwrap_or_default()
    }

    /// All tools that agents can call.
    pub(super) fn offered_tools(&self) -> Arc<Vec<OfferedTool>> {
        Arc::clone(&self.lock().offered_tools)
    }

    /// A server that runs.
    pub(super) fn running_server(&self, server: &CustomizationId) -> Option<RunningServer> {
        self.lock().servers.get(server).cloned()
    }

    /// Waits until a server runs.
    pub(super) async fn wait_for_server(&self, server: &CustomizationId) -> RunningServer {
        let mut version = self.version.subscribe();
        loop {
            if let Some(standing) = self.running_server(server) {
                return standing;
            }
            if version.changed().await.is_err() {
                // Whoever waits here holds the sender, so it can't be gone.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Hears of every change.
    pub(super) fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The host has heard of all changes up to this.
    pub(super) fn mark_published(&self, version: u64) {
        self.published
            .send_if_modified(|told| std::mem::replace(told, version) != version);
    }

    /// Hears of all that the host has heard of.
    pub(super) fn subscribe_published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// Waits until the host has heard of all that has changed so far, or the
    /// session is over.
    pub(super) async fn wait_published(&self) {
        let version = *self.version.borrow();
        let mut told = self.published.subscribe();
        let heard = told.wait_for(|told| *told >= version);
        // The sender lives as long as this does.
        let waited = self.over.run_until_cancelled(heard).await;
        waited.transpose().ignore_infallible();
    }

    /// A call of a client's tool waits for its answer.
    pub(super) fn register_call(
        &self,
        call: GatewayCallId,
    ) -> oneshot::Receiver<Box<ToolCallResult>> {
        let (sender, receiver) = oneshot::channel();
        self.lock().calls.insert(call, sender);
        receiver
    }

    /// Nobody waits for a call any more. Says whether somebody did.
    pub(super) fn remove_call(&self, call: GatewayCallId) -> bool {
        self.lock().calls.remove(&call).is_some()
    }

    /// Hands an answer to who waits for it; back, if nobody does here.
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

/// The tools of servers in an offer.
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

/// A client's tool in the words of MCP.
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
