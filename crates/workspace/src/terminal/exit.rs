//! Exit state of the program of a terminal.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use agenthost_process::LeaderState;
use agenthost_stdx::sync::lock;
use portable_pty::ExitStatus;

/// The exit status of a program, with a condition variable for the threads that wait for it.
#[derive(Debug, Default)]
pub(super) struct ExitState {
    exit: Mutex<Option<ProcessExit>>,
    exited: Condvar,
}

/// The exit code or the signal of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessExit {
    /// `None` if a signal killed the program.
    pub(super) exit_code: Option<i64>,
    /// Name of the signal that killed the program.
    pub(super) signal: Option<String>,
}

impl ExitState {
    /// Records the exit of the program. Its process id may be reused from now on.
    pub(super) fn set_exited(&self, status: Option<ExitStatus>) {
        let signal = status
            .as_ref()
            .and_then(ExitStatus::signal)
            .map(signal_name);
        let by_itself = status.filter(|_| signal.is_none());
        let exit_code = by_itself.map(|status| i64::from(status.exit_code()));
        *self.lock() = Some(ProcessExit { exit_code, signal });
        self.exited.notify_all();
    }

    pub(super) fn has_exited(&self) -> bool {
        self.lock().is_some()
    }

    /// Returns the state of the process id: still that of the program, or possibly reused.
    pub(super) fn leader_state(&self) -> LeaderState {
        if self.has_exited() {
            LeaderState::Reaped
        } else {
            LeaderState::Unreaped
        }
    }

    /// Waits for the exit without a timeout.
    pub(super) fn wait_for_exit(&self) -> ProcessExit {
        let running = |end: &mut Option<ProcessExit>| end.is_none();
        let end = self.exited.wait_while(self.lock(), running);
        let end = end.unwrap_or_else(PoisonError::into_inner);
        end.clone().unwrap_or_default()
    }

    /// Waits for the exit until the deadline.
    pub(super) fn wait_until(&self, deadline: Instant) {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let running = |end: &mut Option<ProcessExit>| end.is_none();
        // The caller does not need to know if the deadline has passed.
        drop(
            self.exited
                .wait_timeout_while(self.lock(), timeout, running),
        );
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProcessExit>> {
        lock(&self.exit)
    }
}

/// Converts the description of a signal by the system to its name.
fn signal_name(words: &str) -> String {
    let name = match words {
        "Hangup" => "SIGHUP",
        "Interrupt" => "SIGINT",
        "Quit" => "SIGQUIT",
        "Illegal instruction" => "SIGILL",
        "Aborted" => "SIGABRT",
        "Bus error" => "SIGBUS",
        "Floating point exception" => "SIGFPE",
        "Killed" => "SIGKILL",
        "Segmentation fault" => "SIGSEGV",
        "Broken pipe" => "SIGPIPE",
        "Terminated" => "SIGTERM",
        other => other,
    };
    name.to_owned()
}
