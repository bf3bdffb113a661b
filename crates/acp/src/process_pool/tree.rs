//! A process and all that came of it.
//!
//! Most of it is in the process group of the first one. What made a group of
//! its own is found by its parents, as long as these are there; so the family
//! is looked at before anybody is asked to go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agenthost_stdx::result::IgnoreExited;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp};

/// The family of a process that leads its group.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: i32,
    /// All that were seen, with when they began: numbers are given out again.
    processes: BTreeMap<i32, u64>,
}

/// What the system says of a process.
struct ProcStat {
    id: i32,
    parent: i32,
    group: i32,
    start_time: u64,
}

impl ProcessTree {
    /// The family of a process.
    pub(crate) fn new(leader: u32) -> Self {
        ProcessTree {
            // The system gives out no number that would not fit.
            leader: i32::try_from(leader).unwrap_or(i32::MAX),
            processes: BTreeMap::new(),
        }
    }

    /// Takes note of who belongs to it, as long as the first one is there.
    pub(crate) fn refresh(&mut self) {
        let entries = read_processes();
        let mut members = BTreeSet::from([self.leader]);
        loop {
            let known = members.len();
            for entry in &entries {
                if members.contains(&entry.parent) || entry.group == self.leader {
                    members.insert(entry.id);
                }
            }
            if members.len() == known {
                break;
            }
        }
        let of_it = entries.iter().filter(|entry| members.contains(&entry.id));
        self.processes
            .extend(of_it.map(|entry| (entry.id, entry.start_time)));
    }

    /// Tells all of it something. The first one must not have been waited for.
    pub(crate) fn signal(&self, signal: Signal) {
        let mut groups = self.groups();
        groups.insert(self.leader);
        signal_groups(&groups, signal);
    }

    /// Kills what is left when the first one is gone and was waited for. Its
    /// number stays its own while anything is in its group, unless that is led
    /// by one of the same number: then it is another group.
    pub(crate) fn kill_orphans(&self) {
        let entries = read_processes();
        let led = entries.iter().any(|entry| entry.id == self.leader);
        let left = entries.iter().any(|entry| entry.group == self.leader);
        let mut groups = self.groups();
        groups.remove(&self.leader);
        if left && !led {
            groups.insert(self.leader);
        }
        signal_groups(&groups, Signal::SIGKILL);
    }

    /// The groups of those that were seen and are still there.
    fn groups(&self) -> BTreeSet<i32> {
        let entries = read_processes().into_iter();
        let same = |entry: &ProcStat| self.processes.get(&entry.id) == Some(&entry.start_time);
        entries.filter(same).map(|entry| entry.group).collect()
    }
}

fn signal_groups(groups: &BTreeSet<i32>, signal: Signal) {
    let own = getpgrp();
    for group in groups.iter().copied().map(Pid::from_raw) {
        // Nobody joins the host's own group, but if, the host stays.
        if group != own && group.as_raw() > 1 {
            killpg(group, signal).ignore_exited("signal a process group of an agent");
        }
    }
}

/// All processes, from `/proc`; none where there is no such thing.
fn read_processes() -> Vec<ProcStat> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let read = processes.filter_map(|process| read_stat(&process.ok()?.path()));
    read.collect()
}

fn read_stat(process: &Path) -> Option<ProcStat> {
    let id = process.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program may have anything in it, but ends with the last
    // bracket. Its state comes after it, then what is wanted.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(ProcStat {
        id,
        parent: i32::try_from(number(1)?).ok()?,
        group: i32::try_from(number(2)?).ok()?,
        start_time: u64::try_from(number(19)?).ok()?,
    })
}
