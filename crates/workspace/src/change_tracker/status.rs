//! Determines the git status of a repository: branch, upstream, base and pending operations.

use std::path::Path;

use agenthost_core::GitStatus;

use super::ChangesError;
use super::repository::ShadowRepository;
use super::{diff, worktrees};

/// Files in the git directory that show a pending operation, with its name.
const PENDING_OPERATION_FILES: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// Returns the status, or `None` if the folder is not in a repository of the user.
pub(super) fn git_status(repository: &ShadowRepository) -> Result<Option<GitStatus>, ChangesError> {
    let (Some(_), Some(git_dir)) = (&repository.user_git, &repository.git_dir) else {
        return Ok(None);
    };
    let git = &repository.shadow;
    let branch = git.try_read_line(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let follows = [
        "rev-parse",
        "--abbrev-ref",
        "--symbolic-full-name",
        "@{upstream}",
    ];
    let upstream = git.try_read_line(follows)?;
    let counts = match &upstream {
        Some(_) => {
            let count = ["rev-list", "--left-right", "--count", "@{upstream}...HEAD"];
            git.try_read_line(count)?
        }
        None => None,
    };
    let mut counts = counts.iter().flat_map(|line| line.split_whitespace());
    let mut count = || counts.next().and_then(|count| count.parse().ok());
    let (incoming, outgoing) = (count(), count());
    let committed = repository.head_tree()?;
    let now = &repository.snapshot()?.tree;
    let uncommitted = diff::compare_with_commit(repository, &committed, now)?.len() as u64;
    Ok(Some(GitStatus {
        base: base_branch(repository, branch.as_deref())?,
        branch,
        upstream,
        incoming,
        outgoing,
        uncommitted,
        operation_in_progress: pending_operation(git_dir),
        worktree_of: repository.record_dir().and_then(worktrees::recorded_folder),
    }))
}

/// Returns the name of a pending operation, which must be finished before a commit or merge.
pub(super) fn pending_operation(git_dir: &Path) -> Option<String> {
    let mut all = PENDING_OPERATION_FILES.iter();
    let found = all.find(|(file, _)| git_dir.join(file).exists());
    found.map(|(_, what)| (*what).to_owned())
}

/// Returns the branch that the current one is based on: the recorded base of a worktree, else
/// the default branch of the repository.
fn base_branch(
    repository: &ShadowRepository,
    branch: Option<&str>,
) -> Result<Option<String>, ChangesError> {
    let git = &repository.shadow;
    if let Some(git_dir) = repository.record_dir()
        && let Some(base) = worktrees::recorded_base(git_dir)
    {
        return Ok(Some(base));
    }
    let remote = [
        "symbolic-ref",
        "--quiet",
        "--short",
        "refs/remotes/origin/HEAD",
    ];
    if let Some(base) = git.try_read_line(remote)? {
        return Ok(Some(base));
    }
    for name in ["main", "master"] {
        let full = format!("refs/heads/{name}");
        let known = git.try_read_line(["rev-parse", "--quiet", "--verify", full.as_str()])?;
        if known.is_some() && branch != Some(name) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Returns the tree of the merge base with the base branch. Without a base branch, returns that
/// of the last commit.
pub(super) fn merge_base_tree(repository: &ShadowRepository) -> Result<String, ChangesError> {
    let git = &repository.shadow;
    let branch = git.try_read_line(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let Some(base) = base_branch(repository, branch.as_deref())? else {
        return repository.head_tree();
    };
    let Some(commit) =
        git.try_read_line(["merge-base", "--end-of-options", "HEAD", base.as_str()])?
    else {
        return repository.head_tree();
    };
    Ok(git.read_line(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?)
}
