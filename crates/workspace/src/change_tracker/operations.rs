//! Changeset operations of users: stage, commit, undo, patch, apply and merge.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use agenthost_core::{DiffEndpoint, GitStatus, OperationKind, OperationRequest, OperationResult};
use agenthost_protocol::changeset::ChangesetOperationFollowUp;
use agenthost_protocol::common::ContentRef;
use agenthost_stdx::result::IgnoreResult;

use super::diff::FileDiff;
use super::object_address::{GitContentUri, GitObjectKind};
use super::repository::ShadowRepository;
use super::restore::{RestorePlan, restore_files};
use super::tree::WorkingTreeSnapshot;
use super::{ChangesError, OPERATION_TIMEOUT, SessionRepositories, diff, status};
use crate::file_service::MAX_FILE_BYTES;
use crate::file_uri::{path_of, uri_of_raw};
use crate::git::{GitCommand, GitOutput};

/// Runs an operation. A failed undo, apply or merge leaves the files unchanged. A commit or stage
/// that fails in one folder keeps the result in the folders before it.
pub(super) fn run_operation(
    tracked: &SessionRepositories,
    repositories: &[ShadowRepository],
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    if request.operation != OperationKind::ShowPatch {
        // Without the filters of the repository, files would be written in the wrong form, for
        // example unencrypted.
        for repository in repositories {
            if let Some(git) = &repository.user_git {
                git.check_settings_allowed()?;
                git.check_nested_allowed(&repository.top)?;
            }
        }
    }
    match request.operation {
        OperationKind::Stage => stage(repositories, request),
        OperationKind::Commit => commit(repositories, request),
        OperationKind::Undo | OperationKind::Restore => {
            undo_changes(tracked, repositories, request)
        }
        OperationKind::ShowPatch => show_patch(tracked, repositories, request),
        OperationKind::Apply => {
            apply_to_origin(tracked, primary_repository(repositories)?, request)
        }
        OperationKind::Merge => merge_into_base(primary_repository(repositories)?),
    }
}

fn primary_repository(
    repositories: &[ShadowRepository],
) -> Result<&ShadowRepository, ChangesError> {
    repositories.first().ok_or(ChangesError::NoFolder)
}

fn refused<T>(reason: impl Into<String>) -> Result<T, ChangesError> {
    Err(ChangesError::Refused(reason.into()))
}

fn operation_result(message: impl Into<String>) -> OperationResult {
    OperationResult {
        message: message.into(),
        follow_up: None,
    }
}

fn stage(
    repositories: &[ShadowRepository],
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    let Some(file) = &request.file else {
        for repository in repositories {
            repository
                .require_user_git()?
                .read_output(["add", "--all", "--", "."])?;
        }
        return Ok(operation_result("Everything is staged."));
    };
    let Some(path) = path_of(file) else {
        return refused("the file is not on this machine");
    };
    let holds = |repository: &&ShadowRepository| path.starts_with(&repository.directory);
    let Some(repository) = repositories.iter().find(holds) else {
        return refused("the file is in none of the folders of the session");
    };
    let arguments = ["add", "--all", "--"].map(AsRef::as_ref);
    let arguments = arguments.into_iter().chain([path.as_os_str()]);
    repository.require_user_git()?.read_output(arguments)?;
    Ok(operation_result("The file is staged."))
}

/// Commits the uncommitted changes of each folder.
fn commit(
    repositories: &[ShadowRepository],
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    let mut commits = Vec::new();
    for repository in repositories.iter().filter(|one| one.user_git.is_some()) {
        let standing = status::git_status(repository)?.unwrap_or_default();
        if let Some(under_way) = standing.operation_in_progress {
            return refused(format!("{under_way} is in progress: finish it first"));
        }
        if standing.uncommitted > 0 {
            commits.push(commit_folder(repository, &request.message)?);
        }
    }
    match &*commits {
        [] => refused("there is nothing to commit"),
        commits => Ok(operation_result(format!(
            "Committed {}",
            commits.join(", ")
        ))),
    }
}

/// Commits the changes of one folder. Restores the index if the commit fails.
fn commit_folder(repository: &ShadowRepository, message: &str) -> Result<String, ChangesError> {
    let git = repository.require_user_git()?;
    let index = repository.user_index.as_deref();
    let staged = match index.map(std::fs::read) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        staged => staged.and_then(Result::ok),
    };
    let committed = git.read_output(["add", "--all", "--", "."]).and_then(|_| {
        let commit = ["commit", "--quiet", "--message", message, "--", "."];
        git.run_with_hooks(commit)?.into_stdout()
    });
    if let Err(error) = committed {
        if let Some(index) = index {
            restore_index(index, staged.as_deref())?;
        }
        return Err(error.into());
    }
    Ok(git.read_line(["log", "-1", "--format=%h %s"])?)
}

