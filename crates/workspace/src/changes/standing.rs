//! Where a repository stands: its branch, and how far it is from others.

use std::path::Path;

use agenthost_core::GitStanding;

use super::ChangesError;
use super::repository::Repository;
use super::{compare, worktrees};

/// What is under way in a repository, by the file that says so.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// What git says; none if the folder is in no repository of the user.
pub(super) fn of(repository: &Repository) -> Result<Option<GitStanding>, ChangesError> {
    let (Some(_), Some(git_dir)) = (&repository.real, &repository.git_dir) else {
        return Ok(None);
    };
    let git = &repository.shadow;
    let branch = git.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let follows = [
        "rev-parse",
        "--abbrev-ref",
        "--symbolic-full-name",
        "@{upstream}",
    ];
    let upstream = git.maybe(follows)?;
    let counts = match &upstream {
        Some(_) => {
            let count = ["rev-list", "--left-right", "--count", "@{upstream}...HEAD"];
            git.maybe(count)?
        }
        None => None,
    };
    let mut counts = counts.iter().flat_map(|line| line.split_whitespace());
    let mut count = || counts.next().and_then(|count| count.parse().ok());
    let (incoming, outgoing) = (count(), count());
    let committed = repository.committed()?;
    let now = &repository.now()?.tree;
    let uncommitted = compare::since_commit(repository, &committed, now)?.len() as u64;
    Ok(Some(GitStanding {
        base: base(repository, branch.as_deref())?,
        branch,
        upstream,
        incoming,
        outgoing,
        uncommitted,
        under_way: under_way(git_dir),
        worktree_of: repository.note_dir().and_then(worktrees::made_from),
    }))
}

/// What has to be finished first, by what git keeps of it.
pub(super) fn under_way(git_dir: &Path) -> Option<String> {
    let mut all = UNDER_WAY.iter();
    let found = all.find(|(file, _)| git_dir.join(file).exists());
    found.map(|(_, what)| (*what).to_owned())
}

/// The branch that the current one is based on: what the host noted when it
/// made the branch, else what the repository calls its default.
fn base(repository: &Repository, branch: Option<&str>) -> Result<Option<String>, ChangesError> {
    let git = &repository.shadow;
    if let Some(git_dir) = repository.note_dir()
        && let Some(base) = worktrees::based_on(git_dir)
    {
        return Ok(Some(base));
    }
    let remote = [
        "symbolic-ref",
        "--quiet",
        "--short",
        "refs/remotes/origin/HEAD",
    ];
    if let Some(base) = git.maybe(remote)? {
        return Ok(Some(base));
    }
    for name in ["main", "master"] {
        let full = format!("refs/heads/{name}");
        let known = git.maybe(["rev-parse", "--quiet", "--verify", full.as_str()])?;
        if known.is_some() && branch != Some(name) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// The tree where the branch parted from the one it is based on. Without one,
/// that is the last commit.
pub(super) fn branch_point(repository: &Repository) -> Result<String, ChangesError> {
    let git = &repository.shadow;
    let branch = git.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let Some(base) = base(repository, branch.as_deref())? else {
        return repository.committed();
    };
    let Some(commit) = git.maybe(["merge-base", "--end-of-options", "HEAD", base.as_str()])? else {
        return repository.committed();
    };
    Ok(git.line(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?)
}
