//! Marks a process tree with an environment variable that every descendant inherits.
//!
//! A process can leave its group, its session and its parents, but it does not drop an
//! inherited environment variable by accident. So the variable identifies the run that a
//! process belongs to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_stdx::result::IgnoreExited;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::procfs;

/// The environment variable that holds the marker.
pub const MARKER_VARIABLE: &str = "AGENTHOST_RUN";

/// Maximum number of searches for marked processes. Several are needed, because a process may
/// spawn another one before it is killed.
const MAX_KILL_ROUNDS: usize = 5;

/// The marker of one run of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvMarker(String);

impl EnvMarker {
    /// Creates a marker that no other run has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT_MARKER: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let next = NEXT_MARKER.fetch_add(1, Ordering::Relaxed);
        EnvMarker(format!("{}-{now:x}-{next}", std::process::id()))
    }

    /// Returns the marker in a pid file, or `None` if the file has none.
    pub(crate) fn from_record(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| EnvMarker(text.to_owned()))
    }

    /// Returns the value of [`MARKER_VARIABLE`].
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Kills all processes that have the marker, except for this process.
    pub fn kill_all(&self) {
        for _ in 0..MAX_KILL_ROUNDS {
            let marked = self.processes();
            if marked.is_empty() {
                break;
            }
            for process in marked {
                kill(process, Signal::SIGKILL).ignore_exited("failed to kill a process");
            }
        }
    }

    fn processes(&self) -> Vec<Pid> {
        let own = Pid::this();
        let variable = format!("{MARKER_VARIABLE}={}", self.0);
        let is_marked = |process: &Pid| {
            *process != own
                && procfs::read_environ(*process)
                    .split(|byte| *byte == 0)
                    .any(|entry| entry == variable.as_bytes())
        };
        procfs::read_pids().into_iter().filter(is_marked).collect()
    }
}
