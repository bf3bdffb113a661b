//! Registry of the running servers and their desired states.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::DesiredState;

/// Session and id of a server.
pub(crate) type ServerKey = (Uri, CustomizationId);

/// Servers that run or are starting.
#[derive(Default)]
pub(crate) struct ServerRegistry(Mutex<BTreeMap<ServerKey, ServerEntry>>);

struct ServerEntry {
    desired: watch::Sender<DesiredState>,
    /// Cancelled when the server's task and process have ended.
    ended: CancellationToken,
}

/// The data for the task of a server that is starting.
pub(crate) struct StartedServer {
    pub(crate) desired: watch::Receiver<DesiredState>,
    /// Cancels the `ended` token on drop, also if the task panics, so that the next run never
    /// waits forever.
    pub(crate) ended: DropGuard,
    /// Cancelled when the previous run with the same key has ended.
    pub(crate) previous: Option<CancellationToken>,
}

impl ServerRegistry {
    /// Registers a new run. A previous run with the same key is set to end, and the new one
    /// must wait for it.
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

    /// Sets all servers of a session to [`DesiredState::Removed`].
    pub(crate) fn remove_session(&self, session: &Uri) {
        for ((of, _), run) in self.lock().iter() {
            if of == session {
                run.desired.send_replace(DesiredState::Removed);
            }
        }
    }

    /// Sets the desired state of a server. Returns `false` if there is no such server.
    pub(crate) fn set_desired_state(&self, key: ServerKey, desired: DesiredState) -> bool {
        let runs = self.lock();
        let run = runs.get(&key);
        run.is_some_and(|run| {
            run.desired.send_replace(desired);
            true
        })
    }

    /// Removes a run that has ended and returns its last desired state. Returns
    /// [`DesiredState::Removed`] if another run has replaced it.
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
