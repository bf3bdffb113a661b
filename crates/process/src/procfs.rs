//! Reads process information from procfs. No other module does.
//!
//! On a system without procfs every function returns an empty result.

use std::path::PathBuf;

use nix::unistd::Pid;

/// The directory of procfs. Files in it show the memory and the environment of processes.
pub const PROC_ROOT: &str = "/proc";

/// Some fields of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcStat {
    pub(crate) pid: Pid,
    pub(crate) parent: Pid,
    pub(crate) group: Pid,
    pub(crate) session: Pid,
    /// Clock ticks between the boot of the machine and the start of the process. Process ids
    /// are reused, so only the id and this time together identify a process.
    pub(crate) start_time: u64,
}

/// Returns the ids of all processes.
pub(crate) fn read_pids() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir(PROC_ROOT) else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| {
        let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
        Some(Pid::from_raw(number))
    });
    pids.collect()
}

/// Reads `stat` of all processes, including zombies.
pub(crate) fn read_processes() -> Vec<ProcStat> {
    read_pids().into_iter().filter_map(read_stat).collect()
}

/// Reads `stat` of a process. Returns `None` if the process does not exist.
pub(crate) fn read_stat(pid: Pid) -> Option<ProcStat> {
    let stat = std::fs::read_to_string(process_file(pid, "stat")).ok()?;
    parse_stat(pid, &stat)
}

/// Returns `true` for a process that has ended, but was not waited for.
pub(crate) fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(process_file(pid, "stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, fields)| fields.trim_start());
    state.is_some_and(|state| state.starts_with('Z'))
}

/// Reads the initial environment of a process as zero-terminated entries. The result is empty
/// for processes of other users and for zombies.
pub(crate) fn read_environ(pid: Pid) -> Vec<u8> {
    std::fs::read(process_file(pid, "environ")).unwrap_or_default()
}

/// Reads the id of the current boot of the machine.
pub(crate) fn read_boot_id() -> String {
    let path = PathBuf::from(PROC_ROOT).join("sys/kernel/random/boot_id");
    let id = std::fs::read_to_string(path);
    id.unwrap_or_default().trim().to_owned()
}

/// Converts the id of a child to the type of system calls. The system assigns no id that does
/// not fit.
pub(crate) fn pid_of(child: u32) -> Pid {
    Pid::from_raw(i32::try_from(child).unwrap_or(i32::MAX))
}

fn process_file(pid: Pid, name: &str) -> PathBuf {
    PathBuf::from(PROC_ROOT).join(pid.to_string()).join(name)
}

fn parse_stat(pid: Pid, stat: &str) -> Option<ProcStat> {
    // The program name may contain any character, but the last closing parenthesis ends it. The
    // next field is the state.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let pid_at = |index: usize| fields.get(index)?.parse().ok().map(Pid::from_raw);
    Some(ProcStat {
        pid,
        parent: pid_at(1)?,
        group: pid_at(2)?,
        session: pid_at(3)?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpgrp, getppid};

    use super::*;

    #[test]
    fn stat_lines_are_parsed_with_any_program_name() {
        let stat = "7 (a) S 1 (b) R 3 4 5 0 -1 4194304 8 9 10 11 12 13 14 15 20 0 1 0 4711 17 18";
        let read = parse_stat(Pid::from_raw(7), stat);
        let expected = ProcStat {
            pid: Pid::from_raw(7),
            parent: Pid::from_raw(3),
            group: Pid::from_raw(4),
            session: Pid::from_raw(5),
            start_time: 4711,
        };
        assert_eq!(read, Some(expected));
        assert_eq!(parse_stat(Pid::from_raw(7), "7 (a) S 1 2 3"), None);
        assert_eq!(parse_stat(Pid::from_raw(7), ""), None);
    }

    #[test]
    fn the_stat_of_this_process_is_read() {
        let own = read_stat(Pid::this()).unwrap();
        assert_eq!((own.parent, own.group), (getppid(), getpgrp()));
        assert!(read_processes().contains(&own));
        assert!(!read_environ(Pid::this()).is_empty());
        assert!(!read_boot_id().is_empty());
    }
}
