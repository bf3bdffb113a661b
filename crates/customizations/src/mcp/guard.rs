//! Calls that somebody has to agree to before they are made.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthost_core::tool_servers::{ToolGuard, ToolTicket};
use tokio::sync::oneshot;

/// Whether a call may go on; why not, in words.
pub(super) type Verdict = Result<(), String>;

/// Who has to agree to the calls of a session, and what waits for that.
#[derive(Debug, Default)]
pub(super) struct Guard(Mutex<State>);

#[derive(Debug)]
struct State {
    guard: ToolGuard,
    waiting: BTreeMap<ToolTicket, oneshot::Sender<Verdict>>,
}

impl Default for State {
    fn default() -> Self {
        State {
            guard: ToolGuard::Nobody,
            waiting: BTreeMap::new(),
        }
    }
}

impl Guard {
    /// From now on somebody has to agree, or nobody.
    pub(super) fn set(&self, guard: ToolGuard) {
        self.lock().guard = guard;
    }

    /// Who has to agree.
    pub(super) fn who(&self) -> ToolGuard {
        self.lock().guard
    }

    /// A call waits.
    pub(super) fn wait_for(&self, call: ToolTicket) -> oneshot::Receiver<Verdict> {
        let (sender, receiver) = oneshot::channel();
        self.lock().waiting.insert(call, sender);
        receiver
    }

    /// Nobody waits for a call any more. Says whether somebody did.
    pub(super) fn forget(&self, call: ToolTicket) -> bool {
        self.lock().waiting.remove(&call).is_some()
    }

    /// Tells a call whether it may go on.
    pub(super) fn pass(&self, call: ToolTicket, verdict: Verdict) {
        if let Some(waiting) = self.lock().waiting.remove(&call) {
            // Who has just left does not need to know.
            waiting.send(verdict).unwrap_or_default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
