//! Which servers run, and what is wanted of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::DesiredState;

/// A server of a session.
pub(crate) type ServerKey = (Uri, CustomizationId);

/// Servers that run, or are about to.
#[derive(Default)]
pub(crate) struct ServerRegistry(Mutex<BTreeMap<ServerKey, ServerEntry>>);

/// One of them.
struct ServerEntry {
    /// What is wanted of it.
    desired: watch::Sender<DesiredState>,
    /// Cancelled when nothing of it is left.
    ended: CancellationToken,
}

/// A run that begins.
pub(crate) struct StartedServer {
    /// What is wanted of it.
    pub(crate) desired: watch::Receiver<DesiredState>,
    /// Whatever happens to the run, whoever waits for its end goes on.
    pub(crate) ended: DropGuard,
    /// Cancelled when the one before it is over.
    pub(crate) previous: Option<CancellationToken>,
}

impl ServerRegistry {
    /// A run takes the place of the one before it, if there is one. Says what
    /// is wanted of it, and when the other is over.
    pub(crate) fn start(&self, key: ServerKey) -> StartedServer {
        let (wish, wished) = watch::channel(DesiredState::Running);
        let over = CancellationToken::new();
        let run = ServerEntry {
            desired: wish,
            ended: over.clone(),
        };
        let before = self.lock().insert(key, run).map(|before| {
            before.desired.send_replace(DesiredState::Removed);
            before.ended
        });
        StartedServer {
            desired: wished,
            ended: over.drop_guard(),
            previous: before,
        }
    }

    /// All servers of a session have to leave.
    pub(crate) fn remove_session(&self, session: &Uri) {
        for ((of, _), run) in self.lock().iter() {
            if of == session {
                run.desired.send_replace(DesiredState::Removed);
            }
        }
    }

    /// Wishes something of a server that runs. Says whether one does.
    pub(crate) fn set_desired_state(&self, key: ServerKey, desired: DesiredState) -> bool {
        let runs = self.lock();
        let run = runs.get(&key);
        run.is_some_and(|run| {
            run.desired.send_replace(desired);
            true
        })
    }

    /// Nothing is left of a run. Says what is wished of it that it did not get
    /// to hear of; if another has taken its place, nothing is.
    pub(crate) fn remove_finished(&self, key: &ServerKey, over: DropGuard) -> DesiredState {
        let over = over.disarm();
        let mut runs = self.lock();
        let own = runs.get(key).filter(|run| run.ended == over);
        let wish = own.map(|run| *run.desired.borrow());
        if wish.is_some() {
            runs.remove(key);
        }
        drop(runs);
        over.cancel();
        wish.unwrap_or(DesiredState::Removed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerKey, ServerEntry>> {
        lock(&self.0)
    }
}
