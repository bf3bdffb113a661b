//! Gate that holds gateway calls until the host has approved or denied them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_core::customization::driver::HookDenial;
use agenthost_core::tools::mcp::driver::{CallGateMode, GatewayCallId};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::sync::oneshot;

/// Result of the approval of a call.
pub(crate) type CallVerdict = Result<(), HookDenial>;

/// The approval mode of a session, and the calls that wait for a verdict.
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
    /// Sets the mode for later calls. Pending calls are not affected.
    pub(crate) fn set_mode(&self, mode: CallGateMode) {
        self.lock().mode = mode;
    }

    pub(crate) fn mode(&self) -> CallGateMode {
        self.lock().mode
    }

    /// Registers a pending call and returns the receiver of its verdict.
    pub(crate) fn register(&self, call: GatewayCallId) -> oneshot::Receiver<CallVerdict> {
        let (sender, receiver) = oneshot::channel();
        self.lock().pending_calls.insert(call, sender);
        receiver
    }

    /// Removes a pending call. Returns `true` if it was still pending.
    pub(crate) fn remove(&self, call: GatewayCallId) -> bool {
        self.lock().pending_calls.remove(&call).is_some()
    }

    /// Sends the verdict to a pending call.
    pub(crate) fn resolve(&self, call: GatewayCallId, verdict: CallVerdict) {
        if let Some(waiting) = self.lock().pending_calls.remove(&call) {
            waiting.send(verdict).ignore_closed();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallGateState> {
        lock(&self.0)
    }
}
