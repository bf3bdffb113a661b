//! Measures the files in a data directory, for each session.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use agenthost_core::SessionKey;
use agenthost_stdx::disk_space::tree_bytes;
use agenthost_workspace::ChangeTracker;

use crate::config::{CHANGES_DIR, CONTENT_DIR, SCRATCH_DIR};
use crate::workers::customization::PACKAGES_DIR;

/// The bytes that the files of a data directory use on the disk, besides the database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryUsage {
    /// Content that is too large for a state, by session.
    pub content: BTreeMap<SessionKey, u64>,
    /// Checkpoints, by session.
    pub checkpoints: BTreeMap<SessionKey, u64>,
    /// Worktrees, by session.
    pub worktrees: BTreeMap<SessionKey, u64>,
    /// Downloaded plugins and repositories.
    pub packages: u64,
    /// Temporary directories of running programs.
    pub temporary: u64,
}

/// Measures the files in a data directory. A host may run meanwhile. Blocks on the disk.
///
/// # Errors
///
/// If a directory can't be read. Missing directories are empty.
pub fn measure_directory(data_directory: &Path) -> io::Result<DirectoryUsage> {
    let changes = data_directory.join(CHANGES_DIR);
    let worktrees = ChangeTracker::worktrees_in(&changes);
    Ok(DirectoryUsage {
        content: measure_sessions(&data_directory.join(CONTENT_DIR))?,
        checkpoints: measure_sessions(&changes)?,
        worktrees: measure_sessions(&worktrees)?,
        packages: tree_bytes(&data_directory.join(PACKAGES_DIR))?,
        temporary: tree_bytes(&data_directory.join(SCRATCH_DIR))?,
    })
}

impl DirectoryUsage {
    /// Returns the bytes of all files of a session.
    #[must_use]
    pub fn of_session(&self, session: &SessionKey) -> u64 {
        let kinds = [&self.content, &self.checkpoints, &self.worktrees];
        let bytes = kinds.iter().filter_map(|kind| kind.get(session));
        bytes.sum()
    }
}

/// Measures the directories of sessions. Others are left out.
fn measure_sessions(folder: &Path) -> io::Result<BTreeMap<SessionKey, u64>> {
    let mut found = BTreeMap::new();
    for path in list(folder)? {
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(key) = name.and_then(SessionKey::parse) {
            found.insert(key, tree_bytes(&path)?);
        }
    }
    Ok(found)
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}
