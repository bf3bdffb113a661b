//! An agent that runs, for one session of the host or for several.
//!
//! Sessions that work in the same folder share a process, if the agent can let
//! go of one session without ending. Each has a line of its own to it. What the
//! agent sends is told to the line that it is for, by the name of the agent's
//! session.

pub(crate) mod launch;
pub(crate) mod router;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use agenthost_process::{ManagedChild, STDERR_DRAIN_TIMEOUT, StreamTail};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use router::{RoutingTable, TaggedCall, lock_routing, route_messages};

use super::connection::AgentCall;
use super::error::{AcpError, StartError};
use super::process_pool::launch::{AgentLaunch, spawn_agent};
use super::transport::{AgentCallError, AgentMessage, JsonRpcConnection};

/// Messages that wait for a line. When there are more, all lines wait.
const LEASE_QUEUE: usize = 64;

/// The processes of an agent that can be shared, by folder and environment.
#[derive(Default)]
pub(crate) struct ProcessPool(Mutex<BTreeMap<PoolKey, Weak<PooledProcess>>>);

type PoolKey = (PathBuf, Vec<(String, String)>);

/// Says how many: the environment may hold secrets.
impl std::fmt::Debug for ProcessPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = lock(&self.0);
        f.debug_struct("ProcessPool")
            .field("known", &known.len())
            .finish()
    }
}

/// A process and what goes to and from it.
#[derive(Debug)]
struct PooledProcess {
    process: Mutex<Option<ManagedChild>>,
    connection: JsonRpcConnection<TaggedCall>,
    /// What it complained of.
    stderr_tail: Arc<StreamTail>,
    noise: Arc<StreamTail>,
    routing: Arc<Mutex<RoutingTable>>,
    /// Tells lines what they have to hear; ends with this.
    _router: JoinSet<()>,
}

/// A way to an agent that runs. Dropped, its sessions are let go of; with the
/// last one the agent is killed.
#[derive(Debug)]
pub(crate) struct ProcessLease {
    id: u64,
    /// Only gone while this is being dropped.
    process: Option<Arc<PooledProcess>>,
}

/// What is started, and whether it may be shared.
pub(crate) struct LeaseRequest<'a> {
    pub(crate) launch: &'a AgentLaunch,
    pub(crate) folder: &'a Path,
    pub(crate) pid_dir: Option<&'a Path>,
    /// Where processes are that may be shared; none: it is for one alone.
    pub(crate) pool: Option<&'a ProcessPool>,
}

/// Where a line hears from the agent.
pub(crate) type AgentMessages = mpsc::Receiver<AgentMessage<AgentCall>>;

impl ProcessLease {
    /// Joins an agent that runs, or starts one. Whoever starts one has to ask
    /// what it can do; who joins one is told.
    pub(crate) async fn acquire(
        request: &LeaseRequest<'_>,
    ) -> Result<(Self, AgentMessages, LeaseStart), AcpError> {
        let key = || {
            let environment = request.launch.environment.clone();
            (request.folder.to_owned(), environment)
        };
        let running = request.pool.and_then(|known| known.find(&key()));
        if let Some((line, messages)) = running.and_then(ProcessLease::join) {
            return Ok((line, messages, LeaseStart::Joined));
        }
        let shared = PooledProcess::start(request).await?;
        if let Some(known) = request.pool {
            known.add(key(), &shared);
        }
        let (line, messages) = ProcessLease::join(shared).ok_or(AgentCallError::Gone)?;
        Ok((line, messages, LeaseStart::Started))
    }

    /// Joins one; `None` if it has ended, or is about to.
    fn join(shared: Arc<PooledProcess>) -> Option<(Self, AgentMessages)> {
        let (sender, messages) = mpsc::channel(LEASE_QUEUE);
        let mut routes = shared.lock_routing();
        if routes.end_reason.is_some() {
            return None;
        }
        let id = routes.next_lease;
        routes.next_lease += 1;
        if let Some(initialized) = routes.initialize_result.clone() {
            let answer = AgentMessage::Response(AgentCall::Initialize, Ok(initialized));
            // Nothing else waits yet, so there is room.
            sender.try_send(answer).ignore_infallible();
        }
        routes.leases.insert(id, sender);
        drop(routes);
        let shared = Some(shared);
        Some((
            ProcessLease {
                id,
                process: shared,
            },
            messages,
        ))
    }

    /// Asks for something. The answer comes to this line.
    pub(crate) fn call(&self, call: AgentCall, method: &str, params: &impl Serialize) {
        if let Some(shared) = &self.process {
            let line = self.id;
            shared
                .connection
                .call(TaggedCall { lease: line, call }, method, params);
        }
    }

