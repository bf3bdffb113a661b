//! What tells all that came of a program, wherever it went.
//!
//! A process can leave its group, its session and its parents. What it can't
//! leave by accident is its environment: a variable there names the run that
//! it is of.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_stdx::result::IgnoreExited;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable.
pub const MARKER_VARIABLE: &str = "AGENTHOST_RUN";

/// How often to look for more: what is being killed may start something.
const MAX_KILL_ROUNDS: usize = 5;

/// Marks the processes of one run of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvMarker(String);

impl EnvMarker {
    /// One that nothing else has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT_MARKER: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let next = NEXT_MARKER.fetch_add(1, Ordering::Relaxed);
        EnvMarker(format!("{}-{now:x}-{next}", std::process::id()))
    }

    /// One that was noted.
    pub(super) fn from_record(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| EnvMarker(text.to_owned()))
    }

    /// What the variable holds.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Kills all that have it. Says whether there were any.
    pub fn kill_all(&self) -> bool {
        let mut any = false;
        for _ in 0..MAX_KILL_ROUNDS {
            let marked = self.processes();
            if marked.is_empty() {
                break;
            }
            any = true;
            for process in marked {
                kill(process, Signal::SIGKILL).ignore_exited("failed to kill a process");
            }
        }
        any
    }

    /// Those that have it, from `/proc`; none where there is no such thing. One
    /// that has ended and was not waited for has no environment.
    fn processes(&self) -> Vec<Pid> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let own = Pid::this();
        let found = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.parse().ok()?;
            let process = Pid::from_raw(number);
            (process != own && self.is_set_in(&path)).then_some(process)
        });
        found.collect()
    }

    fn is_set_in(&self, process: &Path) -> bool {
        // Those of other users can't be read, and are not ours.
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let line = format!("{MARKER_VARIABLE}={}", self.0);
        let line = std::ffi::OsStr::new(&line).as_bytes();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == line)
    }
}
