//! How what runs in a terminal comes to an end.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use portable_pty::ExitStatus;

use super::program::Program;

/// Whether the program of a terminal runs, for all who have to know.
#[derive(Debug, Default)]
pub(super) struct Life {
    end: Mutex<Option<End>>,
    ended: Condvar,
}

/// How a program ended.
#[derive(Debug, Clone, Default)]
pub(super) struct End {
    /// None if it was killed.
    pub(super) exit_code: Option<i64>,
    /// What killed it.
    pub(super) signal: Option<String>,
}

impl Life {
    /// The program has ended, and its number may be somebody else's from now
    /// on.
    pub(super) fn end(&self, status: Option<ExitStatus>) {
        let signal = status.as_ref().and_then(ExitStatus::signal).map(name);
        let by_itself = status.filter(|_| signal.is_none());
        let exit_code = by_itself.map(|status| i64::from(status.exit_code()));
        *self.lock() = Some(End { exit_code, signal });
        self.ended.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_some()
    }

    /// Waits for the end, however long it takes.
    pub(super) fn wait_for_end(&self) -> End {
        let running = |end: &mut Option<End>| end.is_none();
        let end = self.ended.wait_while(self.lock(), running);
        let end = end.unwrap_or_else(PoisonError::into_inner);
        end.clone().unwrap_or_default()
    }

    /// Waits for the end, but not for longer than this.
    pub(super) fn wait(&self, deadline: Instant) {
        let patience = deadline.saturating_duration_since(Instant::now());
        let running = |end: &mut Option<End>| end.is_none();
        // Whether it came in time is not what the caller asks.
        drop(
            self.ended
                .wait_timeout_while(self.lock(), patience, running),
        );
    }

    fn lock(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All processes of a terminal: those of the session that its program leads.
#[derive(Debug)]
pub(super) struct Session {
    leader: Pid,
    /// How it is asked to end. Shells do not listen to the usual request, and
    /// many programs take the end of their terminal for something else.
    polite: Signal,
    /// Whether what the leader leaves behind may stay.
    keeps_leftovers: bool,
    /// Whether it was asked to end.
    asked: AtomicBool,
}

impl Session {
    pub(super) fn new(leader: Pid, program: &Program) -> Self {
        let (polite, keeps_leftovers) = match program {
            Program::Shell(_) => (Signal::SIGHUP, true),
            Program::Command(_) | Program::Run(_) => (Signal::SIGTERM, false),
        };
        Session {
            leader,
            polite,
            keeps_leftovers,
            asked: AtomicBool::new(false),
        }
    }

    /// Asks all of it to end. What is stopped goes on, or it would not hear.
    pub(super) fn hang_up(&self) {
        self.asked.store(true, Ordering::Release);
        signal(&groups(self.leader), &[self.polite, Signal::SIGCONT]);
    }

    /// Ends all of it, whether it wants to or not.
    pub(super) fn kill(&self, life: &Life) {
        if !life.is_over() {
            kill_session(self.leader);
        } else if self.asked.load(Ordering::Acquire) || !self.keeps_leftovers {
            signal(&left_behind(self.leader), &[Signal::SIGKILL]);
        }
    }
}

/// Ends a session whose leader has not been waited for.
pub(super) fn kill_session(leader: Pid) {
    signal(&groups(leader), &[Signal::SIGKILL]);
}

/// Ends a process group whose first process is gone, if anything of it is left:
/// as long as it is, its number is nobody else's. Says whether there was.
pub(super) fn kill_group_left_behind(group: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    let mut processes = entries.filter_map(|entry| group_and_session(&entry.ok()?.path()));
    let left = processes.any(|(of, _)| of == group);
    if left {
        signal(&BTreeSet::from([group]), &[Signal::SIGKILL]);
    }
    left
}

fn groups(leader: Pid) -> BTreeSet<Pid> {
    let (mut groups, _) = members(leader);
    groups.insert(leader);
    groups
}

fn signal(groups: &BTreeSet<Pid>, signals: &[Signal]) {
    for group in groups {
        for signal in signals {
            // It may have ended by itself meanwhile.
            killpg(*group, *signal).unwrap_or_default();
        }
    }
}

/// The process groups of a session whose leader is gone. A number is not given
/// out again while it names a session, so if there is a process of the
/// leader's number, nothing of the session is left.
fn left_behind(leader: Pid) -> BTreeSet<Pid> {
    let (groups, leads) = members(leader);
    match leads {
        Leader::Gone => groups,
        Leader::There => BTreeSet::new(),
    }
}

enum Leader {
    There,
    Gone,
}

/// The process groups of a session, from `/proc`; none where there is no such
/// thing.
fn members(session: Pid) -> (BTreeSet<Pid>, Leader) {
    let mut groups = BTreeSet::new();
    let mut leader = Leader::Gone;
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return (groups, leader);
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some((group, of)) = group_and_session(&path) else {
            continue;
        };
        if of == session {
            groups.insert(group);
            if path.ends_with(session.to_string()) {
                leader = Leader::There;
            }
        }
    }
    (groups, leader)
}

fn group_and_session(process: &Path) -> Option<(Pid, Pid)> {
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
fn name(words: &str) -> String {
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
