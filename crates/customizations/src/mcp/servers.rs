//! Runs the servers of all sessions, and the gateway that their agents get.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agenthost_core::tool_servers::{ToolErrand, ToolEvent, ToolTicket};
use agenthost_core::{Principal, Token, TokenPlace};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::scratch::Scratch;
use agenthost_workspace::sweep;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::forwards;
use super::gateway::{Gateway, GatewayAddress, WebGateway};
use super::http;
use super::room::{Room, Standing, server_tools};
use super::running::{Runner, Wish};
use super::runs::{Begun, Runs};
use super::spec::McpSpec;
use super::tokens::Tokens;

/// What a server that fails is told as, for programs.
pub(super) const FAILED: &str = "mcpServerFailed";

/// How servers are run.
#[derive(Debug, Clone)]
pub struct ToolServersConfig {
    /// Where it is noted which programs run, so that the next host can end
    /// them if this one can't.
    pub notes: Option<PathBuf>,
    /// Where the socket of the gateway is made.
    pub scratch: Scratch,
    /// How long a server may take until it is ready.
    pub start_within: Duration,
    /// How long a call waits for a token that it needs.
    pub token_within: Duration,
    /// How long an agent that has just come waits for servers that start. Many
    /// ask for tools only once, but give up after ten seconds.
    pub settle_within: Duration,
}

impl Default for ToolServersConfig {
    fn default() -> Self {
        ToolServersConfig {
            notes: None,
            scratch: Scratch::default(),
            start_within: Duration::from_secs(30),
            token_within: Duration::from_secs(5 * 60),
            settle_within: Duration::from_secs(8),
        }
    }
}

/// Why no servers can be run.
#[derive(Debug, thiserror::Error)]
pub enum ToolServersError {
    /// There is no place for agents to come to.
    #[error("make a socket for agents: {0}")]
    Gateway(#[source] io::Error),
    /// Requests can't be sent.
    #[error("prepare for requests to servers: {0}")]
    Http(String),
}

/// The servers of all sessions. [`ToolServers::stop`] ends all of it; dropped,
/// all of it ends some time later.
pub struct ToolServers {
    shared: Arc<Shared>,
    runs: Arc<Runs>,
    gateway: GatewayAddress,
    web: WebGateway,
}

/// What all tasks here use.
pub(super) struct Shared {
    /// How servers are run.
    pub(super) config: ToolServersConfig,
    /// Where all that happens is told. Bounded: who tells waits.
    pub(super) events: mpsc::Sender<(Uri, ToolEvent)>,
    /// Tokens for servers.
    pub(super) tokens: Tokens,
    /// What requests go through.
    pub(super) client: reqwest::Client,
    /// Owns all tasks.
    pub(super) tasks: TaskTracker,
    /// Cancelled when all of it is to end.
    pub(super) stopping: CancellationToken,
    rooms: Mutex<BTreeMap<Uri, Arc<Room>>>,
    calls: AtomicU64,
}

impl ToolServers {
    /// Begins to serve. What happens is told through the sender: when nobody
    /// takes it, servers and calls wait, only what servers say on their own is
    /// lost.
    ///
    /// Has to be called in a runtime.
    ///
    /// # Errors
    ///
    /// If there is no place for a socket, or requests can't be sent.
    pub fn new(
        config: ToolServersConfig,
        events: mpsc::Sender<(Uri, ToolEvent)>,
    ) -> Result<Self, ToolServersError> {
        if let Some(notes) = &config.notes {
            sweep(notes);
        }
        let shared = Arc::new(Shared {
            config,
            events,
            tokens: Tokens::default(),
            client: http::client().map_err(|error| ToolServersError::Http(error.to_string()))?,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            rooms: Mutex::default(),
            calls: AtomicU64::new(1),
        });
        let gateway = Gateway::open(&shared.config.scratch).map_err(ToolServersError::Gateway)?;
        let address = gateway.address();
        shared.tasks.spawn(gateway.serve(Arc::clone(&shared)));
        Ok(ToolServers {
            web: WebGateway::new(Arc::clone(&shared), address.clone()),
            shared,
            runs: Arc::default(),
            gateway: address,
        })
    }

    /// Where agents find the tools of their session.
    pub fn gateway(&self) -> &GatewayAddress {
        &self.gateway
    }

    /// Where agents that want HTTP find them.
    pub fn web_gateway(&self) -> &WebGateway {
        &self.web
    }

    /// Does what the host wants. How a server that is to be started is
    /// reached, the caller knows.
    pub fn errand(
        &self,
        errand: ToolErrand,
        spec: impl FnOnce(&Uri, &CustomizationId) -> Option<McpSpec>,
    ) {
        match errand {
            ToolErrand::Start {
                session, server, ..
            } => match spec(&session, &server) {
                Some(spec) => self.start(&session, &server, spec),
                None => {
                    let error = ErrorInfo::new(FAILED, "there is no such server");
                    self.tell(session, ToolEvent::Failed { server, error });
                }
            },
            ToolErrand::Stop { session, server } => {
                if !self
                    .runs
                    .wish((session.clone(), server.clone()), Wish::Stop)
                {
                    self.tell(session, ToolEvent::Stopped { server });
                }
            }
            ToolErrand::End { session } => self.end(&session),
            ToolErrand::ClientTools { session, tools } => {
                self.shared.room(&session).set_client_tools(tools);
            }
            ToolErrand::Allow {
                session,
                chat,
                tools,
            } => self.shared.room(&session).allow(&chat, tools),
            ToolErrand::Answer { call, result } => {
                let mut result = Some(result);
                for room in self.shared.all_rooms() {
                    if let Some(given) = result.take() {
                        result = room.answer(call, given);
                    }
                }
            }
            ToolErrand::Guard { session, guard } => self.shared.room(&session).guard.set(guard),
            ToolErrand::Pass {
                session,
                call,
                verdict,
            } => {
                // Without a room nobody waits any more.
                if let Some(room) = self.shared.lock().get(&session) {
                    room.guard.pass(call, verdict);
                }
            }
            ToolErrand::Forward(asked) => {
                let shared = Arc::clone(&self.shared);
                self.shared.tasks.spawn(async move {
                    let standing = shared.standing(&asked.session, &asked.server);
                    let (connection, id) = (asked.connection, asked.id.clone());
                    let session = asked.session.clone();
                    let asking = forwards::forward(standing, &shared.client, *asked);
                    let Some(answer) = shared.stopping.run_until_cancelled(asking).await else {
                        return;
                    };
                    let answer = Box::new(answer);
                    let answered = ToolEvent::Answered {
                        connection,
                        id,
                        answer,
                    };
                    shared.tell(&session, answered).await;
                });
            }
            ToolErrand::Tell {
                session,
                server,
                method,
                params,
            } => {
                let standing = self.shared.standing(&session, &server);
                forwards::tell(standing, &method, &params);
            }
        }
    }

