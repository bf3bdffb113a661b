//! Restores files from a tree: all of them, or none.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::diff::{FileDiff, TreeEntry};
use super::repository::ShadowRepository;
use super::{ChangesError, path_list};
use crate::file_uri::uri_of_raw;

/// The files of one folder that are to be restored.
pub(super) struct RestorePlan<'a> {
    repository: &'a ShadowRepository,
    /// Tree with the state to restore, and tree with the current state for a rollback.
    target_tree: String,
    current_tree: String,
    /// Paths in each tree. Submodules are excluded, because the host does not change their
    /// files.
    before: BTreeSet<Vec<u8>>,
    after: BTreeSet<Vec<u8>>,
    file_count: usize,
}

impl<'a> RestorePlan<'a> {
    pub(super) fn new(
        repository: &'a ShadowRepository,
        from: String,
        now: String,
        differences: &[FileDiff],
    ) -> Self {
        let ours = |one: &&FileDiff| {
            let mut sides = one.before.iter().chain(&one.after);
            !sides.any(TreeEntry::is_submodule)
        };
        let ours: Vec<_> = differences.iter().filter(ours).collect();
        let names = |side: fn(&FileDiff) -> Option<&TreeEntry>| {
            let sides = ours.iter().filter_map(|one| side(one));
            sides.map(|side| side.name.clone()).collect()
        };
        RestorePlan {
            repository,
            target_tree: from,
            current_tree: now,
            before: names(|one| one.before.as_ref()),
            after: names(|one| one.after.as_ref()),
            file_count: ours.len(),
        }
    }

    /// Checks that no directory with unknown files is in the way of a restored file: they would
    /// be lost.
    fn check_unknown_files(&self) -> Result<(), ChangesError> {
        for name in &self.before {
            let path = self.repository.absolute_path(name);
            if path.is_dir() && !path.is_symlink() {
                let mut folder = name.clone();
                folder.push(b'/');
                let known = self.after.iter().filter(|name| name.starts_with(&folder));
                if count_files(&path)? > known.count() {
                    return Err(ChangesError::FileChanged(uri_of_raw(&path)));
                }
            }
        }
        Ok(())
    }

    fn execute(&self) -> Result<(), ChangesError> {
        let gone = self.after.difference(&self.before);
        remove_files(self.repository, gone)?;
        check_out_files(self.repository, &self.target_tree, &self.before)
    }

    /// Removes the files from the user's staged changes.
    pub(super) fn unstage(&self) -> Result<(), ChangesError> {
        let git = self
            .repository
            .require_user_git()?
            .in_other_repository(&self.repository.top);
        let born = git
            .try_read_line(["rev-parse", "--quiet", "--verify", "HEAD"])?
            .is_some();
        let (files, list) = ("--pathspec-from-file=-", "--pathspec-file-nul");
        let names = path_list::join_paths(self.before.union(&self.after));
        if names.is_empty() {
            return Ok(());
        }
        let done = if born {
            git.run(["reset", "--quiet", files, list], &names)?
        } else {
            let remove = ["rm", "--cached", "--quiet", "--ignore-unmatch", files, list];
            git.run(remove, &names)?
        };
        done.into_stdout()?;
        Ok(())
    }

    /// Restores the state before [`RestorePlan::execute`].
    fn roll_back(&self) -> Result<(), ChangesError> {
        let new = self.before.difference(&self.after);
        remove_files(self.repository, new)?;
        check_out_files(self.repository, &self.current_tree, &self.after)
    }
}

/// Executes all plans and returns the number of restored files. If one plan fails, all are
/// rolled back.
pub(super) fn restore_files(plans: &[RestorePlan<'_>]) -> Result<usize, ChangesError> {
    plans
        .iter()
        .try_for_each(RestorePlan::check_unknown_files)?;
    for (index, plan) in plans.iter().enumerate() {
        let Err(error) = plan.execute() else {
            continue;
        };
        for done in plans.iter().take(index + 1) {
            done.roll_back().map_err(|worse| {
                let reason = format!("{error}; the rollback failed, too: {worse}");
                ChangesError::Io(reason)
            })?;
        }
        return Err(error);
    }
    Ok(plans.iter().map(|plan| plan.file_count).sum())
}

/// Returns the number of files below a directory.
fn count_files(folder: &Path) -> Result<usize, ChangesError> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() {
            count_files(&entry.path())?
        } else {
            1
        };
    }
    Ok(count)
}

fn check_out_files(
    repository: &ShadowRepository,
    tree: &str,
    files: &BTreeSet<Vec<u8>>,
) -> Result<(), ChangesError> {
    if files.is_empty() {
        return Ok(());
    }
    let index = repository.index.with_extension("restore");
    let git = repository.shadow.clone().with_env("GIT_INDEX_FILE", &index);
    git.read_output(["read-tree", tree])?;
    let list = path_list::join_paths(files);
    let done = git.run(["checkout-index", "--force", "-z", "--stdin"], &list)?;
    std::fs::remove_file(&index)?;
    done.into_stdout()?;
    Ok(())
}

/// Removes files, and the directories that become empty.
fn remove_files<'n>(
    repository: &ShadowRepository,
    names: impl Iterator<Item = &'n Vec<u8>>,
) -> Result<(), ChangesError> {
    let folder = Dir::open_ambient_dir(&repository.directory, ambient_authority())?;
    for name in names {
        let path = repository.absolute_path(name);
        let Ok(path) = path.strip_prefix(&repository.directory) else {
            continue;
        };
        match folder.remove_file(path) {
            Err(error) if !is_missing(error.kind()) => return Err(error.into()),
            _ => {}
        }
        let parents = path.ancestors().skip(1);
        // A directory that is not empty stays, and so do its parents.
        for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
            if folder.remove_dir(parent).is_err() {
                break;
            }
        }
    }
    Ok(())
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
