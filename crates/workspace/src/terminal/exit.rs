//! How what runs in a terminal comes to an end.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use agenthost_stdx::result::IgnoreExited;
use agenthost_stdx::sync::lock;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use portable_pty::ExitStatus;

use super::program::PtyProgram;

/// Whether the program of a terminal runs, for all who have to know.
#[derive(Debug, Default)]
pub(super) struct ExitState {
    exit: Mutex<Option<ProcessExit>>,
    exited: Condvar,
}

/// How a program ended.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessExit {
    /// None if it was killed.
    pub(super) exit_code: Option<i64>,
    /// What killed it.
    pub(super) signal: Option<String>,
}

impl ExitState {
    /// The program has ended, and its number may be somebody else's from now
    /// on.
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

    /// Waits for the end, however long it takes.
    pub(super) fn wait_for_exit(&self) -> ProcessExit {
        let running = |end: &mut Option<ProcessExit>| end.is_none();
        let end = self.exited.wait_while(self.lock(), running);
        let end = end.unwrap_or_else(PoisonError::into_inner);
        end.clone().unwrap_or_default()
    }

    /// Waits for the end, but not for longer than this.
    pub(super) fn wait_until(&self, deadline: Instant) {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let running = |end: &mut Option<ProcessExit>| end.is_none();
        // Whether it came in time is not what the caller asks.
        drop(
            self.exited
                .wait_timeout_while(self.lock(), timeout, running),
        );
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProcessExit>> {
        lock(&self.exit)
    }
}

/// All processes of a terminal: those of the session that its program leads.
#[derive(Debug)]
pub(super) struct ProcessSession {
    leader: Pid,
    /// How it is asked to end. Shells do not listen to the usual request, and
    /// many programs take the end of their terminal for something else.
    terminate_signal: Signal,
    /// Whether what the leader leaves behind may stay.
    keeps_leftovers: bool,
    /// Whether it was asked to end.
    terminate_requested: AtomicBool,
}

impl ProcessSession {
    pub(super) fn new(leader: Pid, program: &PtyProgram) -> Self {
        let (polite, keeps_leftovers) = match program {
            PtyProgram::Shell(_) => (Signal::SIGHUP, true),
            PtyProgram::Command(_) | PtyProgram::Exec(_) => (Signal::SIGTERM, false),
        };
        ProcessSession {
            leader,
            terminate_signal: polite,
            keeps_leftovers,
            terminate_requested: AtomicBool::new(false),
        }
    }

    /// Asks all of it to end. What is stopped goes on, or it would not hear.
    pub(super) fn terminate(&self) {
        self.terminate_requested.store(true, Ordering::Release);
        signal_groups(
            &session_groups(self.leader),
            &[self.terminate_signal, Signal::SIGCONT],
        );
    }

    /// Ends all of it, whether it wants to or not.
    pub(super) fn kill(&self, exit_state: &ExitState) {
        if !exit_state.has_exited() {
            kill_session(self.leader);
        } else if self.terminate_requested.load(Ordering::Acquire) || !self.keeps_leftovers {
            signal_groups(&orphaned_groups(self.leader), &[Signal::SIGKILL]);
        }
    }
}

/// Ends a session whose leader has not been waited for.
pub(super) fn kill_session(leader: Pid) {
    signal_groups(&session_groups(leader), &[Signal::SIGKILL]);
}

/// Ends a process group whose first process is gone, if anything of it is left:
/// as long as it is, its number is nobody else's. Says whether there was.
pub(super) fn kill_orphaned_group(group: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    let mut processes = entries.filter_map(|entry| read_group_and_session(&entry.ok()?.path()));
    let left = processes.any(|(of, _)| of == group);
    if left {
        signal_groups(&BTreeSet::from([group]), &[Signal::SIGKILL]);
    }
    left
}

fn session_groups(leader: Pid) -> BTreeSet<Pid> {
    let (mut groups, _) = read_session_groups(leader);
    groups.insert(leader);
    groups
}

fn signal_groups(groups: &BTreeSet<Pid>, signals: &[Signal]) {
    for group in groups {
        for signal in signals {
            killpg(*group, *signal).ignore_exited("failed to signal a terminal");
        }
    }
}

/// The process groups of a session whose leader is gone. A number is not given
/// out again while it names a session, so if there is a process of the
/// leader's number, nothing of the session is left.
fn orphaned_groups(leader: Pid) -> BTreeSet<Pid> {
    let (groups, leads) = read_session_groups(leader);
    match leads {
        LeaderState::Gone => groups,
        LeaderState::Present => BTreeSet::new(),
    }
}

enum LeaderState {
    Present,
    Gone,
}

/// The process groups of a session, from `/proc`; none where there is no such
/// thing.
fn read_session_groups(session: Pid) -> (BTreeSet<Pid>, LeaderState) {
    let mut groups = BTreeSet::new();
    let mut leader = LeaderState::Gone;
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return (groups, leader);
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some((group, of)) = read_group_and_session(&path) else {
            continue;
        };
        if of == session {
            groups.insert(group);
            if path.ends_with(session.to_string()) {
                leader = LeaderState::Present;
            }
        }
    }
    (groups, leader)
}

fn read_group_and_session(process: &Path) -> Option<(Pid, Pid)> {
    let name = process.file_name()?.to_str()?;
    if !name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program may have anything in it, but ends with the last
    // bracket. State and parent come after it, then what is wanted.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(2);
    let mut next = || fields.next()?.parse().ok().map(Pid::from_raw);
    Some((next()?, next()?))
}

/// What programs call a signal that is told in the words of the system.
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
