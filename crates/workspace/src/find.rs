//! Files by what was typed of their names.

use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_core::{FileKind, FoundFile};
use agenthost_protocol::uri::Uri;
use ignore::{DirEntry, WalkBuilder};

use crate::address::{path_of, uri_of};
use crate::protected::ProtectedPaths;

/// How long a search may take, and how much it may find.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most files in the answer.
    pub items: usize,
    /// Most files to look at.
    pub files: usize,
    /// Longest time to look.
    pub time: Duration,
}

/// Files and directories whose paths fit, the best first. What ignore files
/// exclude, what is hidden and what is protected is left out. Waits for the disk.
///
/// A search that comes to a bound answers with what it has: somebody is
/// typing, and will type more.
pub fn find_files(
    directories: &[Uri],
    protected: &ProtectedPaths,
    query: &str,
    bounds: Bounds,
) -> Vec<FoundFile> {
    let deadline = Instant::now() + bounds.time;
    let mut found = Vec::new();
    let mut looked_at = 0;
    for directory in directories.iter().filter_map(path_of) {
        // The tests of an ignore file that says so begin at its directory,
        // whether or not git is used there.
        let walk = WalkBuilder::new(&directory)
            .require_git(false)
            .follow_links(false)
            .filter_entry(is_shown(&directory, protected))
            .build();
        for entry in walk.flatten().filter(|entry| entry.depth() > 0) {
            looked_at += 1;
            if looked_at > bounds.files || Instant::now() >= deadline {
                return best(found, bounds.items);
            }
            if let Some((score, file)) = fit(&directory, &entry, query) {
                found.push((score, file));
            }
            // Never more in memory than a few answers.
            if found.len() > bounds.items.saturating_mul(20).max(1_000) {
                found = ranked(found, bounds.items);
            }
        }
    }
    best(found, bounds.items)
}

/// Leaves out what is protected, by its real name: links are not followed below
/// the directory, but may lead to it.
pub(crate) fn is_shown(
    directory: &Path,
    protected: &ProtectedPaths,
) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
    let real = directory.canonicalize();
    let real = real.unwrap_or_else(|_| directory.to_owned());
    let (directory, protected) = (directory.to_owned(), protected.clone());
    move |entry| match entry.path().strip_prefix(&directory) {
        Ok(inside) => !protected.contains(&real.join(inside)),
        Err(_) => true,
    }
}

type Found = (Score, FoundFile);

fn ranked(mut found: Vec<Found>, most: usize) -> Vec<Found> {
    found.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.path.cmp(&other.path)));
    found.truncate(most);
    found
}

fn best(found: Vec<Found>, most: usize) -> Vec<FoundFile> {
    let found = ranked(found, most).into_iter();
    found.map(|(_, file)| file).collect()
}

fn fit(root: &Path, entry: &DirEntry, query: &str) -> Option<Found> {
    let kind = entry.file_type()?;
    let kind = if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else {
        return None;
    };
    let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
    let score = Score::of(&path, query, entry.depth())?;
    let uri = uri_of(entry.path())?;
    Some((score, FoundFile { uri, path, kind }))
}

/// How well a path fits; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    manner: Manner,
    depth: usize,
    length: usize,
}

/// In what manner a path fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Manner {
    /// The name, or the whole path, is what was typed.
    Exact,
    /// The name, or the whole path, begins with it.
    Begins,
    /// It is somewhere in the name.
    InName,
    /// It is somewhere in the path.
    InPath,
    /// All its letters are in the path, in this order.
    Letters,
}

impl Score {
    /// `None` if it does not fit. Capital letters do not matter.
    fn of(path: &str, query: &str, depth: usize) -> Option<Self> {
        let query = query.trim_start_matches("./").to_lowercase();
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let length = path.len();
        let query = query.strip_suffix('/').unwrap_or(&query);
        let manner = if name == query || path == query {
            Manner::Exact
        } else if name.starts_with(query) || path.starts_with(query) {
            Manner::Begins
        } else if name.contains(query) {
            Manner::InName
        } else if path.contains(query) {
            Manner::InPath
        } else if has_letters(&path, query) {
            Manner::Letters
        } else {
            return None;
        };
        Some(Score {
            manner,
            depth,
            length,
        })
    }
}

fn has_letters(path: &str, query: &str) -> bool {
    let mut letters = path.chars();
    query
        .chars()
        .all(|wanted| letters.any(|letter| letter == wanted))
}
