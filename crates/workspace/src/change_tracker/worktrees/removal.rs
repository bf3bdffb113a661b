//! Removes the worktrees of sessions, and finds the work that would be lost.

use std::path::{Path, PathBuf};

use agenthost_core::{SessionKey, WorktreeDisposal};
use agenthost_protocol::uri::Uri;

use super::{WorktreeRecord, read_record};
use crate::change_tracker::{ChangeTracker, ChangesError, OPERATION_TIMEOUT};
use crate::file_uri::path_of;
use crate::git::GitCommand;

/// Result of the removal of a session's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeRemoval {
    /// The worktree was removed, or there was none.
    Removed,
    /// The worktree or its branch was kept, with the reason.
    Kept(String),
}

/// Work in a worktree that is not in the base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedWork {
    pub directory: PathBuf,
    /// `true` if files have changes that are not committed.
    pub is_changed: bool,
    /// The number of commits that the base branch does not have.
    pub commits: u64,
}

impl ChangeTracker {
    /// Returns the work in the worktree of a session that its removal would lose; `None` if the
    /// session has no worktree, or nothing would be lost.
    ///
    /// # Errors
    ///
    /// Returns an error if the status of the worktree can't be determined.
    pub fn unmerged_work(&self, session: &Uri) -> Result<Option<UnmergedWork>, ChangesError> {
        let parent = self.worktree_parent(&SessionKey::of(session));
        let Some(directory) = first_entry(&parent)? else {
            return Ok(None);
        };
        let git = self.git(&directory, OPERATION_TIMEOUT);
        let is_changed = !read_status(&git)?.is_empty();
        let git_dir = PathBuf::from(git.read_line(["rev-parse", "--absolute-git-dir"])?);
        let base = read_record(&git_dir).map(|record| record.base);
        let commits = match base {
            Some(base) => count_commits(&git, &base, "HEAD")?,
            None => 0,
        };
        let work = UnmergedWork {
            directory,
            is_changed,
            commits,
        };
        Ok((is_changed || commits > 0).then_some(work))
    }

    /// Removes the worktree of a removed session. Ignored files are removed with it. Unless it is
    /// discarded, it stays if it has uncommitted changes, and its branch stays if it has commits
    /// that the base branch does not have.
    ///
    /// # Errors
    ///
    /// Returns an error if the status of the worktree can't be determined. It stays then.
    pub fn remove_worktree(
        &self,
        session: &Uri,
        disposal: WorktreeDisposal,
    ) -> Result<WorktreeRemoval, ChangesError> {
        let parent = self.worktree_parent(&SessionKey::of(session));
        let Some(worktree_path) = first_entry(&parent)? else {
            return Ok(WorktreeRemoval::Removed);
        };
        let here = worktree_path.display();
        let git = self.git(&worktree_path, OPERATION_TIMEOUT);
        if disposal == WorktreeDisposal::KeepWork && !read_status(&git)?.is_empty() {
            let words = format!("the worktree {here} has changes that are not committed");
            return Ok(WorktreeRemoval::Kept(words));
        }
        let git_dir = PathBuf::from(git.read_line(["rev-parse", "--absolute-git-dir"])?);
        let branch = git.try_read_line(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let origin = read_record(&git_dir).filter(|note| Some(&note.branch) == branch.as_ref());
        let origin = origin.and_then(|note| Some((path_of(&note.folder)?, note)));
        let Some((folder, WorktreeRecord { base, branch, .. })) = origin else {
            let words = format!("the worktree {here} is on another branch");
            return Ok(WorktreeRemoval::Kept(words));
        };
        let git = self.git(&folder, OPERATION_TIMEOUT);
        let ahead = match disposal {
            WorktreeDisposal::KeepWork => {
                count_commits(&git, &base, &format!("refs/heads/{branch}"))?
            }
            WorktreeDisposal::Discard => 0,
        };
        let worktree_path = worktree_path.as_os_str();
        // The status was checked above. Without `--force`, git would check it again with
        // programs that were not checked.
        git.read_output([
            "worktree".as_ref(),
            "remove".as_ref(),
            "--force".as_ref(),
            worktree_path,
        ])?;
        std::fs::remove_dir_all(parent)?;
        if ahead > 0 {
            let words = format!("the branch {branch} has commits that are not in {base}");
            return Ok(WorktreeRemoval::Kept(words));
        }
        git.read_output(["branch", "--quiet", "-D", branch.as_str()])?;
        Ok(WorktreeRemoval::Removed)
    }
}

/// Returns the status of a working tree; empty if it has no changes.
fn read_status(git: &GitCommand) -> Result<Vec<u8>, ChangesError> {
    Ok(git.read_output([
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
    ])?)
}

/// Returns the number of commits of a branch that its base branch does not have.
fn count_commits(git: &GitCommand, base: &str, branch: &str) -> Result<u64, ChangesError> {
    let range = format!("{base}..{branch}");
    let count = git.read_line(["rev-list", "--count", "--end-of-options", range.as_str()])?;
    // git prints a number.
    Ok(count.parse().unwrap_or(u64::MAX))
}

/// Returns the first entry of a directory, or `None` if there is none.
fn first_entry(parent: &Path) -> Result<Option<PathBuf>, ChangesError> {
    match std::fs::read_dir(parent) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        entries => {
            let first = entries?.next().transpose()?;
            Ok(first.map(|entry| entry.path()))
        }
    }
}
