//! Takes a snapshot of a folder as a git tree.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

use super::repository::ShadowRepository;
use super::{ChangesError, path_list};
use crate::file_search::unprotected_filter;
use crate::file_service::MAX_FILE_BYTES;
use crate::git::GitCommand;

/// Maximum number of changed files in one snapshot; more result in an error.
const MAX_CHANGED_FILES: usize = 50_000;

/// Maximum total size of the changed files in one snapshot.
const MAX_CHANGED_BYTES: u64 = 512 * 1024 * 1024;

/// Maximum number of files of a folder outside of any repository.
const MAX_PLAIN_FOLDER_FILES: usize = 20_000;

/// Maximum total size of the files of such a folder.
const MAX_PLAIN_FOLDER_BYTES: u64 = 256 * 1024 * 1024;

/// Timeout for counting the files of such a folder, because a turn waits for it.
const SIZE_SCAN_TIMEOUT: Duration = Duration::from_secs(1);

/// The state of a folder at one time.
#[derive(Debug)]
pub(super) struct WorkingTreeSnapshot {
    /// Id of the tree object.
    pub(super) tree: String,
    /// Changed files that the tree has in their old version or not at all: too large, or not
    /// readable.
    pub(super) skipped: BTreeSet<Vec<u8>>,
}

/// Writes a tree with the current files of the folder. Ignored files are excluded. Files that
/// are too large or not readable stay in the tree as they were before.
pub(super) fn take_snapshot(
    repository: &ShadowRepository,
) -> Result<WorkingTreeSnapshot, ChangesError> {
    if repository.user_git.is_none() && !repository.index.exists() {
        check_size(repository)?;
    }
    remove_stale_lock(repository)?;
    seed_index(repository)?;
    let git = &repository.shadow;
    let ChangedPaths {
        changed,
        skipped: left_out,
    } = list_changes(repository, git)?;
    let (folders, files): (Vec<_>, Vec<_>) = changed
        .into_iter()
        .partition(|name| is_plain_folder(repository, name));
    update_index(git, &["--force-remove"], &folders)?;
    update_index(git, &["--add", "--remove", "--replace"], &files)?;
    let tree = git.read_line(["write-tree", "--missing-ok"])?;
    Ok(WorkingTreeSnapshot {
        tree,
        skipped: left_out,
    })
}

fn update_index(git: &GitCommand, how: &[&str], names: &[Vec<u8>]) -> Result<(), ChangesError> {
    if names.is_empty() {
        return Ok(());
    }
    let arguments = ["update-index", "-z"].iter().chain(how).chain(&["--stdin"]);
    let done = git.run(arguments, &path_list::join_paths(names))?;
    done.into_stdout()?;
    Ok(())
}

/// Returns `true` if a plain directory has replaced a file. A nested repository does not count.
fn is_plain_folder(repository: &ShadowRepository, name: &[u8]) -> bool {
    let path = repository.absolute_path(name);
    let is_folder = path.is_dir() && !path.is_symlink();
    is_folder && !path.join(".git").exists()
}

/// Checks that a folder outside of any repository is small enough, because all of it has to be
/// read and stored. A home directory usually is not.
fn check_size(repository: &ShadowRepository) -> Result<(), ChangesError> {
    let deadline = Instant::now() + SIZE_SCAN_TIMEOUT;
    let (mut files, mut bytes) = (0, 0);
    let mut walk = WalkBuilder::new(&repository.directory);
    walk.standard_filters(false)
        .git_ignore(true)
        .require_git(false)
        .filter_entry(unprotected_filter(
            &repository.directory,
            &repository.protected,
        ));
    for entry in walk.build().filter_map(Result::ok) {
        files += 1;
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file);
        let length = metadata.map_or(0, |metadata| metadata.len());
        bytes += if length > MAX_FILE_BYTES { 0 } else { length };
        if files > MAX_PLAIN_FOLDER_FILES
            || bytes > MAX_PLAIN_FOLDER_BYTES
            || Instant::now() > deadline
        {
            let reason = "the folder is large and not in a git repository".to_owned();
            return Err(ChangesError::LimitExceeded(reason));
        }
    }
    Ok(())
}

/// Writes a tree without some of the files of another tree.
pub(super) fn tree_without(
    repository: &ShadowRepository,
    tree: &str,
    names: &[Vec<u8>],
) -> Result<String, ChangesError> {
    let index = repository.index.with_extension("without");
    let git = repository.shadow.clone().with_env("GIT_INDEX_FILE", &index);
    git.read_output(["read-tree", tree])?;
    update_index(&git, &["--force-remove"], names)?;
    let rest = git.read_line(["write-tree", "--missing-ok"]);
    std::fs::remove_file(&index)?;
    Ok(rest?)
}