/// Restores the user's index under the lock file of git, so that no other process changes it
/// meanwhile.
fn restore_index(index: &Path, staged: Option<&[u8]>) -> Result<(), ChangesError> {
    let lock = index.with_extension("lock");
    let mut file = File::options().write(true).create_new(true).open(&lock)?;
    let Some(staged) = staged else {
        std::fs::remove_file(lock)?;
        return Ok(std::fs::remove_file(index)?);
    };
    let mode = std::fs::metadata(index).map(|found| found.permissions());
    let written = file
        .write_all(staged)
        .and_then(|()| mode.and_then(|mode| file.set_permissions(mode)));
    let placed = written.and_then(|()| std::fs::rename(&lock, index));
    placed.inspect_err(|_| {
        std::fs::remove_file(&lock).ignore_secondary();
    })?;
    Ok(())
}

/// Restores files to the start of the range. Fails if a file was changed after the end of the
/// range, unless the operation is [`OperationKind::Restore`].
fn undo_changes(
    tracked: &SessionRepositories,
    repositories: &[ShadowRepository],
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    let (mut plans, mut large) = (Vec::new(), 0);
    for repository in repositories {
        let Some(from) = tracked.endpoint_tree(repository, &request.range.from)? else {
            continue;
        };
        let to = match request.operation {
            OperationKind::Restore => &DiffEndpoint::WorkingTree,
            _ => &request.range.to,
        };
        let Some(to) = tracked.endpoint_tree(repository, to)? else {
            continue;
        };
        let mut differences =
            diff::compare_from_endpoint(repository, &request.range.from, &from, &to)?;
        differences.retain(|difference| is_selected(repository, difference, request));
        let now = repository.snapshot()?;
        check_unchanged(repository, &to, now, &differences)?;
        large += now.skipped.len();
        plans.push(RestorePlan::new(
            repository,
            from,
            now.tree.clone(),
            &differences,
        ));
    }
    if plans.is_empty() {
        return Err(tracked.missing_checkpoint_error());
    }
    let count = restore_files(&plans)?;
    // Undone changes must not stay staged for the next commit.
    if request.range.from == DiffEndpoint::Head {
        plans.iter().try_for_each(RestorePlan::unstage)?;
    }
    let mut words = match count {
        0 => "No file had to be changed.".to_owned(),
        1 => "Restored 1 file.".to_owned(),
        count => format!("Restored {count} files."),
    };
    if large > 0 {
        words.push_str(" Files of more than 16 MiB were not changed.");
    }
    Ok(operation_result(words))
}

fn is_selected(
    repository: &ShadowRepository,
    difference: &FileDiff,
    request: &OperationRequest,
) -> bool {
    let Some(file) = &request.file else {
        return true;
    };
    let sides = difference.before.iter().chain(&difference.after);
    let mut names = sides.map(|side| uri_of_raw(&repository.absolute_path(&side.name)));
    names.any(|name| name == *file)
}

/// Checks that none of the affected files was changed after `to`, or skipped by the snapshot.
fn check_unchanged(
    repository: &ShadowRepository,
    to: &str,
    now: &WorkingTreeSnapshot,
    differences: &[FileDiff],
) -> Result<(), ChangesError> {
    let since = diff::compare_trees(repository, to, &now.tree)?;
    let sides = since
        .iter()
        .flat_map(|one| one.before.iter().chain(&one.after));
    let since: BTreeSet<_> = sides.map(|side| side.name.as_slice()).collect();
    let touched = |name: &[u8]| since.contains(name) || now.skipped.contains(name);
    for difference in differences {
        let sides = difference.before.iter().chain(&difference.after);
        for side in sides {
            if touched(&side.name) {
                let file = uri_of_raw(&repository.absolute_path(&side.name));
                return Err(ChangesError::FileChanged(file));
            }
        }
    }
    Ok(())
}

/// Returns all differences as a binary patch.
fn make_patch(
    repository: &ShadowRepository,
    from: &str,
    to: &str,
) -> Result<Vec<u8>, ChangesError> {
    // Paths are relative to the folder, because the patch is applied there.
    let prefix = String::from_utf8_lossy(&repository.prefix);
    let relative = format!("--relative={prefix}");
    let how = ["--patch", "--binary", "--find-renames", &*relative];
    diff::run_diff_tree(repository, &how, from, to)
}

