//! Programs that outlived their host.
//!
//! A host that is killed can't end what it runs. So each program that runs
//! has a file that names its process group, when its first process began and
//! when the machine did; the next host ends what it finds. The times tell it
//! from another process that was given the same number since.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_stdx::private_file;
use nix::unistd::Pid;

use super::ending::{kill_group_left_behind, kill_session};
use super::run_mark::RunMark;

/// The file of a program that runs. Gone when dropped.
#[derive(Debug)]
pub struct RunningNote(PathBuf);

impl RunningNote {
    /// Notes that a process runs, as the first of its group; and what marks all
    /// that comes of it, if something does.
    ///
    /// # Errors
    ///
    /// If it does not run any more, or the system says no.
    pub fn write(directory: &Path, process: u32, mark: Option<&RunMark>) -> io::Result<Self> {
        let number = i32::try_from(process).map_err(io::Error::other)?;
        let began = began(Pid::from_raw(number)).ok_or(io::ErrorKind::NotFound)?;
        private_file::create_directory(directory)?;
        let path = directory.join(process.to_string());
        let mark = mark.map_or("", RunMark::as_str);
        let note = format!("{began} {} {mark}", boot());
        private_file::replace_unsynced(&path, note.as_bytes())?;
        Ok(RunningNote(path))
    }
}

impl Drop for RunningNote {
    fn drop(&mut self) {
        // Whoever removed it first wanted the same.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Ends what a process that was killed left running, by the notes in a folder.
/// Returns how many programs there were.
pub fn sweep(directory: &Path) -> usize {
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
        let (noted, of, mark) = (word(), word(), word());
        if let Some(group) = group {
            match began(group) {
                Some(began) if began == noted => {
                    kill_session(group);
                    ended += 1;
                }
                // The number is somebody else's now.
                Some(_) => {}
                // What it started may have stayed.
                None if of == boot() => ended += usize::from(kill_group_left_behind(group)),
                None => {}
            }
        }
        if let Some(mark) = RunMark::noted(mark).filter(|_| of == boot()) {
            mark.kill_all();
        }
        drop(RunningNote(path));
    }
    ended
}

/// When a process began, in ticks since the machine did; from `/proc`.
fn began(process: Pid) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may have anything in it, but ends with the last
    // bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(ToOwned::to_owned)
}

/// Which run of the machine this is; from `/proc`.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}