/// Removes the lock file of a git process that was killed. No other process uses this index.
fn remove_stale_lock(repository: &ShadowRepository) -> Result<(), ChangesError> {
    let mut lock = repository.index.clone().into_os_string();
    lock.push(".lock");
    match std::fs::remove_file(lock) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns files that the user's repository tracks and the host's index does not have, for
/// example ignored files that were added with force. The list is computed only if the user's
/// index has changed.
fn find_newly_tracked(repository: &ShadowRepository) -> Result<Vec<Vec<u8>>, ChangesError> {
    let Some(real) = repository.user_index.as_ref().filter(|real| real.exists()) else {
        return Ok(Vec::new());
    };
    let metadata = std::fs::metadata(real)?;
    let stamp = format!("{:?} {}", metadata.modified()?, metadata.len());
    let noted = repository.index.with_extension("seen");
    if std::fs::read_to_string(&noted).is_ok_and(|noted| noted == stamp) {
        return Ok(Vec::new());
    }
    let list =
        |git: &GitCommand| repository.read_scoped_output(git, &["ls-files", "-z", "--full-name"]);
    let theirs = list(&repository.shadow.clone().with_env("GIT_INDEX_FILE", real))?;
    let ours = list(&repository.shadow)?;
    let ours: BTreeSet<_> = path_list::split_paths(&ours).collect();
    let missing = path_list::split_paths(&theirs).filter(|name| {
        let there = std::fs::symlink_metadata(repository.absolute_path(name)).is_ok();
        there && !ours.contains(name)
    });
    let missing = missing.map(<[u8]>::to_vec).collect();
    std::fs::write(noted, stamp)?;
    Ok(missing)
}

/// Copies the user's index as the initial one, so that unchanged files need not be read.
fn seed_index(repository: &ShadowRepository) -> Result<(), ChangesError> {
    if repository.index.exists() {
        return Ok(());
    }
    if let Some(real) = repository.user_index.as_ref().filter(|real| real.exists()) {
        let modified = std::fs::metadata(real)?.modified()?;
        std::fs::copy(real, &repository.index)?;
        // git compares this time with those of the entries, and does not trust entries that
        // were written at the same time.
        let copied = File::options().write(true).open(&repository.index)?;
        copied.set_modified(modified)?;
        let readable = repository.shadow.run(["ls-files", "--stage", "-z"], &[])?;
        if !readable.success {
            std::fs::remove_file(&repository.index)?;
        }
    }
    Ok(())
}

/// The paths that changed since the host's index was written.
struct ChangedPaths {
    /// Paths to update in the index.
    changed: BTreeSet<Vec<u8>>,
    /// Files that are too large or not readable.
    skipped: BTreeSet<Vec<u8>>,
}

fn list_changes(
    repository: &ShadowRepository,
    git: &GitCommand,
) -> Result<ChangedPaths, ChangesError> {
    let kinds = [
        "ls-files",
        "-z",
        "--modified",
        "--deleted",
        "--others",
        "--exclude-standard",
    ];
    let listed = repository.read_scoped_output(git, &kinds)?;
    // git can't write a tree while any path of the index is unmerged.
    let unmerged = if repository.prefix.is_empty() {
        Vec::new()
    } else {
        git.read_output(["ls-files", "-z", "--unmerged"])?
    };
    let mut changed: BTreeSet<Vec<u8>> =
        crate::change_tracker::tree::parse_unmerged(&unmerged).collect();
    let mut left_out = BTreeSet::new();
    let mut bytes = 0;
    let adopted = find_newly_tracked(repository)?;
    let adopted = adopted.iter().map(|name| (name.as_slice(), false));
    let listed = path_list::split_paths(&listed).map(|name| (name, true));
    for (name, shown) in listed.chain(adopted) {
        // A trailing slash means a nested repository, which is not tracked.
        if name.ends_with(b"/") || changed.contains(name) || repository.is_protected(name) {
            continue;
        }
        let Some(size) = readable_size(repository, name) else {
            if shown {
                left_out.insert(name.to_vec());
            }
            continue;
        };
        bytes += size;
        changed.insert(name.to_vec());
        if changed.len() > MAX_CHANGED_FILES {
            return Err(ChangesError::LimitExceeded(format!(
                "more than {MAX_CHANGED_FILES} files"
            )));
        }
        if bytes > MAX_CHANGED_BYTES {
            let most = MAX_CHANGED_BYTES / 1024 / 1024;
            return Err(ChangesError::LimitExceeded(format!("more than {most} MB")));
        }
    }
    Ok(ChangedPaths {
        changed,
        skipped: left_out,
    })
}

/// Parses the paths in the output of `git ls-files --unmerged`.
pub(super) fn parse_unmerged(output: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path_list::split_paths(output).filter_map(|entry| {
        let name = entry.splitn(2, |byte| *byte == b'\t').nth(1);
        name.map(<[u8]>::to_vec)
    })
}

/// Returns the size of a file, or `None` if it is too large or not readable. A deleted file, a
/// link or a directory has size 0.
fn readable_size(repository: &ShadowRepository, name: &[u8]) -> Option<u64> {
    let path = repository.absolute_path(name);
    let Ok(metadata) = std::fs::symlink_metadata(&path) else {
        return Some(0);
    };
    if metadata.is_symlink() || metadata.is_dir() {
        return Some(0);
    }
    let fits = metadata.is_file() && metadata.len() <= MAX_FILE_BYTES;
    let readable = fits && File::open(&path).is_ok();
    readable.then_some(metadata.len())
}
