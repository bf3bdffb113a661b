//! Where a repository stands: its branch, and how far it is from others.

use std::path::Path;

use agenthost_core::GitStatus;

use super::ChangesError;
use super::repository::ShadowRepository;
use super::{diff, worktrees};

/// What is under way in a repository, by the file that says so.
const PENDING_OPERATION_FILES: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// What git says; none if the folder is in no repository of the user.
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

/// What has to be finished first, by what git keeps of it.
pub(super) fn pending_operation(git_dir: &Path) -> Option<String> {
    let mut all = PENDING_OPERATION_FILES.iter();
    let found = all.find(|(file, _)| git_dir.join(file).exists());
    found.map(|(_, what)| (*what).to_owned())
}

/// The branch that the current one is based on: what the host noted when it
/// made the branch, else what the repository calls its default.
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

/// The tree where the branch parted from the one it is based on. Without one,
/// that is the last commit.
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
