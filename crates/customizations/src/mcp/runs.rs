//! Which servers run, and what is wanted of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::running::Wish;

/// A server of a session.
pub(super) type Key = (Uri, CustomizationId);

/// Servers that run, or are about to.
#[derive(Default)]
pub(super) struct Runs(Mutex<BTreeMap<Key, Run>>);

/// One of them.
struct Run {
    /// What is wanted of it.
    wish: watch::Sender<Wish>,
    /// Cancelled when nothing of it is left.
    over: CancellationToken,
}

/// A run that begins.
pub(super) struct Begun {
    /// What is wanted of it.
    pub(super) wished: watch::Receiver<Wish>,
    /// Whatever happens to the run, whoever waits for its end goes on.
    pub(super) over: DropGuard,
    /// Cancelled when the one before it is over.
    pub(super) before: Option<CancellationToken>,
}

impl Runs {
    /// A run takes the place of the one before it, if there is one. Says what
    /// is wanted of it, and when the other is over.
    pub(super) fn begin(&self, key: Key) -> Begun {
        let (wish, wished) = watch::channel(Wish::Run);
        let over = CancellationToken::new();
        let run = Run {
            wish,
            over: over.clone(),
        };
        let before = self.lock().insert(key, run).map(|before| {
            before.wish.send_replace(Wish::Leave);
            before.over
        });
        Begun {
            wished,
            over: over.drop_guard(),
            before,
        }
    }

    /// All servers of a session have to leave.
    pub(super) fn leave(&self, session: &Uri) {
        for ((of, _), run) in self.lock().iter() {
            if of == session {
                run.wish.send_replace(Wish::Leave);
            }
        }
    }

    /// Wishes something of a server that runs. Says whether one does.
    pub(super) fn wish(&self, key: Key, wish: Wish) -> bool {
        let runs = self.lock();
        let run = runs.get(&key);
        run.is_some_and(|run| {
            run.wish.send_replace(wish);
            true
        })
    }

    /// Nothing is left of a run. Says what is wished of it that it did not get
    /// to hear of; if another has taken its place, nothing is.
    pub(super) fn finished(&self, key: &Key, over: DropGuard) -> Wish {
        let over = over.disarm();
        let mut runs = self.lock();
        let own = runs.get(key).filter(|run| run.over == over);
        let wish = own.map(|run| *run.wish.borrow());
        if wish.is_some() {
            runs.remove(key);
        }
        drop(runs);
        over.cancel();
        wish.unwrap_or(Wish::Leave)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