fn show_patch(
    tracked: &SessionRepositories,
    repositories: &[ShadowRepository],
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    let mut text = Vec::new();
    for repository in repositories {
        if let Some((from, to)) = tracked.range_trees(repository, &request.range)? {
            text.extend(make_patch(repository, &from, &to)?);
        }
    }
    if text.is_empty() {
        return Ok(operation_result("There are no differences."));
    }
    if text.len() as u64 > MAX_FILE_BYTES {
        return refused("the differences are too large to be shown as text");
    }
    let git = &primary_repository(repositories)?.shadow;
    let written = git.run(["hash-object", "-w", "--stdin"], &text)?;
    let object = String::from_utf8_lossy(&written.into_stdout()?)
        .trim()
        .to_owned();
    let address = GitContentUri {
        session: tracked.key.clone(),
        object: object.clone(),
        kind: GitObjectKind::Blob,
    };
    let content = ContentRef {
        uri: address.to_uri(b"/changes.patch"),
        size_hint: Some(text.len() as u64),
        content_type: Some("text/x-diff".to_owned()),
        nonce: Some(object),
    };
    let external = None;
    Ok(OperationResult {
        message: "The differences, as a patch.".to_owned(),
        follow_up: Some(ChangesetOperationFollowUp { content, external }),
    })
}

/// The folder that a worktree was created from, and the branches of both.
struct WorktreeOrigin {
    folder: GitCommand,
    branch: String,
    base: String,
}

fn worktree_origin(
    repository: &ShadowRepository,
    standing: GitStatus,
) -> Result<WorktreeOrigin, ChangesError> {
    let folder = standing.worktree_of.as_ref().and_then(path_of);
    let (Some(folder), Some(branch), Some(base)) = (folder, standing.branch, standing.base) else {
        return refused("this session has no worktree, or its branch was deleted");
    };
    Ok(WorktreeOrigin {
        folder: repository.require_user_git()?.in_other_repository(&folder),
        branch,
        base,
    })
}

/// Applies the changes to the folder that the worktree was created from: all of them, or none.
fn apply_to_origin(
    tracked: &SessionRepositories,
    repository: &ShadowRepository,
    request: &OperationRequest,
) -> Result<OperationResult, ChangesError> {
    let standing = status::git_status(repository)?.unwrap_or_default();
    let origin = worktree_origin(repository, standing)?;
    let Some((from, to)) = tracked.range_trees(repository, &request.range)? else {
        return Err(tracked.missing_checkpoint_error());
    };
    let patch = make_patch(repository, &from, &to)?;
    if patch.is_empty() {
        return refused("there is nothing to apply");
    }
    let arguments = ["apply", "--whitespace=nowarn", "--binary", "-"];
    origin.folder.run(arguments, &patch)?.into_stdout()?;
    Ok(operation_result(
        "The changes are in the folder, not committed.",
    ))
}

/// Merges the branch of the worktree into its base, in the folder where that is checked out.
fn merge_into_base(repository: &ShadowRepository) -> Result<OperationResult, ChangesError> {
    let standing = status::git_status(repository)?.unwrap_or_default();
    if standing.uncommitted > 0 {
        return refused("there are changes that are not committed: commit them first");
    }
    let WorktreeOrigin {
        folder,
        branch,
        base,
    } = worktree_origin(repository, standing)?;
    let git_dir = PathBuf::from(folder.read_line(["rev-parse", "--absolute-git-dir"])?);
    if let Some(what) = status::pending_operation(&git_dir) {
        return refused(format!(
            "{what} is in progress in the folder: finish it first"
        ));
    }
    let there = folder.try_read_line(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    if there.as_ref() != Some(&base) {
        return refused(format!(
            "`{base}` is not checked out in the folder that the worktree was created from"
        ));
    }
    let reference = format!("refs/heads/{branch}");
    let message = format!("Merge branch '{branch}'");
    let merge = [
        "merge",
        "--quiet",
        "-m",
        message.as_str(),
        reference.as_str(),
    ];
    let merged = folder
        .run_with_hooks(merge)
        .and_then(GitOutput::into_stdout);
    if let Err(error) = merged {
        if status::pending_operation(&git_dir).is_some() {
            folder
                .with_timeout(OPERATION_TIMEOUT)
                .read_output(["merge", "--abort"])?;
        }
        return Err(error.into());
    }
    Ok(operation_result(format!(
        "`{branch}` is merged into `{base}`."
    )))
}
