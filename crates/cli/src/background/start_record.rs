//! The arguments of the last start, so that `agenthost restart` can repeat it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use agenthost_stdx::private_file;
use anyhow::Context;
use serde::{Deserialize, Serialize};

/// File in the data directory.
const RECORD_FILE: &str = "start.json";

/// A start of a host in the background.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartRecord {
    pub(crate) pid: u32,
    /// Arguments of `agenthost serve`.
    arguments: Vec<String>,
}

impl StartRecord {
    pub(crate) fn new(pid: u32, arguments: Vec<OsString>) -> anyhow::Result<Self> {
        let arguments = arguments.into_iter().map(OsString::into_string);
        let arguments = arguments.collect::<Result<_, _>>();
        let arguments = arguments
            .map_err(|argument| anyhow::anyhow!("`{}` is not UTF-8", argument.display()))?;
        Ok(StartRecord { pid, arguments })
    }

    pub(crate) fn write(&self, data_directory: &Path) -> anyhow::Result<()> {
        let path = data_directory.join(RECORD_FILE);
        let text = serde_json::to_string(self)?;
        private_file::replace_unsynced(&path, text.as_bytes())
            .with_context(|| format!("write `{}`", path.display()))
    }

    /// Reads the record, if there is one.
    pub(crate) fn read(data_directory: &Path) -> anyhow::Result<Option<Self>> {
        let path = data_directory.join(RECORD_FILE);
        let text = match private_file::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("read `{}`", path.display()))?,
        };
        let record = serde_json::from_str(&text);
        record
            .map(Some)
            .with_context(|| format!("read `{}`: it is malformed", path.display()))
    }

    pub(crate) fn into_arguments(self) -> Vec<OsString> {
        self.arguments.into_iter().map(OsString::from).collect()
    }
}
