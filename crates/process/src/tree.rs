//! Finds and signals all descendants of a process.
//!
//! Most descendants are in the process group of the leader. Those in other groups are found
//! through their parents. This works only while the parents run, so the tree is read before any
//! signal is sent.

use std::collections::{BTreeMap, BTreeSet};

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpgrp};

use crate::group::ProcessGroup;
use crate::procfs::{ProcStat, pid_of, read_processes};

/// The descendants of a process that leads its group.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: Pid,
    /// Start time of every member that was found, because process ids are reused.
    members: BTreeMap<Pid, u64>,
    /// Log message for a signal that the system refuses.
    signal_failure: &'static str,
}

impl ProcessTree {
    pub(crate) fn new(leader: u32, signal_failure: &'static str) -> Self {
        ProcessTree {
            leader: pid_of(leader),
            members: BTreeMap::new(),
            signal_failure,
        }
    }

    /// Adds the current descendants. The leader must not have been waited for.
    pub(crate) fn refresh(&mut self) {
        let processes = read_processes();
        let mut members = BTreeSet::from([self.leader]);
        loop {
            let count = members.len();
            for process in &processes {
                if members.contains(&process.parent) || process.group == self.leader {
                    members.insert(process.pid);
                }
            }
            if members.len() == count {
                break;
            }
        }
        let found = processes
            .iter()
            .filter(|process| members.contains(&process.pid));
        self.members
            .extend(found.map(|process| (process.pid, process.start_time)));
    }

    /// Sends a signal to the groups of all members. The leader must not have been waited for.
    pub(crate) fn signal(&self, signal: Signal) {
        let mut groups = self.groups();
        groups.insert(self.leader);
        self.signal_groups(&groups, signal);
    }

    /// Kills the remaining members after the leader was waited for. While the leader's group
    /// has members, its id is not reused. If a process has that id, the group is a new one and
    /// is not signaled.
    pub(crate) fn kill_orphans(&self) {
        let processes = read_processes();
        let has_leader = processes.iter().any(|process| process.pid == self.leader);
        let has_members = processes.iter().any(|process| process.group == self.leader);
        let mut groups = self.groups();
        groups.remove(&self.leader);
        if has_members && !has_leader {
            groups.insert(self.leader);
        }
        self.signal_groups(&groups, Signal::SIGKILL);
    }

    /// Returns the groups of the members that still exist.
    fn groups(&self) -> BTreeSet<Pid> {
        let processes = read_processes().into_iter();
        let is_member =
            |process: &ProcStat| self.members.get(&process.pid) == Some(&process.start_time);
        let members = processes.filter(is_member);
        members.map(|process| process.group).collect()
    }

    fn signal_groups(&self, groups: &BTreeSet<Pid>, signal: Signal) {
        let own = getpgrp();
        for group in groups.iter().copied() {
            // No child joins the host's own group, but the host must survive if one does.
            if group != own && group.as_raw() > 1 {
                ProcessGroup::from_pid(group).signal(signal, self.signal_failure);
            }
        }
    }
}
