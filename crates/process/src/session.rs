//! Ends POSIX sessions: all processes of a terminal, in any number of process groups.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::group::ProcessGroup;
use crate::procfs::{self, pid_of};

/// Log message for a signal that the system refuses.
const SIGNAL_FAILURE: &str = "failed to signal a terminal";

/// The processes of a terminal: the session whose leader is the terminal's program.
#[derive(Debug)]
pub struct ProcessSession {
    leader: Pid,
    terminate_signal: TerminateSignal,
    orphan_policy: OrphanPolicy,
    terminate_requested: AtomicBool,
}

/// The signal that requests the exit of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminateSignal {
    /// SIGHUP, for shells: an interactive shell ignores SIGTERM.
    HangUp,
    /// SIGTERM, for other programs: many use SIGHUP for another purpose.
    Terminate,
}

/// Handling of the remaining processes when the leader of a session exits by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanPolicy {
    /// They keep running, as after the exit of a login shell.
    Keep,
    /// They are killed with the session.
    Kill,
}

/// State of the leader's process id, which can be reused after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderState {
    /// The leader was not waited for, so its id is not reused.
    Unreaped,
    /// The leader has exited and was waited for, so its id may be reused.
    Reaped,
}

impl ProcessSession {
    /// Creates a session for a child that leads it. Sends no signal.
    #[must_use]
    pub fn new(
        leader: u32,
        terminate_signal: TerminateSignal,
        orphan_policy: OrphanPolicy,
    ) -> Self {
        ProcessSession {
            leader: pid_of(leader),
            terminate_signal,
            orphan_policy,
            terminate_requested: AtomicBool::new(false),
        }
    }

    /// Sends the terminate signal to all processes of the session. Stopped processes are
    /// continued, because they would not handle the signal otherwise. The leader must not have
    /// been waited for.
    pub fn terminate(&self) {
        self.terminate_requested.store(true, Ordering::Release);
        let signal = match self.terminate_signal {
            TerminateSignal::HangUp => Signal::SIGHUP,
            TerminateSignal::Terminate => Signal::SIGTERM,
        };
        signal_groups(&session_groups(self.leader), &[signal, Signal::SIGCONT]);
    }

    /// Kills all processes of the session, except for orphans with [`OrphanPolicy::Keep`].
    pub fn kill(&self, leader_state: LeaderState) {
        match leader_state {
            LeaderState::Unreaped => kill_session(self.leader),
            LeaderState::Reaped => {
                let was_requested = self.terminate_requested.load(Ordering::Acquire);
                if was_requested || self.orphan_policy == OrphanPolicy::Kill {
                    signal_groups(&orphaned_groups(self.leader), &[Signal::SIGKILL]);
                }
            }
        }
    }
}

/// Kills a session whose leader was not waited for.
pub(crate) fn kill_session(leader: Pid) {
    signal_groups(&session_groups(leader), &[Signal::SIGKILL]);
}

/// Kills a process group whose leader has exited. As long as the group has members, its id is
/// not reused. Returns `false` if it has none.
pub(crate) fn kill_orphaned_group(group: Pid) -> bool {
    let has_members = procfs::read_processes()
        .iter()
        .any(|process| process.group == group);
    if has_members {
        signal_groups(&BTreeSet::from([group]), &[Signal::SIGKILL]);
    }
    has_members
}

fn session_groups(leader: Pid) -> BTreeSet<Pid> {
    let mut groups = read_session(leader).groups;
    groups.insert(leader);
    groups
}

fn signal_groups(groups: &BTreeSet<Pid>, signals: &[Signal]) {
    for group in groups {
        for signal in signals {
            ProcessGroup::from_pid(*group).signal(*signal, SIGNAL_FAILURE);
        }
    }
}

/// Returns the process groups of a session whose leader was waited for. The system does not
/// reuse a process id that identifies a session. So if a process has the leader's id, no member
/// of the session is left.
fn orphaned_groups(leader: Pid) -> BTreeSet<Pid> {
    let members = read_session(leader);
    if members.has_leader {
        return BTreeSet::new();
    }
    members.groups
}

struct SessionMembers {
    groups: BTreeSet<Pid>,
    has_leader: bool,
}

fn read_session(session: Pid) -> SessionMembers {
    let mut processes = procfs::read_processes();
    processes.retain(|process| process.session == session);
    SessionMembers {
        groups: processes.iter().map(|process| process.group).collect(),
        has_leader: processes.iter().any(|process| process.pid == session),
    }
}
