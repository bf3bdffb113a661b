//! Sends signals to process groups, also at a deadline.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use agenthost_stdx::result::IgnoreExited;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::marker::EnvMarker;
use crate::pid_file::PidFile;
use crate::procfs::pid_of;

/// A process group, identified by its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessGroup(Pid);

/// One signal of a shutdown, and the time after it.
#[derive(Debug, Clone, Copy)]
pub struct KillStep {
    signal: Signal,
    /// Time that the group has before the next step.
    grace: Duration,
    failure: &'static str,
}

/// Outcome of the deadline in [`ProcessGroup::kill_at_deadline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlineStatus {
    /// The wait returned before the deadline.
    Met,
    /// The group was signaled at the deadline.
    Exceeded,
}

impl KillStep {
    /// Sends SIGTERM and waits for `grace`. `failure` is logged if the system refuses the
    /// signal.
    #[must_use]
    pub const fn terminate(grace: Duration, failure: &'static str) -> Self {
        KillStep {
            signal: Signal::SIGTERM,
            grace,
            failure,
        }
    }

    /// Sends SIGKILL. `failure` is logged if the system refuses the signal.
    #[must_use]
    pub const fn kill(failure: &'static str) -> Self {
        KillStep {
            signal: Signal::SIGKILL,
            grace: Duration::ZERO,
            failure,
        }
    }
}

impl ProcessGroup {
    /// Returns the group whose leader is this child.
    #[must_use]
    pub fn of_leader(child: u32) -> Self {
        ProcessGroup(pid_of(child))
    }

    pub(crate) fn from_pid(leader: Pid) -> Self {
        ProcessGroup(leader)
    }

    /// Sends a signal to all processes of the group. Logs `failure` if the system refuses the
    /// signal, and nothing if the group has no members.
    pub(crate) fn signal(self, signal: Signal, failure: &str) {
        killpg(self.0, signal).ignore_exited(failure);
    }

    /// Runs `wait`. If it has not returned by the deadline, takes the steps one after the
    /// other. Returns the result of `wait` in both cases.
    pub fn kill_at_deadline<R>(
        self,
        deadline: Instant,
        steps: &[KillStep],
        wait: impl FnOnce() -> R,
    ) -> (R, DeadlineStatus) {
        let (done, over) = channel::<()>();
        let timed_out =
            move |timeout: Duration| over.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
        std::thread::scope(|scope| {
            let watchdog = scope.spawn(move || {
                if !timed_out(deadline.saturating_duration_since(Instant::now())) {
                    return DeadlineStatus::Met;
                }
                for step in steps {
                    self.signal(step.signal, step.failure);
                    if !timed_out(step.grace) {
                        break;
                    }
                }
                DeadlineStatus::Exceeded
            });
            let waited = wait();
            drop(done);
            (waited, watchdog.join().unwrap_or(DeadlineStatus::Met))
        })
    }
}

/// A process group that is killed on drop, with every process that has its marker.
///
/// Drop it right after its leader was waited for, because the id of a group without members is
/// reused.
#[derive(Debug)]
pub struct GroupGuard {
    group: ProcessGroup,
    marker: EnvMarker,
    failure: &'static str,
    /// Removed after the processes are killed.
    _pid_file: Option<PidFile>,
}

impl GroupGuard {
    /// Creates a guard. `failure` is logged if the system refuses the signal.
    #[must_use]
    pub fn new(
        group: ProcessGroup,
        marker: EnvMarker,
        pid_file: Option<PidFile>,
        failure: &'static str,
    ) -> Self {
        GroupGuard {
            group,
            marker,
            failure,
            _pid_file: pid_file,
        }
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        self.group.signal(Signal::SIGKILL, self.failure);
        self.marker.kill_all();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};

    use super::*;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.spawn().unwrap()
    }

    fn wait(mut child: Child, timeout: Duration) -> (ExitStatus, DeadlineStatus) {
        let steps = [
            KillStep::terminate(Duration::from_millis(300), "terminate"),
            KillStep::kill("kill"),
        ];
        let group = ProcessGroup::of_leader(child.id());
        let deadline = Instant::now() + timeout;
        let (status, deadline) = group.kill_at_deadline(deadline, &steps, || child.wait());
        (status.unwrap(), deadline)
    }

    #[test]
    fn a_group_in_time_is_not_signaled() {
        let (status, deadline) = wait(start("exit 3"), Duration::from_secs(60));
        assert_eq!((status.code(), deadline), (Some(3), DeadlineStatus::Met));
    }

    #[test]
    fn a_late_group_is_terminated() {
        let (status, deadline) = wait(start("exec sleep 1000"), Duration::from_millis(50));
        let signal = Some(Signal::SIGTERM as i32);
        assert_eq!(
            (status.signal(), deadline),
            (signal, DeadlineStatus::Exceeded)
        );
    }

    #[test]
    fn a_group_that_ignores_the_signal_is_killed() {
        let stubborn = "trap '' TERM; while :; do sleep 1000; done";
        let (status, deadline) = wait(start(stubborn), Duration::from_millis(500));
        let signal = Some(Signal::SIGKILL as i32);
        assert_eq!(
            (status.signal(), deadline),
            (signal, DeadlineStatus::Exceeded)
        );
    }
}