    /// Tells it something.
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        if let Some(shared) = &self.process {
            shared.connection.notify(method, params);
        }
    }

    /// What is about a session of the agent comes to this line from now on,
    /// unless it does to another.
    pub(crate) fn claim_session(&self, session: &str) -> SessionClaim {
        let Some(shared) = &self.process else {
            return SessionClaim::Taken;
        };
        let mut routes = shared.lock_routing();
        let owner = *routes.sessions.entry(session.to_owned()).or_insert(self.id);
        if owner == self.id {
            SessionClaim::Granted
        } else {
            SessionClaim::Taken
        }
    }

    /// What is about a session of the agent is nobody's any more.
    pub(crate) fn release_session(&self, session: &str) {
        if let Some(shared) = &self.process {
            let own = |owner: &u64| *owner == self.id;
            let mut routes = shared.lock_routing();
            if routes.sessions.get(session).is_some_and(own) {
                routes.sessions.remove(session);
            }
        }
    }

    /// Ends the agent at once, for all.
    pub(crate) fn kill(&self, reason: &str) {
        if let Some(shared) = &self.process {
            shared.lock_routing().end_reason = Some(reason.to_owned());
            // Dropped, it is killed.
            drop(shared.lock_process().take());
        }
    }

    /// Leaves; the last one ends the agent. Says what it complained of last, or
    /// else what it wrote where messages should be.
    pub(crate) async fn shutdown(mut self) -> Option<String> {
        self.release_sessions();
        let shared = self.process.take()?;
        let (stderr_tail, ended) = (
            Arc::clone(&shared.stderr_tail),
            shared.lock_routing().end_reason.is_some(),
        );
        let Some(last) = Arc::into_inner(shared) else {
            // Whoever is last waits for its end; its last words are for all.
            if !ended {
                return None;
            }
            stderr_tail.wait_complete(STDERR_DRAIN_TIMEOUT).await;
            return stderr_tail.last_line();
        };
        let process = last.lock_process().take();
        // Its input is closed by this.
        drop(last.connection);
        let stderr_line = match process {
            Some(process) => process.shutdown().await.last_line(),
            None => None,
        };
        stderr_line.or_else(|| last.noise.last_line())
    }

    /// Gives up all that this line has with the agent.
    fn release_sessions(&self) {
        let Some(shared) = &self.process else {
            return;
        };
        let mut routes = shared.lock_routing();
        routes.leases.remove(&self.id);
        let (own, others): (BTreeMap<_, _>, _) = std::mem::take(&mut routes.sessions)
            .into_iter()
            .partition(|(_, line)| *line == self.id);
        routes.sessions = others;
        let alone = routes.leases.is_empty();
        if alone {
            // Nobody is to join what is about to end.
            routes.end_reason.get_or_insert_default();
        }
        drop(routes);
        if alone {
            return;
        }
        for session in own.keys() {
            let params = json!({"sessionId": session});
            shared.connection.notify("session/cancel", &params);
            let (line, call) = (self.id, AgentCall::Other);
            let marked = TaggedCall { lease: line, call };
            shared.connection.call(marked, "session/close", &params);
        }
    }
}

impl Drop for ProcessLease {
    fn drop(&mut self) {
        self.release_sessions();
    }
}

/// Whose a session of the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionClaim {
    /// It is this line's.
    Granted,
    /// It is another's.
    Taken,
}

/// How a line came to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseStart {
    /// It was started.
    Started,
    /// It runs, and has said what it can do.
    Joined,
}

impl ProcessPool {
    fn find(&self, key: &PoolKey) -> Option<Arc<PooledProcess>> {
        let mut known = lock(&self.0);
        known.retain(|_, shared| shared.strong_count() > 0);
        let shared = known.get(key)?.upgrade()?;
        let routes = shared.lock_routing();
        let fit = routes.end_reason.is_none()
            && routes
                .initialize_result
                .as_ref()
                .is_some_and(supports_sharing);
        drop(routes);
        fit.then_some(shared)
    }

    fn add(&self, key: PoolKey, shared: &Arc<PooledProcess>) {
        let mut known = lock(&self.0);
        known.insert(key, Arc::downgrade(shared));
    }
}

/// Whether an agent can let go of a session and go on with others.
fn supports_sharing(initialized: &Value) -> bool {
    let close = initialized.pointer("/agentCapabilities/sessionCapabilities/close");
    close.is_some_and(|close| !close.is_null())
}

impl PooledProcess {
    async fn start(request: &LeaseRequest<'_>) -> Result<Arc<Self>, AcpError> {
        let started = spawn_agent(request.launch, request.folder, request.pid_dir);
        let (process, pipes) = started.map_err(StartError::from)?;
        let opened = JsonRpcConnection::open(pipes.stdin, pipes.stdout).await;
        let Ok((connection, incoming, noise)) = opened else {
            let (reason, stderr_line) = (None, process.shutdown().await.last_line());
            return Err(AcpError::Gone {
                reason,
                stderr_line,
            });
        };
        let routes = Arc::default();
        let mut router = JoinSet::new();
        router.spawn(route_messages(incoming, Arc::clone(&routes)));
        Ok(Arc::new(PooledProcess {
            stderr_tail: process.stderr_tail(),
            process: Mutex::new(Some(process)),
            connection,
            noise,
            routing: routes,
            _router: router,
        }))
    }

    fn lock_routing(&self) -> MutexGuard<'_, RoutingTable> {
        lock_routing(&self.routing)
    }

    fn lock_process(&self) -> MutexGuard<'_, Option<ManagedChild>> {
        lock(&self.process)
    }
}
