//! Programs that outlived their host.
//!
//! A host that is killed can't end what it runs. So each program that runs
//! has a file that names its process group, when its first process began and
//! when the machine did; the next host ends what it finds. The times tell it
//! from another process that was given the same number since.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_stdx::private_file;
use agenthost_stdx::result::IgnoreMissing;
use nix::unistd::Pid;

use super::exit::{kill_orphaned_group, kill_session};
use super::run_mark::EnvMarker;

/// The file of a program that runs. Gone when dropped.
#[derive(Debug)]
pub struct PidFile(PathBuf);

impl PidFile {
    /// Notes that a process runs, as the first of its group; and what marks all
    /// that comes of it, if something does.
    ///
    /// # Errors
    ///
    /// If it does not run any more, or the system says no.
    pub fn create(directory: &Path, process: u32, marker: Option<&EnvMarker>) -> io::Result<Self> {
        let number = i32::try_from(process).map_err(io::Error::other)?;
        let began = start_time(Pid::from_raw(number)).ok_or(io::ErrorKind::NotFound)?;
        private_file::create_directory(directory)?;
        let path = directory.join(process.to_string());
        let marker = marker.map_or("", EnvMarker::as_str);
        let record = format!("{began} {} {marker}", boot_id());
        private_file::replace_unsynced(&path, record.as_bytes())?;
        Ok(PidFile(path))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ignore_missing("failed to remove a pid file");
    }
}

/// Ends what a process that was killed left running, by the notes in a folder.
/// Returns how many programs there were.
pub fn kill_leftovers(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let mut ended = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str());
        let group = name.and_then(|name| name.parse().ok()).map(Pid::from_raw);
        let noted = std::fs::read_to_string(&path).unwrap_or_default();
        let mut words = noted.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (noted, of, marker) = (word(), word(), word());
        if let Some(group) = group {
            match start_time(group) {
                Some(began) if began == noted => {
                    kill_session(group);
                    ended += 1;
                }
                // The number is somebody else's now.
                Some(_) => {}
                // What it started may have stayed.
                None if of == boot_id() => ended += usize::from(kill_orphaned_group(group)),
                None => {}
            }
        }
        if let Some(mark) = EnvMarker::from_record(marker).filter(|_| of == boot_id()) {
            mark.kill_all();
        }
        drop(PidFile(path));
    }
    ended
}

/// When a process began, in ticks since the machine did; from `/proc`.
fn start_time(process: Pid) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may have anything in it, but ends with the last
    // bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(ToOwned::to_owned)
}

/// Which run of the machine this is; from `/proc`.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}
