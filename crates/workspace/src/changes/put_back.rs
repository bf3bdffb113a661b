//! Files become what they were.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::ChangesError;
use super::compare::Difference;
use super::repository::Repository;

/// Makes files that differ what they were in a tree, and says how many. If that
/// fails in the middle, they become what they are `now` again.
pub(super) fn put_back(
    repository: &Repository,
    tree: &str,
    now: &str,
    differences: &[Difference],
) -> Result<usize, ChangesError> {
    // What is checked out of a repository of its own is not ours to change.
    let ours = |one: &&Difference| {
        let mut sides = one.before.iter().chain(&one.after);
        !sides.any(super::compare::Side::is_submodule)
    };
    let differences: Vec<_> = differences.iter().filter(ours).collect();
    let written = differences.iter().filter_map(|one| one.before.as_ref());
    let written: Vec<_> = written.map(|side| side.name.as_slice()).collect();
    let gone = differences.iter().filter_map(|one| one.after.as_ref());
    let gone: Vec<_> = gone
        .map(|side| side.name.as_slice())
        .filter(|name| !written.contains(name))
        .collect();
    let changed = check_out(repository, tree, &written).and_then(|()| remove(repository, &gone));
    if let Err(error) = changed {
        let before: Vec<_> = differences
            .iter()
            .filter_map(|one| one.after.as_ref())
            .map(|side| side.name.as_slice())
            .collect();
        // The first problem is the one to tell.
        check_out(repository, now, &before).unwrap_or_default();
        return Err(error);
    }
    Ok(differences.len())
}

fn check_out(repository: &Repository, tree: &str, names: &[&[u8]]) -> Result<(), ChangesError> {
    if names.is_empty() {
        return Ok(());
    }
    let index = repository.index.with_extension("restore");
    let git = repository.shadow.clone().with("GIT_INDEX_FILE", &index);
    git.ask(["read-tree", tree])?;
    let mut list = Vec::new();
    for name in names {
        list.extend_from_slice(name);
        list.push(0);
    }
    let done = git.run(["checkout-index", "--force", "-z", "--stdin"], &list)?;
    std::fs::remove_file(&index)?;
    done.succeeded().map(drop)
}

/// Removes files, and the folders that are empty without them.
fn remove(repository: &Repository, names: &[&[u8]]) -> Result<(), ChangesError> {
    let top = Dir::open_ambient_dir(&repository.top, ambient_authority())?;
    for name in names {
        let path = Path::new(std::ffi::OsStr::from_bytes(name));
        match top.remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let scope = Path::new(std::ffi::OsStr::from_bytes(&repository.prefix));
        let mut folders = path.ancestors().skip(1);
        // A folder that is not empty stays, and so do those above it.
        while let Some(folder) = folders.next().filter(|folder| {
            !folder.as_os_str().is_empty() && folder.starts_with(scope) && *folder != scope
        }) {
            if top.remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(())
}
