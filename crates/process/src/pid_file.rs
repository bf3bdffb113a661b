//! Pid files with which the next host kills the processes of a host that was killed.
//!
//! A host that is killed can't end its child processes. So each child has a file with its
//! process group, the start time of the leader and the boot id of the machine. The start time
//! and the boot id distinguish the leader from another process that has reused its id.
//!
//! The id is known only after the child has started. [`PidFile::reserve`] covers the time
//! before: it writes a file with the marker alone, by which the next host finds the child.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_stdx::private_file;
use agenthost_stdx::result::IgnoreMissing;
use nix::unistd::Pid;

use crate::marker::EnvMarker;
use crate::procfs::{self, pid_of};
use crate::session::{kill_orphaned_group, kill_session};

/// The pid file of a running process. It is removed on drop.
#[derive(Debug)]
pub struct PidFile(PathBuf);

impl PidFile {
    /// Writes a file with the marker of a process that is about to be started, to be held until
    /// [`Self::create`] has written the pid file.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if the file can't be written.
    pub fn reserve(directory: &Path, marker: &EnvMarker) -> io::Result<Self> {
        private_file::create_directory(directory)?;
        // The name is no number, so it never names a process.
        let path = directory.join(marker.as_str());
        let record = format!("- {} {}", procfs::read_boot_id(), marker.as_str());
        private_file::replace_unsynced(&path, record.as_bytes())?;
        Ok(PidFile(path))
    }

    /// Writes the pid file of a process that leads its group, with the marker of its descendants.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::NotFound`] if the process has ended, and the error of the system if
    /// the file can't be written.
    pub fn create(directory: &Path, process: u32, marker: Option<&EnvMarker>) -> io::Result<Self> {
        let start_time = start_time(pid_of(process)).ok_or(io::ErrorKind::NotFound)?;
        private_file::create_directory(directory)?;
        let path = directory.join(process.to_string());
        let marker = marker.map_or("", EnvMarker::as_str);
        let record = format!("{start_time} {} {marker}", procfs::read_boot_id());
        private_file::replace_unsynced(&path, record.as_bytes())?;
        Ok(PidFile(path))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ignore_missing("failed to remove a pid file");
    }
}

/// Kills the processes of a host that was killed, by the pid files in a directory, and removes
/// the files. Returns the number of programs that were still running.
pub fn kill_leftovers(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let mut ended = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str());
        let group = name.and_then(|name| name.parse().ok()).map(Pid::from_raw);
        let record = std::fs::read_to_string(&path).unwrap_or_default();
        let mut fields = record.split(' ');
        let mut field = || fields.next().unwrap_or_default();
        let (recorded_start, boot_id, marker) = (field(), field(), field());
        let is_this_boot = boot_id == procfs::read_boot_id();
        if let Some(group) = group {
            match start_time(group) {
                Some(start_time) if is_this_boot && start_time == recorded_start => {
                    kill_session(group);
                    ended += 1;
                }
                // Another process has reused the id.
                Some(_) => {}
                // The leader has exited, but members of its group may still run.
                None if is_this_boot => ended += usize::from(kill_orphaned_group(group)),
                None => {}
            }
        }
        if let Some(marker) = EnvMarker::from_record(marker).filter(|_| is_this_boot) {
            marker.kill_all();
        }
        drop(PidFile(path));
    }
    ended
}

/// Returns the start time of a process as pid files have it.
fn start_time(process: Pid) -> Option<String> {
    let stat = procfs::read_stat(process)?;
    Some(stat.start_time.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn spawn(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Counts the members of a group that have not ended.
    fn count_members(group: u32) -> usize {
        let processes = procfs::read_processes().into_iter();
        let members = processes.filter(|process| process.group == pid_of(group));
        let running = members.filter(|process| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid));
            stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
        });
        running.count()
    }

    /// A host that is killed leaves its pid files. With them the next host kills the remaining
    /// processes, also if the agent itself has exited.
    #[test]
    fn processes_of_a_killed_host_are_killed() {
        let notes = tempfile::tempdir().unwrap();
        let mut there = spawn("exec sleep 1000");
        let mut gone = spawn("sleep 1000 > /dev/null & echo; wait");
        let mut said = [0];
        gone.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        for id in [there.id(), gone.id()] {
            std::mem::forget(PidFile::create(notes.path(), id, None).unwrap());
        }
        gone.kill().unwrap();
        gone.wait().unwrap();
        let group = gone.id();
        assert!(count_members(group) > 0);
        assert_eq!(kill_leftovers(notes.path()), 2);
        there.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while count_members(group) > 0 {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }

    /// A host that is killed right after it has started a child has no pid file of it yet.
    #[test]
    fn a_child_that_has_no_pid_file_yet_is_found_by_its_marker() {
        let notes = tempfile::tempdir().unwrap();
        let marker = EnvMarker::unique();
        std::mem::forget(PidFile::reserve(notes.path(), &marker).unwrap());
        let mut child = Command::new("sh")
            .args(["-c", "echo started; read line"])
            .process_group(0)
            .env(crate::MARKER_VARIABLE, marker.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // `spawn` returns before the kernel shows the environment of the new program.
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        kill_leftovers(notes.path());
        assert!(!child.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }

    /// Process ids and start times repeat after a restart of the machine.
    #[test]
    fn a_pid_file_of_another_boot_kills_nothing() {
        let notes = tempfile::tempdir().unwrap();
        let mut child = spawn("exec sleep 1000");
        let start_time = start_time(pid_of(child.id())).unwrap();
        let path = notes.path().join(child.id().to_string());
        std::fs::write(&path, format!("{start_time} another-boot ")).unwrap();
        assert_eq!(kill_leftovers(notes.path()), 0);
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_pid_file_has_start_time_boot_and_marker() {
        let notes = tempfile::tempdir().unwrap();
        let marker = EnvMarker::unique();
        let own = std::process::id();
        let file = PidFile::create(notes.path(), own, Some(&marker)).unwrap();
        let record = std::fs::read_to_string(notes.path().join(own.to_string())).unwrap();
        let start_time = start_time(pid_of(own)).unwrap();
        let boot_id = procfs::read_boot_id();
        assert_eq!(
            record,
            format!("{start_time} {boot_id} {}", marker.as_str())
        );
        drop(file);
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }
}
