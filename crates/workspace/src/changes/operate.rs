//! What people do about changes.

use std::path::Path;

use agenthost_core::{ChangeOperation, Moment, Operated, Operation};
use agenthost_protocol::changeset::ChangesetOperationFollowUp;
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::uri::Uri;

use super::compare::Difference;
use super::git::Git;
use super::repository::Repository;
use super::{ChangesError, Kept, compare, put_back, standing, tree};
use crate::address::{path_of, uri_of_raw};

/// Does what is wanted, or nothing.
pub(super) fn operate(
    kept: &Kept,
    repositories: &[Repository],
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    match wanted.operation {
        Operation::Stage => stage(repositories, wanted),
        Operation::Commit => commit(primary(repositories)?, wanted),
        Operation::Undo | Operation::Restore => undo(kept, repositories, wanted),
        Operation::ShowPatch => show_patch(kept, repositories, wanted),
        Operation::Apply => apply(kept, primary(repositories)?, wanted),
        Operation::Merge => merge(primary(repositories)?),
    }
}

fn primary(repositories: &[Repository]) -> Result<&Repository, ChangesError> {
    repositories.first().ok_or(ChangesError::NoFolder)
}

fn refused<T>(reason: impl Into<String>) -> Result<T, ChangesError> {
    Err(ChangesError::Refused(reason.into()))
}

fn done(message: impl Into<String>) -> Operated {
    Operated {
        message: message.into(),
        follow_up: None,
    }
}

/// Git as the user would run it.
fn real(repository: &Repository) -> Result<&Git, ChangesError> {
    let none = || ChangesError::Refused("the folder is in no git repository".to_owned());
    repository.real.as_ref().ok_or_else(none)
}

fn stage(repositories: &[Repository], wanted: &ChangeOperation) -> Result<Operated, ChangesError> {
    let Some(file) = &wanted.file else {
        for repository in repositories {
            real(repository)?.ask(["add", "--all", "--", "."])?;
        }
        return Ok(done("Everything is staged."));
    };
    let Some(path) = path_of(file) else {
        return refused("the file is not on this machine");
    };
    let holds = |repository: &&Repository| path.starts_with(&repository.directory);
    let Some(repository) = repositories.iter().find(holds) else {
        return refused("the file is in none of the folders of the session");
    };
    let arguments = ["add", "--all", "--"].map(AsRef::as_ref);
    let arguments = arguments.into_iter().chain([path.as_os_str()]);
    real(repository)?.ask(arguments)?;
    Ok(done("The file is staged."))
}

fn commit(repository: &Repository, wanted: &ChangeOperation) -> Result<Operated, ChangesError> {
    let git = real(repository)?;
    let standing = standing::of(repository, None)?.unwrap_or_default();
    if let Some(under_way) = standing.under_way {
        return refused(format!("{under_way} is under way: finish it first"));
    }
    if standing.uncommitted == 0 {
        return refused("there is nothing to commit");
    }
    // What was staged before stays so if it does not work out.
    let index = repository.real_index.as_deref();
    let staged = index.map(std::fs::read).transpose().unwrap_or_default();
    git.ask(["add", "--all", "--", "."])?;
    let commit = ["commit", "--quiet", "--message", &wanted.message, "--", "."];
    let answer = git.run_as_user(commit)?;
    if !answer.success {
        if let (Some(index), Some(staged)) = (index, staged) {
            replace(index, &staged)?;
        }
        return Err(answer.failure());
    }
    let commit = git.line(["log", "-1", "--format=%h %s"])?;
    Ok(done(format!("Committed {commit}")))
}

fn replace(path: &Path, content: &[u8]) -> Result<(), ChangesError> {
    let unfinished = path.with_extension("agenthost");
    std::fs::write(&unfinished, content)?;
    std::fs::rename(unfinished, path)?;
    Ok(())
}

/// Makes files what they were at the beginning of the span. Those that somebody
/// changed since its end are left alone, unless all is to be restored.
fn undo(
    kept: &Kept,
    repositories: &[Repository],
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    let mut plans = Vec::new();
    let mut known = false;
    for repository in repositories {
        let Some((from, to)) = kept.ends(repository, &wanted.span)? else {
            continue;
        };
        known = true;
        let now = match wanted.span.to {
            Moment::Now => to.clone(),
            _ => tree::take(repository)?,
        };
        let to = match wanted.operation {
            Operation::Restore => now.clone(),
            _ => to,
        };
        let mut differences = compare::since(repository, &wanted.span.from, &from, &to)?;
        differences.retain(|difference| concerns(repository, difference, wanted));
        if to != now {
            check_unchanged(repository, &to, &now, &differences)?;
        }
        plans.push((repository, from, now, differences));
    }
    if !known {
        return Err(kept.unmarked());
    }
    let mut count = 0;
    for (repository, from, now, differences) in plans {
        count += put_back::put_back(repository, &from, &now, &differences)?;
    }
    Ok(done(match count {
        0 => "There was nothing to change.".to_owned(),
        1 => "1 file is as it was.".to_owned(),
        count => format!("{count} files are as they were."),
    }))
}