    /// Starts a server. One that runs by this name already ends first, without
    /// a word.
    pub fn start(&self, session: &Uri, server: &CustomizationId, spec: McpSpec) {
        let key = (session.clone(), server.clone());
        self.shared.room(session).begin(server);
        let Begun {
            wished,
            over,
            before,
        } = self.runs.begin(key.clone());
        let runner = Runner::new(
            Arc::clone(&self.shared),
            self.shared.room(session),
            server.clone(),
            spec,
            wished,
        );
        let runs = Arc::clone(&self.runs);
        self.shared.tasks.spawn(async move {
            if let Some(before) = before {
                before.cancelled().await;
            }
            let teller = runner.teller();
            let last = runner.run().await;
            if let Some(event) = last {
                teller.tell(event).await;
            }
            if runs.finished(&key, over) == Wish::Stop {
                teller.stopped().await;
            }
        });
    }

    /// Gives a token, or takes one back. Servers that wait for one go on; a
    /// server that used it shows another one, or asks again.
    pub fn token(&self, place: TokenPlace, token: Option<Token>) {
        self.shared.tokens.put(place, token);
    }

    /// Says whose tokens a session uses: that of the first who has one for a
    /// resource (AUT-13).
    pub fn tokens_of(&self, session: &Uri, principals: Vec<Principal>) {
        self.shared.tokens.use_for(session, principals);
    }

    /// Ends all of it, and waits until nothing is left.
    pub async fn stop(self) {
        let sessions: Vec<_> = self.shared.lock().keys().cloned().collect();
        for session in sessions {
            self.end(&session);
        }
        self.shared.stopping.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    fn end(&self, session: &Uri) {
        let room = self.shared.lock().remove(session);
        self.runs.leave(session);
        self.web.forget(session);
        if let Some(room) = room {
            room.over.cancel();
        }
    }

    /// Tells something in time.
    fn tell(&self, session: Uri, event: ToolEvent) {
        let shared = Arc::clone(&self.shared);
        self.shared.tasks.spawn(async move {
            shared.tell(&session, event).await;
        });
    }
}

impl Drop for ToolServers {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
    }
}

/// Leaves out what runs.
impl std::fmt::Debug for ToolServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolServers")
            .field("gateway", &self.gateway)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Tells the host something, unless all ends.
    pub(super) async fn tell(&self, session: &Uri, event: ToolEvent) {
        let settled = match &event {
            ToolEvent::Ready { server, .. }
            | ToolEvent::AuthRequired { server, .. }
            | ToolEvent::Failed { server, .. }
            | ToolEvent::Stopped { server } => Some(server.clone()),
            _ => None,
        };
        let room = self.lock().get(session).cloned();
        if let Some((room, server)) = room.zip(settled) {
            room.settle(&server);
        }
        let told = self.events.send((session.clone(), event));
        match self.stopping.run_until_cancelled(told).await {
            Some(Ok(())) | None => {}
            Some(Err(_)) => tracing::debug!("nobody hears of tools any more"),
        }
    }

    /// A session. One that was not known is, from now on.
    pub(super) fn room(self: &Arc<Self>, session: &Uri) -> Arc<Room> {
        let mut rooms = self.lock();
        if let Some(room) = rooms.get(session) {
            return Arc::clone(room);
        }
        let over = self.stopping.child_token();
        let room = Arc::new(Room::new(session.clone(), over));
        rooms.insert(session.clone(), Arc::clone(&room));
        self.tasks
            .spawn(announce(Arc::clone(self), Arc::clone(&room)));
        room
    }

    /// A server that runs.
    fn standing(&self, session: &Uri, server: &CustomizationId) -> Option<Standing> {
        self.lock().get(session)?.standing(server)
    }

    /// A number that no other call has.
    pub(super) fn next_call(&self) -> ToolTicket {
        ToolTicket(self.calls.fetch_add(1, Ordering::Relaxed))
    }

    fn all_rooms(&self) -> Vec<Arc<Room>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uri, Arc<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the host which tools the servers of a session have, whenever that
/// changes. Agents hear of it after that.
async fn announce(shared: Arc<Shared>, room: Arc<Room>) {
    let mut changes = room.changes();
    let mut told = Vec::new();
    loop {
        let version = *changes.borrow_and_update();
        let tools = server_tools(&room.offer());
        if tools != told {
            told.clone_from(&tools);
            shared.tell(&room.session, ToolEvent::Tools { tools }).await;
        }
        room.mark_told(version);
        let changed = room.over.run_until_cancelled(changes.changed()).await;
        if !matches!(changed, Some(Ok(()))) {
            break;
        }
    }
}
