//! One terminal of an agent, from its start to its release.

use std::time::Duration;

use agenthost_core::TerminalEnd;
use agenthost_protocol::terminal::OutputTail;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::Terminal;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::TerminalRequester;
use crate::transport::RequestResponder;

/// The time between the termination signal and the kill of a command.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// A terminal that was opened for the agent, with its pending responses.
#[derive(Debug)]
pub(super) struct TerminalEntry {
    pub(super) requester: TerminalRequester,
    pub(super) uri: Uri,
    pub(super) output: OutputTail,
    pub(super) phase: TerminalPhase,
    /// The deadline after which the terminal is killed, if it was requested to end.
    pub(super) kill_deadline: Option<Instant>,
    /// Pending responses to `terminal/wait_for_exit`.
    pub(super) exit_waiters: Vec<RequestResponder>,
    pub(super) lease: TerminalLease,
    /// `true` if a client moved the terminal to the background. The agent was sent an exit.
    pub(super) is_in_background: bool,
}

#[derive(Debug)]
pub(super) enum TerminalPhase {
    Running(Terminal),
    /// The process was killed; the exit event has not arrived yet.
    Ending,
    Exited(TerminalEnd),
}

/// The state of the agent's handle to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalLease {
    Held,
    Released,
}

impl TerminalEntry {
    /// Returns `true` if the terminal counts towards the limit of the session.
    pub(super) fn counts_against_limit(&self) -> bool {
        let is_over = matches!(self.phase, TerminalPhase::Exited(_));
        self.lease == TerminalLease::Held || (self.is_in_background && !is_over)
    }

    /// Returns `true` if an agent session holds the terminal.
    pub(super) fn belongs_to(&self, agent_session: &str) -> bool {
        self.lease == TerminalLease::Held && self.requester.agent_session == agent_session
    }

    /// Sends a termination signal and sets the kill deadline.
    pub(super) fn terminate(&mut self) {
        if let (TerminalPhase::Running(terminal), None) = (&self.phase, self.kill_deadline) {
            terminal.terminate();
            self.kill_deadline = Some(Instant::now() + KILL_GRACE);
        }
    }

    /// Records the exit. Dropping the terminal also kills processes that it left in the
    /// background.
    pub(super) fn mark_exited(&mut self, end: &TerminalEnd) {
        self.kill_deadline = None;
        for responder in std::mem::take(&mut self.exit_waiters) {
            responder.respond(&exit_status(end));
        }
        self.phase = TerminalPhase::Exited(end.clone());
    }
}

pub(super) fn exit_status(end: &TerminalEnd) -> Value {
    json!({ "exitCode": end.exit_code, "signal": end.signal })
}
