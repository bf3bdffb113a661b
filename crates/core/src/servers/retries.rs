//! Servers that failed: the next turn tries again.
//!
//! One that fails again and again is tried less and less often, so that no turn
//! waits for what will not come.

use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{McpServerError, McpServerState};
use agenthost_protocol::uri::Uri;

use crate::customizations::servers;
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;

/// How long a server has to run until its failures before that do not count.
const STEADY: Millis = Millis(60_000);

/// How long turns leave a server alone that failed twice. Each failure after
/// that doubles it.
const PAUSE: Millis = Millis(10_000);

/// The longest that they do.
const LONGEST: Millis = Millis(10 * 60_000);

/// How a server failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// How often in a row.
    times: u32,
    /// When a turn may try it again.
    again: Millis,
    /// Since when it has run since then, if it has.
    ready: Option<Millis>,
    /// Why, as it is shown.
    error: ErrorInfo,
}

impl Host {
    /// A turn is about to begin: servers that failed and could be of use get
    /// another chance, unless they had one a moment ago.
    pub(crate) fn retry_servers(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizing.get(session))
        else {
            return;
        };
        let failed = servers(state)
            .filter(|found| found.is_on && matches!(found.server.state, McpServerState::Error(_)));
        let failed = failed.map(|found| found.server.base.id.clone());
        let due = |id: &CustomizationId| {
            let failure = known.failures.get(id);
            let rested = failure.is_none_or(|failure| failure.again <= env.now);
            rested && !known.barred.contains(id) && !known.halted.contains(id)
        };
        let due: Vec<_> = failed.filter(due).collect();
        for server in due {
            self.start_for_turn(session, server, out);
        }
    }

    /// A server failed. What is shown says why, and when it is tried again.
    pub(super) fn server_failed(
        &mut self,
        env: &Env,
        session: &Uri,
        server: &CustomizationId,
        mut error: ErrorInfo,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizing.get_mut(session) {
            let before = known.failures.get(server);
            let ran = before.and_then(|before| before.ready);
            let steady = ran.is_some_and(|ready| env.now.0.saturating_sub(ready.0) >= STEADY.0);
            let before = before.filter(|_| !steady);
            let times = before.map_or(0, |before| before.times).saturating_add(1);
            let pause = pause(times);
            if pause.0 > 0 {
                let seconds = pause.0 / 1_000;
                error.message.push_str(&format!(
                    "\nit failed {times} times in a row: the next turn after {seconds} s tries again"
                ));
            }
            let failure = Failure {
                times,
                again: Millis(env.now.0.saturating_add(pause.0)),
                ready: None,
                error: error.clone(),
            };
            known.failures.insert(server.clone(), failure);
        }
        let state = McpServerState::Error(McpServerError { error });
        self.server_is(session, server, state, out);
    }

    /// A server that failed before runs.
    pub(super) fn note_ready(&mut self, env: &Env, session: &Uri, server: &CustomizationId) {
        let known = self.customizing.get_mut(session);
        if let Some(failure) = known.and_then(|known| known.failures.get_mut(server)) {
            failure.ready = Some(env.now);
        }
    }

    /// What to show of a server that has stopped. One that failed and may not
    /// be tried again still failed for the same reason.
    pub(super) fn state_at_rest(&self, session: &Uri, server: &CustomizationId) -> McpServerState {
        let known = self.customizing.get(session);
        let barred =
            known.filter(|known| known.barred.contains(server) && !known.halted.contains(server));
        match barred.and_then(|known| known.failures.get(server)) {
            Some(failure) => McpServerState::Error(McpServerError {
                error: failure.error.clone(),
            }),
            None => McpServerState::Stopped,
        }
    }
}

/// How long turns leave a server alone that failed so often.
fn pause(times: u32) -> Millis {
    match times {
        0 | 1 => Millis(0),
        times => {
            let doubled = times.saturating_sub(2).min(16);
            Millis(PAUSE.0.saturating_mul(1 << doubled).min(LONGEST.0))
        }
    }
}
