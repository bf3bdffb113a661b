//! Limits the bytes of content that each session may store.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard};

use agenthost_stdx::sync::lock;
use cap_std::fs::Dir;

/// Quota of one session. Agents decide how much they store, so without a limit one could fill
/// the disk. Edits are stored with the whole file before and after, so the quota has to be
/// large.
pub(super) const MAX_SESSION_BYTES: u64 = 1024 * 1024 * 1024;

/// The used bytes of each session's directory, measured on first use and cached.
#[derive(Debug)]
pub(super) struct ContentQuota {
    limit: u64,
    used: Mutex<BTreeMap<String, u64>>,
}

impl ContentQuota {
    /// Creates a quota of this many bytes for each session.
    pub(super) fn new(limit: u64) -> Self {
        ContentQuota {
            limit,
            used: Mutex::default(),
        }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Reserves bytes in the directory of a session. Returns `false` if they exceed the quota.
    pub(super) fn reserve(&self, root: &Dir, folder: &str, bytes: u64) -> io::Result<bool> {
        let mut used = self.used();
        let before = match used.get(folder) {
            Some(bytes) => *bytes,
            None => measure_folder(root, folder)?,
        };
        let after = before.saturating_add(bytes);
        let fits = after <= self.limit;
        used.insert(folder.to_owned(), if fits { after } else { before });
        Ok(fits)
    }

    /// Releases bytes that were reserved and not written.
    pub(super) fn release(&self, folder: &str, bytes: u64) {
        if let Some(used) = self.used().get_mut(folder) {
            *used = used.saturating_sub(bytes);
        }
    }

    /// Removes the cached usage of a removed directory.
    pub(super) fn remove(&self, folder: &str) {
        self.used().remove(folder);
    }

    fn used(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        lock(&self.used)
    }
}

/// Returns the total size of the files of a directory; zero if it does not exist.
fn measure_folder(root: &Dir, folder: &str) -> io::Result<u64> {
    let entries = match root.read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut bytes = 0_u64;
    for entry in entries {
        bytes = bytes.saturating_add(entry?.metadata()?.len());
    }
    Ok(bytes)
}
