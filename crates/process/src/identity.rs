//! Identifies a process that is not a child, also after its id was reused.

use std::io;
use std::time::Duration;

use agenthost_stdx::result::IgnoreResult;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::procfs::{self, pid_of};

/// Interval between two looks at a process that is about to end. The system reports the end of a
/// process to its parent only.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the id of the user of this process.
#[must_use]
pub fn own_user() -> u32 {
    nix::unistd::getuid().as_raw()
}

/// A process, with its start time and the boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    start_time: u64,
    boot_id: String,
}

impl ProcessIdentity {
    /// Returns the identity of this process, or `None` on a system without procfs.
    #[must_use]
    pub fn own() -> Option<Self> {
        let pid = std::process::id();
        let stat = procfs::read_stat(pid_of(pid))?;
        Some(ProcessIdentity {
            pid,
            start_time: stat.start_time,
            boot_id: procfs::read_boot_id(),
        })
    }

    /// Returns `true` if the process has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let stat = procfs::read_stat(pid_of(self.pid));
        let is_same = stat.is_some_and(|stat| stat.start_time == self.start_time);
        is_same && self.boot_id == procfs::read_boot_id() && !procfs::is_zombie(pid_of(self.pid))
    }

    /// Ends the process: with SIGTERM, and with SIGKILL after `grace`.
    ///
    /// # Errors
    ///
    /// If the system refuses the signal, or the process does not end.
    pub async fn end(&self, grace: Duration) -> io::Result<()> {
        self.signal(Signal::SIGTERM)?;
        // A stopped process would not handle the signal.
        self.signal(Signal::SIGCONT)?;
        if self.wait(grace).await {
            return Ok(());
        }
        self.signal(Signal::SIGKILL)?;
        match self.wait(grace).await {
            true => Ok(()),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Kills the process, without waiting for its end.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL)
            .log_err("failed to kill a process");
    }

    /// Waits until the process has ended. Returns `false` at the timeout.
    pub async fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        while self.is_running() {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        match kill(pid_of(self.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
