//! An agent that runs, for one session of the host or for several.
//!
//! Sessions that work in the same folder share a process, if the agent can let
//! go of one session without ending. Each has a connection of its own to it.
//! What the agent sends is routed to the connection that it is for, by the name
//! of the agent's session.

pub(crate) mod launch;
pub(crate) mod router;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use agenthost_process::{ManagedChild, STDERR_DRAIN_TIMEOUT, StreamTail};
use agenthost_stdx::sync::lock;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use router::{AgentConnectionId, AgentMessages, RoutingTable, TaggedCall, route_messages};

use super::connection::AgentCall;
use super::error::{AcpError, StartError};
use super::process_pool::launch::{AgentLaunch, spawn_agent};
use super::transport::{AgentCallError, JsonRpcConnection};

/// The processes of an agent that can be shared, by folder and environment.
#[derive(Default)]
pub(crate) struct ProcessPool(Mutex<BTreeMap<PoolKey, Weak<PooledProcess>>>);

type PoolKey = (PathBuf, Vec<(String, String)>);

/// Says how many: the environment may hold secrets.
impl std::fmt::Debug for ProcessPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let processes = lock(&self.0);
        f.debug_struct("ProcessPool")
            .field("known", &processes.len())
            .finish()
    }
}

impl ProcessPool {
    fn find(&self, key: &PoolKey) -> Option<Arc<PooledProcess>> {
        let mut processes = lock(&self.0);
        processes.retain(|_, process| process.strong_count() > 0);
        let process = processes.get(key)?.upgrade()?;
        let routing = process.lock_routing();
        let is_shareable = routing.end_reason.is_none()
            && routing
                .initialize_result
                .as_ref()
                .is_some_and(supports_sharing);
        drop(routing);
        is_shareable.then_some(process)
    }

    fn add(&self, key: PoolKey, process: &Arc<PooledProcess>) {
        let mut processes = lock(&self.0);
        processes.insert(key, Arc::downgrade(process));
    }
}

/// Whether an agent can let go of a session and go on with others.
fn supports_sharing(initialized: &Value) -> bool {
    let close = initialized.pointer("/agentCapabilities/sessionCapabilities/close");
    close.is_some_and(|close| !close.is_null())
}

/// What is started, and whether it may be shared.
pub(crate) struct ProcessRequest<'a> {
    pub(crate) launch: &'a AgentLaunch,
    pub(crate) folder: &'a Path,
    pub(crate) pid_dir: Option<&'a Path>,
    /// Where processes are that may be shared; none: it is for one alone.
    pub(crate) pool: Option<&'a ProcessPool>,
}

/// A process that a connection has joined.
pub(crate) struct ProcessMembership {
    pub(crate) process: Arc<PooledProcess>,
    pub(crate) connection: AgentConnectionId,
    pub(crate) messages: AgentMessages,
    pub(crate) origin: ProcessOrigin,
}

/// How a connection came to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessOrigin {
    /// It was started.
    Started,
    /// It runs, and has said what it can do.
    Joined,
}

/// A process and what goes to and from it. With the last connection it is
/// killed.
#[derive(Debug)]
pub(crate) struct PooledProcess {
    child: Mutex<Option<ManagedChild>>,
    pub(crate) rpc: JsonRpcConnection<TaggedCall>,
    /// What it complained of.
    stderr_tail: Arc<StreamTail>,
    noise: Arc<StreamTail>,
    routing: Arc<Mutex<RoutingTable>>,
    /// Passes messages to connections; ends with this.
    _router: JoinSet<()>,
}

impl PooledProcess {
    /// Joins an agent that runs, or starts one. Whoever starts one has to ask
    /// what it can do; who joins one is told.
    pub(crate) async fn acquire(
        request: &ProcessRequest<'_>,
    ) -> Result<ProcessMembership, AcpError> {
        let key = || {
            let environment = request.launch.environment.clone();
            (request.folder.to_owned(), environment)
        };
        let running = request.pool.and_then(|pool| pool.find(&key()));
        let joined = running.and_then(|process| process.join(ProcessOrigin::Joined));
        if let Some(joined) = joined {
            return Ok(joined);
        }
        let process = PooledProcess::start(request).await?;
        if let Some(pool) = request.pool {
            pool.add(key(), &process);
        }
        let joined = process.join(ProcessOrigin::Started);
        Ok(joined.ok_or(AgentCallError::Gone)?)
    }

    async fn start(request: &ProcessRequest<'_>) -> Result<Arc<Self>, AcpError> {
        let spawned = spawn_agent(request.launch, request.folder, request.pid_dir);
        let (child, pipes) = spawned.map_err(StartError::from)?;
        let opened = JsonRpcConnection::open(pipes.stdin, pipes.stdout).await;
        let Ok((rpc, incoming, noise)) = opened else {
            let (reason, stderr_line) = (None, child.shutdown().await.last_line());
            return Err(AcpError::Gone {
                reason,
                stderr_line,
            });
        };
        let routing = Arc::default();
        let mut router = JoinSet::new();
        router.spawn(route_messages(incoming, Arc::clone(&routing)));
        Ok(Arc::new(PooledProcess {
            stderr_tail: child.stderr_tail(),
            child: Mutex::new(Some(child)),
            rpc,
            noise,
            routing,
            _router: router,
        }))
    }

    /// Joins one; `None` if it has ended, or is about to.
    fn join(self: Arc<Self>, origin: ProcessOrigin) -> Option<ProcessMembership> {
        let (connection, messages) = self.lock_routing().add_connection()?;
        Some(ProcessMembership {
            process: self,
            connection,
            messages,
            origin,
        })
    }

    /// Gives up all that a connection has with the agent.
    pub(crate) fn remove_connection(&self, connection: AgentConnectionId) {
        let orphaned = self.lock_routing().remove_connection(connection);
        for session in orphaned {
            let params = json!({"sessionId": session});
            self.rpc.notify("session/cancel", &params);
            let call = AgentCall::Other;
            let tagged = TaggedCall { connection, call };
            self.rpc.call(tagged, "session/close", &params);
        }
    }

    /// Ends the agent at once, for all.
    pub(crate) fn kill(&self, reason: &str) {
        self.lock_routing().end_reason = Some(reason.to_owned());
        // Dropped, it is killed.
        drop(self.lock_child().take());
    }

    /// Ends the agent, if no connection is left. Says what it complained of
    /// last, or else what it wrote where messages should be.
    pub(crate) async fn shutdown(self: Arc<Self>) -> Option<String> {
        let stderr_tail = Arc::clone(&self.stderr_tail);
        let has_ended = self.lock_routing().end_reason.is_some();
        let Some(last) = Arc::into_inner(self) else {
            // Whoever is last waits for its end; its last words are for all.
            if !has_ended {
                return None;
            }
            stderr_tail.wait_complete(STDERR_DRAIN_TIMEOUT).await;
            return stderr_tail.last_line();
        };
        let child = last.lock_child().take();
        // Its input is closed by this.
        drop(last.rpc);
        let stderr_line = match child {
            Some(child) => child.shutdown().await.last_line(),
            None => None,
        };
        stderr_line.or_else(|| last.noise.last_line())
    }

    pub(crate) fn lock_routing(&self) -> MutexGuard<'_, RoutingTable> {
        lock(&self.routing)
    }

    fn lock_child(&self) -> MutexGuard<'_, Option<ManagedChild>> {
        lock(&self.child)
    }
}
