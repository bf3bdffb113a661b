//! How many bytes of content each session may store.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard};

use agenthost_stdx::sync::lock;
use cap_std::fs::Dir;

/// Bytes of content that one session may store. Agents decide how much they
/// store, so without a limit one could fill the disk. Edits are stored with the
/// whole file before and after, so this has to be generous.
pub(super) const MAX_SESSION_BYTES: u64 = 1024 * 1024 * 1024;

/// The bytes that the folders of sessions hold, as far as that was needed since
/// the start.
#[derive(Debug)]
pub(super) struct ContentQuota {
    limit: u64,
    used: Mutex<BTreeMap<String, u64>>,
}

impl ContentQuota {
    /// Creates a quota of so many bytes for each session.
    pub(super) fn new(limit: u64) -> Self {
        ContentQuota {
            limit,
            used: Mutex::default(),
        }
    }

    /// Returns how many bytes a session may store.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Reserves bytes in the folder of a session. Returns `false` if they do not
    /// fit any more.
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

    /// Gives back bytes that were reserved and not written.
    pub(super) fn release(&self, folder: &str, bytes: u64) {
        if let Some(used) = self.used().get_mut(folder) {
            *used = used.saturating_sub(bytes);
        }
    }

    /// Forgets a folder that is gone.
    pub(super) fn remove(&self, folder: &str) {
        self.used().remove(folder);
    }

    fn used(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        lock(&self.used)
    }
}

/// Returns how many bytes the files of a folder have; zero if there is none.
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
