//! Retries failed MCP servers with the next turn.
//!
//! A server that fails repeatedly is retried with exponential backoff, so that turns don't wait
//! for a server that will not start.

use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{McpServerError, McpServerState};
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::customization::mcp_servers;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;

/// Uptime after which earlier failures of a server no longer count.
const STABLE_UPTIME: Millis = Millis(60_000);

/// Backoff after the second failure in a row. Each further failure doubles it.
const BASE_RETRY_DELAY: Millis = Millis(10_000);

/// Upper limit of the backoff.
const MAX_RETRY_DELAY: Millis = Millis(10 * 60_000);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerFailure {
    /// The number of failures in a row.
    count: u32,
    /// The time from which a turn may retry the server.
    retry_at: Millis,
    /// Start of the current run, if the server has become ready since the failure.
    ready_since: Option<Millis>,
    /// The error as published.
    error: ErrorInfo,
}

impl Host {
    /// Restarts the failed servers that a new turn could use, unless their backoff has not
    /// ended.
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

    /// Records a failure, and publishes the error with the time of the next retry.
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
                    "\nit failed {times} times in a row: the host retries in the next turn after \
                     {seconds} s"
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

    /// Records that a server that had failed is ready.
    pub(super) fn record_ready(&mut self, env: &Env, session: &Uri, server: &CustomizationId) {
        let known = self.customizations.get_mut(session);
        if let Some(failure) = known.and_then(|known| known.failures.get_mut(server)) {
            failure.ready_since = Some(env.now);
        }
    }

    /// Returns the state to publish for a stopped server. A failed server that may not be
    /// restarted keeps its error.
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

/// Returns the backoff after so many failures in a row.
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