fn concerns(repository: &Repository, difference: &Difference, wanted: &ChangeOperation) -> bool {
    let Some(file) = &wanted.file else {
        return true;
    };
    let sides = difference.before.iter().chain(&difference.after);
    let mut names = sides.map(|side| uri_of_raw(&repository.path(&side.name)));
    names.any(|name| name == *file)
}

/// Nothing that is to be changed may have changed since.
fn check_unchanged(
    repository: &Repository,
    to: &str,
    now: &str,
    differences: &[Difference],
) -> Result<(), ChangesError> {
    let since = compare::trees(repository, to, now)?;
    let touched = |name: &[u8]| {
        let sides = since
            .iter()
            .flat_map(|one| one.before.iter().chain(&one.after));
        sides.into_iter().any(|side| side.name == name)
    };
    for difference in differences {
        let sides = difference.before.iter().chain(&difference.after);
        for side in sides {
            if touched(&side.name) {
                let file = uri_of_raw(&repository.path(&side.name));
                return Err(ChangesError::Changed(file));
            }
        }
    }
    Ok(())
}

/// The text of all differences.
fn patch(repository: &Repository, from: &str, to: &str) -> Result<Vec<u8>, ChangesError> {
    let scope = repository.scope();
    let arguments = [
        "diff-tree",
        "-r",
        "--patch",
        "--binary",
        "--find-renames",
        "--no-ext-diff",
        "--no-textconv",
        from,
        to,
        "--",
    ];
    let arguments = arguments.iter().map(AsRef::as_ref);
    repository.shadow.ask(arguments.chain([scope.as_os_str()]))
}

fn show_patch(
    kept: &Kept,
    repositories: &[Repository],
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    let mut text = Vec::new();
    for repository in repositories {
        if let Some((from, to)) = kept.ends(repository, &wanted.span)? {
            text.extend(patch(repository, &from, &to)?);
        }
    }
    if text.is_empty() {
        return Ok(done("There are no differences."));
    }
    let git = &primary(repositories)?.shadow;
    let written = git.run(["hash-object", "-w", "--stdin"], &text)?;
    let object = String::from_utf8_lossy(&written.succeeded()?)
        .trim()
        .to_owned();
    let scheme = super::content::SCHEME;
    let content = ContentRef {
        uri: Uri::from(format!(
            "{scheme}{}/{object}/changes.patch",
            kept.key.as_str()
        )),
        size_hint: Some(text.len() as u64),
        content_type: Some("text/x-diff".to_owned()),
        nonce: Some(object),
    };
    let external = None;
    Ok(Operated {
        message: "The differences, as a patch.".to_owned(),
        follow_up: Some(ChangesetOperationFollowUp { content, external }),
    })
}

/// The folder that a worktree was made from, and the branches of both.
struct Origin {
    folder: Git,
    branch: String,
    base: String,
}

fn origin(repository: &Repository) -> Result<Origin, ChangesError> {
    let standing = standing::of(repository, None)?.unwrap_or_default();
    let folder = standing.worktree_of.as_ref().and_then(path_of);
    let (Some(folder), Some(branch), Some(base)) = (folder, standing.branch, standing.base) else {
        return refused("this session has no worktree of its own, or its branch is gone");
    };
    Ok(Origin {
        folder: real(repository)?.at(&folder),
        branch,
        base,
    })
}

/// Makes the same changes in the folder that the worktree was made from: all
/// of them, or none.
fn apply(
    kept: &Kept,
    repository: &Repository,
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    let origin = origin(repository)?;
    let Some((from, to)) = kept.ends(repository, &wanted.span)? else {
        return Err(kept.unmarked());
    };
    let patch = patch(repository, &from, &to)?;
    if patch.is_empty() {
        return refused("there is nothing to apply");
    }
    let arguments = ["apply", "--whitespace=nowarn", "--binary", "-"];
    origin.folder.run(arguments, &patch)?.succeeded()?;
    Ok(done("The changes are in the folder, not committed."))
}

/// Merges the branch of the worktree where its base is checked out.
fn merge(repository: &Repository) -> Result<Operated, ChangesError> {
    let standing = standing::of(repository, None)?.unwrap_or_default();
    if standing.uncommitted > 0 {
        return refused("there are changes that are not committed: commit them first");
    }
    let Origin {
        folder,
        branch,
        base,
    } = origin(repository)?;
    let there = folder.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    if there.as_ref() != Some(&base) {
        return refused(format!(
            "`{base}` is not checked out in the folder of the worktree"
        ));
    }
    let answer = folder.run_as_user(["merge", "--no-edit", branch.as_str()])?;
    if !answer.success {
        let failure = answer.failure();
        // There may have been nothing to abort.
        folder.run(["merge", "--abort"], &[])?;
        return Err(failure);
    }
    Ok(done(format!("`{branch}` is merged into `{base}`.")))
}
