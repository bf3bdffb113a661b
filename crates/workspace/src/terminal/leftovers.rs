//! Programs that outlived their host.
//!
//! A host that is killed can't end what it runs. So each program that runs
//! has a file that names its process group and when its first process began;
//! the next host ends what it finds. The time tells it from another process
//! that was given the same number since.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use super::ending::kill_session;

/// The file of a program that runs. Gone when dropped.
#[derive(Debug)]
pub(super) struct Record(PathBuf);

impl Record {
    /// Notes that a process group runs.
    pub(super) fn write(directory: &Path, group: Pid) -> io::Result<Self> {
        let began = began(group).ok_or(io::ErrorKind::NotFound)?;
        std::fs::create_dir_all(directory)?;
        let path = directory.join(group.to_string());
        std::fs::write(&path, began)?;
        Ok(Record(path))
    }
}

impl Drop for Record {
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
        let noted = std::fs::read_to_string(&path).ok();
        if let Some(group) = group
            && noted.is_some()
            && noted == began(group)
        {
            kill_session(group);
            ended += 1;
        }
        drop(Record(path));
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
