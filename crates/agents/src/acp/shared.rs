//! An agent that runs, for one session of the host or for several.
//!
//! Sessions that work in the same folder share a process, if the agent can let
//! go of one session without ending. Each has a line of its own to it. What the
//! agent sends is told to the line that it is for, by the name of the agent's
//! session.

mod routes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use routes::{Marked, Routes, lock, route};

use super::live::Call;
use super::process::{AcpLaunch, LAST_WORDS, Process};
use super::tail::Tail;
use super::wire::{Connection, Incoming};

/// Messages that wait for a line. When there are more, all lines wait.
const WAITING: usize = 64;

/// The processes of an agent that can be shared, by folder and environment.
#[derive(Default)]
pub(crate) struct Processes(Mutex<BTreeMap<Key, Weak<Shared>>>);

type Key = (PathBuf, Vec<(String, String)>);

/// Says how many: the environment may hold secrets.
impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Processes")
            .field("known", &known.len())
            .finish()
    }
}

/// A process and what goes to and from it.
#[derive(Debug)]
struct Shared {
    process: Mutex<Option<Process>>,
    connection: Connection<Marked>,
    /// What it complained of.
    complaints: Arc<Tail>,
    noise: Arc<Tail>,
    routes: Arc<Mutex<Routes>>,
    /// Tells lines what they have to hear; ends with this.
    _router: JoinSet<()>,
}

/// A way to an agent that runs. Dropped, its sessions are let go of; with the
/// last one the agent is killed.
#[derive(Debug)]
pub(crate) struct Line {
    id: u64,
    /// Only gone while this is being dropped.
    shared: Option<Arc<Shared>>,
}

/// What is started, and whether it may be shared.
pub(crate) struct Wanted<'a> {
    pub(crate) launch: &'a AcpLaunch,
    pub(crate) folder: &'a Path,
    pub(crate) notes: Option<&'a Path>,
    /// Where processes are that may be shared; none: it is for one alone.
    pub(crate) processes: Option<&'a Processes>,
}

/// Where a line hears from the agent.
pub(crate) type Incomings = mpsc::Receiver<Incoming<Call>>;

impl Line {
    /// Joins an agent that runs, or starts one. Whoever starts one has to ask
    /// what it can do; who joins one is told.
    pub(crate) async fn to(wanted: &Wanted<'_>) -> Result<(Self, Incomings, Start), String> {
        let key = || {
            let environment = wanted.launch.environment.clone();
            (wanted.folder.to_owned(), environment)
        };
        let running = wanted.processes.and_then(|known| known.find(&key()));
        if let Some((line, incoming)) = running.and_then(Line::join) {
            return Ok((line, incoming, Start::Joined));
        }
        let shared = Shared::start(wanted).await?;
        if let Some(known) = wanted.processes {
            known.add(key(), &shared);
        }
        let (line, incoming) = Line::join(shared).ok_or("the agent ended")?;
        Ok((line, incoming, Start::Started))
    }

    /// Joins one; `None` if it has ended, or is about to.
    fn join(shared: Arc<Shared>) -> Option<(Self, Incomings)> {
        let (sender, incoming) = mpsc::channel(WAITING);
        let mut routes = shared.routes();
        if routes.ended.is_some() {
            return None;
        }
        let id = routes.next_line;
        routes.next_line += 1;
        if let Some(initialized) = routes.initialized.clone() {
            let answer = Incoming::Answer(Call::Initialize, Ok(initialized));
            // Nothing else waits yet, so there is room.
            sender.try_send(answer).unwrap_or_default();
        }
        routes.lines.insert(id, sender);
        drop(routes);
        let shared = Some(shared);
        Some((Line { id, shared }, incoming))
    }

    /// Asks for something. The answer comes to this line.
    pub(crate) fn call(&self, call: Call, method: &str, params: &impl Serialize) {
        if let Some(shared) = &self.shared {
            let line = self.id;
            shared
                .connection
                .call(Marked { line, call }, method, params);
        }
    }

    /// Tells it something.
    pub(crate) fn tell(&self, method: &str, params: &impl Serialize) {
        if let Some(shared) = &self.shared {
            shared.connection.tell(method, params);
        }
    }

