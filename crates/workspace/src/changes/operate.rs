//! What people do about changes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use agenthost_core::{ChangeOperation, GitStanding, Moment, Operated, Operation};
use agenthost_protocol::changeset::ChangesetOperationFollowUp;
use agenthost_protocol::common::ContentRef;

use super::compare::Difference;
use super::object_address::{ObjectAddress, ObjectKind};
use super::put_back::{Plan, put_back};
use super::repository::Repository;
use super::tree::Taken;
use super::{ChangesError, Kept, OPERATING, compare, standing};
use crate::address::{path_of, uri_of_raw};
use crate::files::LARGEST;
use crate::git::{Git, GitOutput};

/// Does what is wanted, or nothing.
pub(super) fn operate(
    kept: &Kept,
    repositories: &[Repository],
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    if wanted.operation != Operation::ShowPatch {
        // Without its filters, files would be written as the repository does
        // not mean them: unencrypted, for example.
        for repository in repositories {
            if let Some(git) = &repository.real {
                git.check_settings_allowed()?;
                git.check_nested_allowed(&repository.top)?;
            }
        }
    }
    match wanted.operation {
        Operation::Stage => stage(repositories, wanted),
        Operation::Commit => commit(repositories, wanted),
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

fn stage(repositories: &[Repository], wanted: &ChangeOperation) -> Result<Operated, ChangesError> {
    let Some(file) = &wanted.file else {
        for repository in repositories {
            repository.user()?.ask(["add", "--all", "--", "."])?;
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
    repository.user()?.ask(arguments)?;
    Ok(done("The file is staged."))
}

/// Commits what is not committed, folder by folder.
fn commit(repositories: &[Repository], wanted: &ChangeOperation) -> Result<Operated, ChangesError> {
    let mut commits = Vec::new();
    for repository in repositories.iter().filter(|one| one.real.is_some()) {
        let standing = standing::of(repository)?.unwrap_or_default();
        if let Some(under_way) = standing.under_way {
            return refused(format!("{under_way} is under way: finish it first"));
        }
        if standing.uncommitted > 0 {
            commits.push(commit_folder(repository, &wanted.message)?);
        }
    }
    match &*commits {
        [] => refused("there is nothing to commit"),
        commits => Ok(done(format!("Committed {}", commits.join(", ")))),
    }
}

/// What was staged before stays so if it does not work out.
fn commit_folder(repository: &Repository, message: &str) -> Result<String, ChangesError> {
    let git = repository.user()?;
    let index = repository.real_index.as_deref();
    let staged = match index.map(std::fs::read) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        staged => staged.and_then(Result::ok),
    };
    let committed = git.ask(["add", "--all", "--", "."]).and_then(|_| {
        let commit = ["commit", "--quiet", "--message", message, "--", "."];
        git.run_with_hooks(commit)?.succeeded()
    });
    if let Err(error) = committed {
        if let Some(index) = index {
            replace(index, staged.as_deref())?;
        }
        return Err(error.into());
    }
    Ok(git.line(["log", "-1", "--format=%h %s"])?)
}

/// Makes the user's index what it was, the way git itself would: nobody else
/// changes it meanwhile.
fn replace(index: &Path, staged: Option<&[u8]>) -> Result<(), ChangesError> {
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
        // The first problem is the one to tell.
        std::fs::remove_file(&lock).unwrap_or_default();
    })?;
    Ok(())
}

/// Makes files what they were at the beginning of the span. Those that somebody
/// changed since its end are left alone, unless all is to be restored.
fn undo(
    kept: &Kept,
    repositories: &[Repository],
    wanted: &ChangeOperation,
) -> Result<Operated, ChangesError> {
    let (mut plans, mut large) = (Vec::new(), 0);
    for repository in repositories {
        let Some(from) = kept.tree(repository, &wanted.span.from)? else {
            continue;
        };
        let to = match wanted.operation {
            Operation::Restore => &Moment::Now,
            _ => &wanted.span.to,
        };
        let Some(to) = kept.tree(repository, to)? else {
            continue;
        };
        let mut differences = compare::since(repository, &wanted.span.from, &from, &to)?;
        differences.retain(|difference| concerns(repository, difference, wanted));
        let now = repository.now()?;
        check_unchanged(repository, &to, now, &differences)?;
        large += now.left_out.len();
        plans.push(Plan::new(repository, from, now.tree.clone(), &differences));
    }
    if plans.is_empty() {
        return Err(kept.unmarked());
    }
    let count = put_back(&plans)?;
    // What is not to be changed is not to be committed.
    if wanted.span.from == Moment::Committed {
        plans.iter().try_for_each(Plan::unstage)?;
    }
    let mut words = match count {
        0 => "There was nothing to change.".to_owned(),
        1 => "1 file is as it was.".to_owned(),
        count => format!("{count} files are as they were."),
    };
    if large > 0 {
        words.push_str(" Files of more than 16 MiB were left alone.");
    }
    Ok(done(words))
}

fn concerns(repository: &Repository, difference: &Difference, wanted: &ChangeOperation) -> bool {
    let Some(file) = &wanted.file else {
        return true;
    };
    let sides = difference.before.iter().chain(&difference.after);
    let mut names = sides.map(|side| uri_of_raw(&repository.path(&side.name)));
    names.any(|name| name == *file)
}

/// Nothing that is to be changed may have changed since, or have become
/// something that can't be looked at.
fn check_unchanged(
    repository: &Repository,
    to: &str,
    now: &Taken,
    differences: &[Difference],
) -> Result<(), ChangesError> {
    let since = compare::trees(repository, to, &now.tree)?;
    let sides = since
        .iter()
        .flat_map(|one| one.before.iter().chain(&one.after));
    let since: BTreeSet<_> = sides.map(|side| side.name.as_slice()).collect();
    let touched = |name: &[u8]| since.contains(name) || now.left_out.contains(name);
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
    // Names as they are seen from the folder, which is where it is applied.
    let prefix = String::from_utf8_lossy(&repository.prefix);
    let relative = format!("--relative={prefix}");
    let how = ["--patch", "--binary", "--find-renames", &*relative];
    compare::diff_tree(repository, &how, from, to)
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
    if text.len() as u64 > LARGEST {
        return refused("the differences are too large to be shown as text");
    }
    let git = &primary(repositories)?.shadow;
    let written = git.run(["hash-object", "-w", "--stdin"], &text)?;
    let object = String::from_utf8_lossy(&written.succeeded()?)
        .trim()
        .to_owned();
    let address = ObjectAddress {
        session: kept.key.clone(),
        object: object.clone(),
        kind: ObjectKind::Blob,
    };
    let content = ContentRef {
        uri: address.uri(b"/changes.patch"),
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

fn origin(repository: &Repository, standing: GitStanding) -> Result<Origin, ChangesError> {
    let folder = standing.worktree_of.as_ref().and_then(path_of);
    let (Some(folder), Some(branch), Some(base)) = (folder, standing.branch, standing.base) else {
        return refused("this session has no worktree of its own, or its branch is gone");
    };
    Ok(Origin {
        folder: repository.user()?.at(&folder),
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
    let standing = standing::of(repository)?.unwrap_or_default();
    let origin = origin(repository, standing)?;
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
    let standing = standing::of(repository)?.unwrap_or_default();
    if standing.uncommitted > 0 {
        return refused("there are changes that are not committed: commit them first");
    }
    let Origin {
        folder,
        branch,
        base,
    } = origin(repository, standing)?;
    let git_dir = PathBuf::from(folder.line(["rev-parse", "--absolute-git-dir"])?);
    if let Some(what) = standing::under_way(&git_dir) {
        return refused(format!(
            "{what} is under way in the folder: finish it first"
        ));
    }
    let there = folder.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    if there.as_ref() != Some(&base) {
        return refused(format!(
            "`{base}` is not checked out in the folder of the worktree"
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
    let merged = folder.run_with_hooks(merge).and_then(GitOutput::succeeded);
    if let Err(error) = merged {
        if standing::under_way(&git_dir).is_some() {
            folder.again(OPERATING).ask(["merge", "--abort"])?;
        }
        return Err(error.into());
    }
    Ok(done(format!("`{branch}` is merged into `{base}`.")))
}
