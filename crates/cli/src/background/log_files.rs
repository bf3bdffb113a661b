//! The log files of a host in the background.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use agenthost_stdx::private_file;
use agenthost_store::LOG_DIR;
use anyhow::Context;

use crate::config;

/// Size at which the log file is rotated, in bytes.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// Number of rotated files that are kept beside the log file.
const MAX_OLD_LOGS: usize = 4;

/// The paths of the log files for a data directory.
#[derive(Debug, Clone)]
pub(crate) struct LogFiles {
    directory: PathBuf,
}

impl LogFiles {
    /// Returns the files in the state directory of the user, or in a data directory that is not
    /// the default one.
    pub(crate) fn of(data_directory: &Path) -> Self {
        let default = config::default_data_directory().ok();
        let state = config::default_state_directory().ok();
        let directory = match state {
            Some(state) if default.as_deref() == Some(data_directory) => state,
            _ => data_directory.join(LOG_DIR),
        };
        LogFiles { directory }
    }

    pub(crate) fn create_directory(&self) -> anyhow::Result<()> {
        let created = private_file::create_directory(&self.directory);
        created.with_context(|| format!("use log directory `{}`", self.directory.display()))
    }

    /// Returns the path of the log.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.directory.join("host.log")
    }

    /// Returns the path of the log of the runner.
    pub(crate) fn runner_path(&self) -> PathBuf {
        self.directory.join("runner.log")
    }

    /// Returns the path of the file with the error output of the last start.
    pub(crate) fn errors_path(&self) -> PathBuf {
        self.directory.join("host-errors.log")
    }

    /// Returns the path of the file that a program locks while it starts a host.
    pub(crate) fn start_lock_path(&self) -> PathBuf {
        self.directory.join("start.lock")
    }
}

/// Returns the path of a rotated log file; the newest has number 1.
pub(crate) fn old_log_path(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// A log file that is renamed when it is full.
#[derive(Debug)]
pub(crate) struct RotatingLog {
    path: PathBuf,
    file: File,
    length: u64,
    max_bytes: u64,
}

impl RotatingLog {
    /// Opens a log file, to append to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, MAX_LOG_BYTES)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let file = private_file::open_append(path)?;
        let length = file.metadata()?.len();
        Ok(RotatingLog {
            path: path.to_owned(),
            file,
            length,
            max_bytes,
        })
    }

    /// Renames the log and its predecessors, drops the oldest, and begins a new file.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..MAX_OLD_LOGS).rev() {
            let (from, to) = (
                old_log_path(&self.path, number),
                old_log_path(&self.path, number + 1),
            );
            match std::fs::rename(from, to) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, old_log_path(&self.path, 1))?;
        self.file = private_file::open_append(&self.path)?;
        self.length = 0;
        Ok(())
    }
}

impl Write for RotatingLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.length > 0 && self.length + bytes.len() as u64 > self.max_bytes {
            // A log that cannot be rotated is better than a lost line.
            if let Err(error) = self.rotate() {
                writeln!(self.file, "failed to rotate the log: {error}")?;
                self.length = 0;
            }
        }
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_rotated_and_the_oldest_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("host.log");
        let mut log = RotatingLog::with_limit(&path, 10).unwrap();
        for number in 0..8 {
            log.write_all(format!("line {number}\n").as_bytes())
                .unwrap();
        }
        drop(log);
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "line 7\n");
        assert_eq!(read(&old_log_path(&path, 1)), "line 6\n");
        assert_eq!(read(&old_log_path(&path, 4)), "line 3\n");
        assert!(!old_log_path(&path, 5).exists());
        // A restarted host appends.
        let mut log = RotatingLog::with_limit(&path, 20).unwrap();
        log.write_all(b"more\n").unwrap();
        assert_eq!(read(&path), "line 7\nmore\n");
    }

    #[test]
    fn a_log_that_cannot_be_rotated_keeps_growing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("host.log");
        std::fs::create_dir(old_log_path(&path, 3)).unwrap();
        std::fs::create_dir_all(old_log_path(&path, 4).join("folder")).unwrap();
        let mut log = RotatingLog::with_limit(&path, 10).unwrap();
        log.write_all(b"first line\n").unwrap();
        log.write_all(b"second line\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("first line\nfailed to rotate the log: "));
        assert!(text.ends_with("second line\n"), "{text}");
    }
}
