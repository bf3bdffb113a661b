//! Agent processes, each for one session of the host or shared by several.
//!
//! Sessions in the same folder share a process, if the agent can close a session without
//! exiting. Each session has its own connection to the process. A router passes each message of
//! the agent to the connection that owns the agent session.

pub(crate) mod launch;
pub(crate) mod router;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use agenthost_core::SessionEnvironment;
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

type PoolKey = (PathBuf, Vec<(String, String)>, SessionEnvironment);

/// Prints only the number of processes, because the environment may contain secrets.
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

/// Returns `true` if an agent can close a session and continue with others.
fn supports_sharing(initialized: &Value) -> bool {
    let close = initialized.pointer("/agentCapabilities/sessionCapabilities/close");
    close.is_some_and(|close| !close.is_null())
}

/// A request for a process: its launch parameters, and the pool that may share it.
pub(crate) struct ProcessRequest<'a> {
    pub(crate) launch: &'a AgentLaunch,
    /// Variables of the terminal that the session was created from.
    pub(crate) environment: &'a SessionEnvironment,
    pub(crate) folder: &'a Path,
    pub(crate) pid_dir: Option<&'a Path>,
    /// The pool with shareable processes; `None` if the process must not be shared.
    pub(crate) pool: Option<&'a ProcessPool>,
}

/// A process together with a new connection to it.
pub(crate) struct ProcessMembership {
    pub(crate) process: Arc<PooledProcess>,
    pub(crate) connection: AgentConnectionId,
    pub(crate) messages: AgentMessages,
    pub(crate) origin: ProcessOrigin,
}

/// The origin of a connection's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessOrigin {
    /// The process was started for this connection.
    Started,
    /// The process was already running and has answered `initialize`.
    Joined,
}

/// A process with its JSON-RPC connection. It is killed when its last connection is dropped.
#[derive(Debug)]
pub(crate) struct PooledProcess {
    child: Mutex<Option<ManagedChild>>,
    pub(crate) rpc: JsonRpcConnection<TaggedCall>,
    /// The last lines that the agent wrote to stderr.
    stderr_tail: Arc<StreamTail>,
    noise: Arc<StreamTail>,
    routing: Arc<Mutex<RoutingTable>>,
    /// The task that routes messages to connections; dropping it aborts the task.
    _router: JoinSet<()>,
}

impl PooledProcess {
    /// Joins a running process, or starts one. A caller that gets a new process has to send
    /// `initialize`; one that joins receives the stored response.
    pub(crate) async fn acquire(
        request: &ProcessRequest<'_>,
    ) -> Result<ProcessMembership, AcpError> {
        let key = || {
            let environment = request.launch.environment.clone();
            let session = request.environment.clone();
            (request.folder.to_owned(), environment, session)
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
        let spawned = spawn_agent(
            request.launch,
            request.environment,
            request.folder,
            request.pid_dir,
        );
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

    /// Adds a connection; `None` if the process has exited or is about to.
    fn join(self: Arc<Self>, origin: ProcessOrigin) -> Option<ProcessMembership> {
        let (connection, messages) = self.lock_routing().add_connection()?;
        Some(ProcessMembership {
            process: self,
            connection,
            messages,
            origin,
        })
    }

    /// Removes a connection. If other connections remain, its agent sessions are cancelled and
    /// closed.
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

    /// Kills the agent immediately, for all connections.
    pub(crate) fn kill(&self, reason: &str) {
        self.lock_routing().end_reason = Some(reason.to_owned());
        // Dropping the child kills the process.
        drop(self.lock_child().take());
    }

    /// Shuts the agent down if no connection is left. Returns the last line on stderr, or else
    /// the last line on stdout that is not a message.
    pub(crate) async fn shutdown(self: Arc<Self>) -> Option<String> {
        let stderr_tail = Arc::clone(&self.stderr_tail);
        let has_ended = self.lock_routing().end_reason.is_some();
        let Some(last) = Arc::into_inner(self) else {
            // Only the last connection waits for the exit, but every connection reports the
            // last stderr line of an agent that has ended.
            if !has_ended {
                return None;
            }
            stderr_tail.wait_complete(STDERR_DRAIN_TIMEOUT).await;
            return stderr_tail.last_line();
        };
        let child = last.lock_child().take();
        // This closes the standard input of the process.
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
