//! What a session has: servers that run, tools, calls that wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agenthost_core::agent::ClientTool;
use agenthost_core::tool_servers::{ServerTool, ToolTicket};
use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json, Object};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::allowed::{Allowed, as_ours, names_of};
use super::forwards::Forwards;
use super::guard::Guard;
use super::http::Bearer;
use super::link::Link;
use super::names::Names;
use super::tools::OwnTool;

/// A session, as far as tools go.
pub(super) struct Room {
    /// The session.
    pub(super) session: Uri,
    state: Mutex<State>,
    /// Counts changes of what there is.
    version: watch::Sender<u64>,
    /// The last of them that the host has heard of.
    told: watch::Sender<u64>,
    /// Whether all is there that will be soon.
    settling: watch::Sender<Settling>,
    /// Who has to agree to calls.
    pub(super) guard: Guard,
    /// Cancelled when the session is over.
    pub(super) over: CancellationToken,
}

/// What an agent that comes for tools has to wait for.
#[derive(Default)]
struct Settling {
    /// How often the host has told what clients offer. It does so after it has
    /// had servers started.
    told: u64,
    /// Servers that start.
    starting: BTreeSet<CustomizationId>,
}

#[derive(Default)]
struct State {
    servers: BTreeMap<CustomizationId, Standing>,
    client_tools: Vec<ClientTool>,
    offer: Arc<Vec<Offered>>,
    /// What the agents of chats may use, where that is not all.
    allowed: BTreeMap<Uri, Allowed>,
    calls: BTreeMap<ToolTicket, oneshot::Sender<Box<ToolCallResult>>>,
}

/// A server that runs.
#[derive(Clone)]
pub(super) struct Standing {
    /// Its name.
    pub(super) name: String,
    /// How it is reached.
    pub(super) link: Link,
    /// What clients have said to it and wait for.
    pub(super) forwards: Arc<Forwards>,
    /// Where tokens for it are shown, if it is one that takes some.
    pub(super) door: Option<Door>,
    /// Its tools.
    pub(super) tools: Vec<OwnTool>,
}

/// Where a server takes tokens.
#[derive(Clone)]
pub(super) struct Door {
    /// Its address.
    pub(super) url: reqwest::Url,
    /// The token that is shown.
    pub(super) bearer: Bearer,
}

/// A tool that agents of the session can call.
#[derive(Debug, PartialEq)]
pub(super) struct Offered {
    /// What they call it.
    pub(super) name: String,
    /// What a list of tools that may be used can call it.
    pub(super) known_as: Vec<String>,
    /// What they get to know of it.
    pub(super) definition: Json,
    /// Who carries it out.
    pub(super) by: By,
}

/// Who carries a tool out.
#[derive(Debug, PartialEq)]
pub(super) enum By {
    /// A server.
    Server(ServerTool),
    /// A client of the session.
    Client,
}

impl Room {
    /// A session with nothing in it.
    pub(super) fn new(session: Uri, over: CancellationToken) -> Self {
        Room {
            session,
            state: Mutex::default(),
            version: watch::Sender::new(0),
            told: watch::Sender::new(0),
            settling: watch::Sender::default(),
            guard: Guard::default(),
            over,
        }
    }

    /// A server starts.
    pub(super) fn begin(&self, server: &CustomizationId) {
        self.settling.send_modify(|settling| {
            settling.starting.insert(server.clone());
        });
    }

    /// A server runs, or will not for now.
    pub(super) fn settle(&self, server: &CustomizationId) {
        self.settling
            .send_if_modified(|settling| settling.starting.remove(server));
    }

    /// How often the host has told what clients offer.
    pub(super) fn times_told(&self) -> u64 {
        self.settling.borrow().told
    }

    /// Waits until the host has told again what clients offer, and no server
    /// starts any more.
    pub(super) async fn settled(&self, since: u64) {
        let mut settling = self.settling.subscribe();
        let settled =
            settling.wait_for(|settling| settling.told > since && settling.starting.is_empty());
        // The sender lives as long as this does.
        drop(settled.await);
    }

    /// A server runs, or has other tools now.
    pub(super) fn enter(&self, server: &CustomizationId, standing: Standing) {
        let mut state = self.lock();
        state.servers.insert(server.clone(), standing);
        self.changed(state);
    }

    /// A server does not run any more.
    pub(super) fn leave(&self, server: &CustomizationId) {
        let mut state = self.lock();
        if state.servers.remove(server).is_some() {
            self.changed(state);
        }
    }

    /// Clients carry out these tools, and no others.
    pub(super) fn set_client_tools(&self, tools: Vec<ClientTool>) {
        let mut state = self.lock();
        if state.client_tools != tools {
            state.client_tools = tools;
            self.changed(state);
        } else {
            drop(state);
        }
        self.settling.send_modify(|settling| {
            settling.told = settling.told.saturating_add(1);
        });
    }

