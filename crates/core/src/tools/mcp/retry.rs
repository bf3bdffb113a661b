//! Servers that failed: the next turn tries again.
//!
//! One that fails again and again is tried less and less often, so that no turn
//! waits for what will not come.

use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{McpServerError, McpServerState};
use agenthost_protocol::uri::Uri;

use crate::customization::mcp_servers;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;

/// How long a server has to run until its failures before that do not count.
const STABLE_UPTIME: Millis = Millis(60_000);

/// How long turns leave a server alone that failed twice. Each failure after
/// that doubles it.
const BASE_RETRY_DELAY: Millis = Millis(10_000);

/// The longest that they do.
const MAX_RETRY_DELAY: Millis = Millis(10 * 60_000);

/// How a server failed.
#[derive(Debug, Clone)]
pub(crate) struct ServerFailure {
    /// How often in a row.
    count: u32,
    /// When a turn may try it again.
    retry_at: Millis,
    /// Since when it has run since then, if it has.
    ready_since: Option<Millis>,
    /// Why, as it is shown.
    error: ErrorInfo,
}

impl Host {
    /// A turn is about to begin: servers that failed and could be of use get
    /// another chance, unless they had one a moment ago.
    pub(crate) fn retry_servers(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizations.get(session))
        else {
            return;
        };
        let failed = mcp_servers(state)
            .filter(|found| found.is_on && matches!(found.server.state, McpServerState::Error(_)));
        let failed = failed.map(|found| found.server.base.id.clone());
        let due = |id: &CustomizationId| {
            let failure = known.failures.get(id);
            let rested = failure.is_none_or(|failure| failure.retry_at <= env.now);
            rested
                && !known.blocked_as_untrusted.contains(id)
                && !known.stopped_by_user.contains(id)
        };
        let due: Vec<_> = failed.filter(due).collect();
        for server in due {
            self.start_for_turn(session, server, out);
        }
    }

    /// A server failed. What is shown says why, and when it is tried again.
    pub(super) fn handle_server_failed(
        &mut self,
        env: &Env,
        session: &Uri,
        server: &CustomizationId,
        mut error: ErrorInfo,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizations.get_mut(session) {
            let before = known.failures.get(server);
            let ran = before.and_then(|before| before.ready_since);
            let steady =
                ran.is_some_and(|ready| env.now.0.saturating_sub(ready.0) >= STABLE_UPTIME.0);
            let before = before.filter(|_| !steady);
            let times = before.map_or(0, |before| before.count).saturating_add(1);
            let pause = retry_delay(times);
            if pause.0 > 0 {
                let seconds = pause.0 / 1_000;
                error.message.push_str(&format!(
                    "\nit failed {times} times in a row: the next turn after {seconds} s tries again"
                ));
            }
            let failure = ServerFailure {
                count: times,
                retry_at: Millis(env.now.0.saturating_add(pause.0)),
                ready_since: None,
                error: error.clone(),
            };
            known.failures.insert(server.clone(), failure);
        }
        let state = McpServerState::Error(McpServerError { error });
        self.set_server_state(session, server, state, out);
    }

    /// A server that failed before runs.
    pub(super) fn record_ready(&mut self, env: &Env, session: &Uri, server: &CustomizationId) {
        let known = self.customizations.get_mut(session);
        if let Some(failure) = known.and_then(|known| known.failures.get_mut(server)) {
            failure.ready_since = Some(env.now);
        }
    }

    /// What to show of a server that has stopped. One that failed and may not
    /// be tried again still failed for the same reason.
    pub(super) fn stopped_state(&self, session: &Uri, server: &CustomizationId) -> McpServerState {
        let known = self.customizations.get(session);
        let barred = known.filter(|known| {
            known.blocked_as_untrusted.contains(server) && !known.stopped_by_user.contains(server)
        });
        match barred.and_then(|known| known.failures.get(server)) {
            Some(failure) => McpServerState::Error(McpServerError {
                error: failure.error.clone(),
            }),
            None => McpServerState::Stopped,
        }
    }
}

/// How long turns leave a server alone that failed so often.
fn retry_delay(times: u32) -> Millis {
    match times {
        0 | 1 => Millis(0),
        times => {
            let doubled = times.saturating_sub(2).min(16);
            Millis(
                BASE_RETRY_DELAY
                    .0
                    .saturating_mul(1 << doubled)
                    .min(MAX_RETRY_DELAY.0),
            )
        }
    }
}
