//! The record of a runner: how a host finds it, and how it recognizes it.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_process::ProcessIdentity;
use agenthost_stdx::private_file;
use agenthost_stdx::result::IgnoreMissing;
use serde::{Deserialize, Serialize};

/// Name of the record in the data directory.
const RECORD_FILE: &str = "runner.json";

/// The record of a running runner. Only the user of the host can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunnerRecord {
    /// The process. Its start time distinguishes it from another one with the same id.
    pub(crate) process: ProcessIdentity,
    /// The id, which no other runner has.
    pub(crate) id: String,
    /// The secret that a host has to present.
    pub(crate) secret: String,
    /// The socket that the runner listens on.
    pub(crate) socket: PathBuf,
}

impl RunnerRecord {
    /// Reads the record in a data directory. Returns `None` if there is none that can be read.
    pub(crate) fn read(data_directory: &Path) -> Option<Self> {
        let path = data_directory.join(RECORD_FILE);
        let text = match private_file::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "failed to read the record of the runner");
                return None;
            }
            Ok(text) => text,
        };
        let record = serde_json::from_str(&text);
        if record.is_err() {
            tracing::error!(path = %path.display(), "the record of the runner is damaged");
        }
        record.ok()
    }

    /// Writes the record to a data directory.
    pub(crate) fn write(&self, data_directory: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self)?;
        private_file::replace(&data_directory.join(RECORD_FILE), text.as_bytes())
    }

    /// Removes the record from a data directory.
    pub(crate) fn remove(data_directory: &Path) {
        let removed = std::fs::remove_file(data_directory.join(RECORD_FILE));
        removed.ignore_missing("failed to remove the record of the runner");
    }
}