    /// The agent of a chat may use what a list names; without one, all.
    pub(super) fn allow(&self, chat: &Uri, tools: Option<Vec<String>>) {
        let mut state = self.lock();
        match tools {
            Some(tools) => state.allowed.insert(chat.clone(), Allowed::these(tools)),
            None => state.allowed.remove(chat),
        };
        self.changed(state);
    }

    /// What the agent of a chat may use.
    pub(super) fn allowed(&self, chat: &Uri) -> Allowed {
        let allowed = self.lock().allowed.get(chat).cloned();
        allowed.unwrap_or_default()
    }

    /// All tools that agents can call.
    pub(super) fn offer(&self) -> Arc<Vec<Offered>> {
        Arc::clone(&self.lock().offer)
    }

    /// A server that runs.
    pub(super) fn standing(&self, server: &CustomizationId) -> Option<Standing> {
        self.lock().servers.get(server).cloned()
    }

    /// Waits until a server runs.
    pub(super) async fn stands(&self, server: &CustomizationId) -> Standing {
        let mut version = self.version.subscribe();
        loop {
            if let Some(standing) = self.standing(server) {
                return standing;
            }
            if version.changed().await.is_err() {
                // Whoever waits here holds the sender, so it can't be gone.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Hears of every change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The host has heard of all changes up to this.
    pub(super) fn mark_told(&self, version: u64) {
        self.told
            .send_if_modified(|told| std::mem::replace(told, version) != version);
    }

    /// Hears of all that the host has heard of.
    pub(super) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// Waits until the host has heard of all that has changed so far, or the
    /// session is over.
    pub(super) async fn until_told(&self) {
        let version = *self.version.borrow();
        let mut told = self.told.subscribe();
        let heard = told.wait_for(|told| *told >= version);
        // The sender lives as long as this does.
        drop(self.over.run_until_cancelled(heard).await);
    }

    /// A call of a client's tool waits for its answer.
    pub(super) fn wait_for(&self, call: ToolTicket) -> oneshot::Receiver<Box<ToolCallResult>> {
        let (sender, receiver) = oneshot::channel();
        self.lock().calls.insert(call, sender);
        receiver
    }

    /// Nobody waits for a call any more. Says whether somebody did.
    pub(super) fn forget(&self, call: ToolTicket) -> bool {
        self.lock().calls.remove(&call).is_some()
    }

    /// Hands an answer to who waits for it; back, if nobody does here.
    pub(super) fn answer(
        &self,
        call: ToolTicket,
        result: Box<ToolCallResult>,
    ) -> Option<Box<ToolCallResult>> {
        match self.lock().calls.remove(&call) {
            Some(waiting) => waiting.send(result).err(),
            None => Some(result),
        }
    }

    fn changed(&self, mut state: MutexGuard<'_, State>) {
        let offer = offer(&state);
        state.offer = Arc::new(offer);
        drop(state);
        self.version
            .send_modify(|version| *version = version.saturating_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tools of servers in an offer.
pub(super) fn server_tools(offer: &[Offered]) -> Vec<ServerTool> {
    let of_servers = offer.iter().filter_map(|offered| match &offered.by {
        By::Server(tool) => Some(tool.clone()),
        By::Client => None,
    });
    of_servers.collect()
}

fn offer(state: &State) -> Vec<Offered> {
    let mut names = Names::default();
    let mut offer = Vec::new();
    for tool in &state.client_tools {
        names.reserve(&tool.name);
        offer.push(Offered {
            name: tool.name.clone(),
            known_as: vec![
                tool.name.clone(),
                tool.definition.name.clone(),
                as_ours(&tool.name),
            ],
            definition: client_tool(tool),
            by: By::Client,
        });
    }
    for (id, standing) in &state.servers {
        for own in standing.tools.iter().filter(|own| own.is_for_models()) {
            let name = names.name(&standing.name, &own.name);
            let mut definition = own.definition.clone();
            definition.insert("name".to_owned(), Json::from(name.as_str()));
            let tool = ServerTool {
                server: id.clone(),
                name: name.clone(),
                own_name: own.name.clone(),
                title: own.title.clone(),
                description: own.description(),
                ui: own.ui.clone(),
            };
            offer.push(Offered {
                known_as: names_of(&name, &standing.name, &own.name),
                name,
                definition: Json::Object(definition),
                by: By::Server(tool),
            });
        }
    }
    offer
}

/// A client's tool in the words of MCP.
fn client_tool(tool: &ClientTool) -> Json {
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
