//! Calls that somebody has to agree to before they are made.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_core::customization::driver::HookDenial;
use agenthost_core::tools::mcp::driver::{CallGateMode, GatewayCallId};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::sync::oneshot;

/// Whether a call may go on, or why not.
pub(crate) type CallVerdict = Result<(), HookDenial>;

/// Who has to agree to the calls of a session, and what waits for that.
#[derive(Debug, Default)]
pub(crate) struct CallGate(Mutex<CallGateState>);

#[derive(Debug)]
struct CallGateState {
    mode: CallGateMode,
    pending_calls: BTreeMap<GatewayCallId, oneshot::Sender<CallVerdict>>,
}

impl Default for CallGateState {
    fn default() -> Self {
        CallGateState {
            mode: CallGateMode::Open,
            pending_calls: BTreeMap::new(),
        }
    }
}

impl CallGate {
    /// From now on somebody has to agree, or nobody.
    pub(crate) fn set_mode(&self, mode: CallGateMode) {
        self.lock().mode = mode;
    }

    /// Who has to agree.
    pub(crate) fn mode(&self) -> CallGateMode {
        self.lock().mode
    }

    /// A call waits.
    pub(crate) fn register(&self, call: GatewayCallId) -> oneshot::Receiver<CallVerdict> {
        let (sender, receiver) = oneshot::channel();
        self.lock().pending_calls.insert(call, sender);
        receiver
    }

    /// Nobody waits for a call any more. Says whether somebody did.
    pub(crate) fn remove(&self, call: GatewayCallId) -> bool {
        self.lock().pending_calls.remove(&call).is_some()
    }

    /// Tells a call whether it may go on.
    pub(crate) fn resolve(&self, call: GatewayCallId, verdict: CallVerdict) {
        if let Some(waiting) = self.lock().pending_calls.remove(&call) {
            waiting.send(verdict).ignore_closed();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallGateState> {
        lock(&self.0)
    }
}
