//! Files become what they were: all of them, or none.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::compare::{Difference, Side};
use super::repository::Repository;
use super::{ChangesError, names};
use crate::address::uri_of_raw;

/// Files of one folder that are to become what they were.
pub(super) struct Plan<'a> {
    repository: &'a Repository,
    /// The tree that has them as they were, and the one that has them as they
    /// are.
    from: String,
    now: String,
    /// Their names in each. What is checked out of a repository of its own is
    /// not ours to change.
    before: BTreeSet<Vec<u8>>,
    after: BTreeSet<Vec<u8>>,
    files: usize,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        from: String,
        now: String,
        differences: &[Difference],
    ) -> Self {
        let ours = |one: &&Difference| {
            let mut sides = one.before.iter().chain(&one.after);
            !sides.any(Side::is_submodule)
        };
        let ours: Vec<_> = differences.iter().filter(ours).collect();
        let names = |side: fn(&Difference) -> Option<&Side>| {
            let sides = ours.iter().filter_map(|one| side(one));
            sides.map(|side| side.name.clone()).collect()
        };
        Plan {
            repository,
            from,
            now,
            before: names(|one| one.before.as_ref()),
            after: names(|one| one.after.as_ref()),
            files: ours.len(),
        }
    }

    /// Nothing that is in no tree may be in the way: it would be lost.
    fn check(&self) -> Result<(), ChangesError> {
        for name in &self.before {
            let path = self.repository.path(name);
            if path.is_dir() && !path.is_symlink() {
                let mut folder = name.clone();
                folder.push(b'/');
                let known = self.after.iter().filter(|name| name.starts_with(&folder));
                if count_files(&path)? > known.count() {
                    return Err(ChangesError::Changed(uri_of_raw(&path)));
                }
            }
        }
        Ok(())
    }

    fn carry_out(&self) -> Result<(), ChangesError> {
        let gone = self.after.difference(&self.before);
        remove(self.repository, gone)?;
        check_out(self.repository, &self.from, &self.before)
    }

    /// Takes the files out of the next commit.
    pub(super) fn unstage(&self) -> Result<(), ChangesError> {
        let git = self.repository.user()?.at(&self.repository.top);
        let born = git
            .maybe(["rev-parse", "--quiet", "--verify", "HEAD"])?
            .is_some();
        let (files, list) = ("--pathspec-from-file=-", "--pathspec-file-nul");
        let names = names::join(self.before.union(&self.after));
        if names.is_empty() {
            return Ok(());
        }
        let done = if born {
            git.run(["reset", "--quiet", files, list], &names)?
        } else {
            let remove = ["rm", "--cached", "--quiet", "--ignore-unmatch", files, list];
            git.run(remove, &names)?
        };
        done.succeeded()?;
        Ok(())
    }

    /// Makes the files what they were before somebody wanted to change them.
    fn roll_back(&self) -> Result<(), ChangesError> {
        let new = self.before.difference(&self.after);
        remove(self.repository, new)?;
        check_out(self.repository, &self.now, &self.after)
    }
}

/// Carries plans out, and says how many files that was. If one can't be, none
/// is.
pub(super) fn put_back(plans: &[Plan<'_>]) -> Result<usize, ChangesError> {
    plans.iter().try_for_each(Plan::check)?;
    for (index, plan) in plans.iter().enumerate() {
        let Err(error) = plan.carry_out() else {
            continue;
        };
        for done in plans.iter().take(index + 1) {
            done.roll_back().map_err(|worse| {
                let reason = format!("{error}; and not all files are as they were: {worse}");
                ChangesError::Io(reason)
            })?;
        }
        return Err(error);
    }
    Ok(plans.iter().map(|plan| plan.files).sum())
}

/// How many files there are below a folder.
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

fn check_out(
    repository: &Repository,
    tree: &str,
    files: &BTreeSet<Vec<u8>>,
) -> Result<(), ChangesError> {
    if files.is_empty() {
        return Ok(());
    }
    let index = repository.index.with_extension("restore");
    let git = repository.shadow.clone().with("GIT_INDEX_FILE", &index);
    git.ask(["read-tree", tree])?;
    let list = names::join(files);
    let done = git.run(["checkout-index", "--force", "-z", "--stdin"], &list)?;
    std::fs::remove_file(&index)?;
    done.succeeded()?;
    Ok(())
}

/// Removes files, and the folders that are empty without them.
fn remove<'n>(
    repository: &Repository,
    names: impl Iterator<Item = &'n Vec<u8>>,
) -> Result<(), ChangesError> {
    let folder = Dir::open_ambient_dir(&repository.directory, ambient_authority())?;
    for name in names {
        let path = repository.path(name);
        let Ok(path) = path.strip_prefix(&repository.directory) else {
            continue;
        };
        match folder.remove_file(path) {
            Err(error) if !is_gone(error.kind()) => return Err(error.into()),
            _ => {}
        }
        let parents = path.ancestors().skip(1);
        // A folder that is not empty stays, and so do those above it.
        for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
            if folder.remove_dir(parent).is_err() {
                break;
            }
        }
    }
    Ok(())
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