    /// What is about a session of the agent comes to this line from now on,
    /// unless it does to another.
    pub(crate) fn claim(&self, session: &str) -> Claim {
        let Some(shared) = &self.shared else {
            return Claim::Taken;
        };
        let mut routes = shared.routes();
        let owner = *routes.sessions.entry(session.to_owned()).or_insert(self.id);
        if owner == self.id {
            Claim::Ours
        } else {
            Claim::Taken
        }
    }

    /// What is about a session of the agent is nobody's any more.
    pub(crate) fn release(&self, session: &str) {
        if let Some(shared) = &self.shared {
            let own = |owner: &u64| *owner == self.id;
            let mut routes = shared.routes();
            if routes.sessions.get(session).is_some_and(own) {
                routes.sessions.remove(session);
            }
        }
    }

    /// Ends the agent at once, for all.
    pub(crate) fn kill(&self, reason: &str) {
        if let Some(shared) = &self.shared {
            shared.routes().ended = Some(reason.to_owned());
            // Dropped, it is killed.
            drop(shared.process().take());
        }
    }

    /// Leaves; the last one ends the agent. Says what it complained of last, or
    /// else what it wrote where messages should be.
    pub(crate) async fn leave(mut self) -> Option<String> {
        self.let_go();
        let shared = self.shared.take()?;
        let (complaints, ended) = (
            Arc::clone(&shared.complaints),
            shared.routes().ended.is_some(),
        );
        let Some(last) = Arc::into_inner(shared) else {
            // Whoever is last waits for its end; its last words are for all.
            return if ended {
                complaints.last_words(LAST_WORDS).await
            } else {
                None
            };
        };
        let process = last.process.into_inner();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        // Its input is closed by this.
        drop(last.connection);
        let complaint = match process {
            Some(process) => process.end().await,
            None => None,
        };
        complaint.or_else(|| last.noise.last_line())
    }

    /// Gives up all that this line has with the agent.
    fn let_go(&self) {
        let Some(shared) = &self.shared else {
            return;
        };
        let mut routes = shared.routes();
        routes.lines.remove(&self.id);
        let (own, others): (BTreeMap<_, _>, _) = std::mem::take(&mut routes.sessions)
            .into_iter()
            .partition(|(_, line)| *line == self.id);
        routes.sessions = others;
        let alone = routes.lines.is_empty();
        if alone {
            // Nobody is to join what is about to end.
            routes.ended.get_or_insert_default();
        }
        drop(routes);
        if alone {
            return;
        }
        for session in own.keys() {
            let params = json!({"sessionId": session});
            shared.connection.tell("session/cancel", &params);
            let (line, call) = (self.id, Call::Other);
            let marked = Marked { line, call };
            shared.connection.call(marked, "session/close", &params);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Whose a session of the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is this line's.
    Ours,
    /// It is another's.
    Taken,
}

/// How a line came to its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// It was started.
    Started,
    /// It runs, and has said what it can do.
    Joined,
}

impl Processes {
    fn find(&self, key: &Key) -> Option<Arc<Shared>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, shared| shared.strong_count() > 0);
        let shared = known.get(key)?.upgrade()?;
        let routes = shared.routes();
        let fit = routes.ended.is_none() && routes.initialized.as_ref().is_some_and(can_be_shared);
        drop(routes);
        fit.then_some(shared)
    }

    fn add(&self, key: Key, shared: &Arc<Shared>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, Arc::downgrade(shared));
    }
}

/// Whether an agent can let go of a session and go on with others.
fn can_be_shared(initialized: &Value) -> bool {
    let close = initialized.pointer("/agentCapabilities/sessionCapabilities/close");
    close.is_some_and(|close| !close.is_null())
}

impl Shared {
    async fn start(wanted: &Wanted<'_>) -> Result<Arc<Self>, String> {
        let started = Process::spawn(wanted.launch, wanted.folder, wanted.notes);
        let (process, pipes) = started.map_err(|error| error.to_string())?;
        let opened = Connection::open(pipes.stdin, pipes.stdout).await;
        let (connection, incoming, noise) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let complaint = process.end().await;
                return Err(match complaint {
                    Some(complaint) => format!("{error}: {complaint}"),
                    None => error.to_string(),
                });
            }
        };
        let routes = Arc::default();
        let mut router = JoinSet::new();
        router.spawn(route(incoming, Arc::clone(&routes)));
        Ok(Arc::new(Shared {
            complaints: process.complaints(),
            process: Mutex::new(Some(process)),
            connection,
            noise,
            routes,
            _router: router,
        }))
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        lock(&self.routes)
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
