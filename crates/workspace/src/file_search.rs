//! Searches files by a part of their path.

use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_core::{FileKind, FileMatch};
use agenthost_protocol::uri::Uri;
use ignore::{DirEntry, WalkBuilder};

use crate::file_uri::{path_of, uri_of};
use crate::protected_paths::ProtectedPaths;

/// Limits of one search.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// Maximum number of results.
    pub max_results: usize,
    /// Maximum number of visited files and directories.
    pub max_files: usize,
    /// Timeout after which the search returns its results so far.
    pub timeout: Duration,
}

/// Returns files and directories whose paths match, the best first. Ignored, hidden and
/// protected ones are excluded. Blocks on disk I/O.
///
/// A search that reaches a limit returns its results so far, because it is repeated with every
/// keystroke.
pub fn search_files(
    directories: &[Uri],
    protected: &ProtectedPaths,
    query: &str,
    limits: SearchLimits,
) -> Vec<FileMatch> {
    let deadline = Instant::now() + limits.timeout;
    let mut matches = Vec::new();
    let mut visited = 0;
    for directory in directories.iter().filter_map(path_of) {
        // Ignore files also apply outside of git repositories.
        let walk = WalkBuilder::new(&directory)
            .require_git(false)
            .follow_links(false)
            .filter_entry(unprotected_filter(&directory, protected))
            .build();
        for entry in walk.flatten().filter(|entry| entry.depth() > 0) {
            visited += 1;
            if visited > limits.max_files || Instant::now() >= deadline {
                return top_files(matches, limits.max_results);
            }
            if let Some((score, file)) = score_path(&directory, &entry, query) {
                matches.push((score, file));
            }
            // Bounds the memory to a small multiple of the results.
            if matches.len() > limits.max_results.saturating_mul(20).max(1_000) {
                matches = rank_files(matches, limits.max_results);
            }
        }
    }
    top_files(matches, limits.max_results)
}

/// Returns a filter that excludes protected paths by their real path. Links below the directory
/// are not followed, but the directory itself may be behind one.
pub(crate) fn unprotected_filter(
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

type RankedFile = (MatchScore, FileMatch);

fn rank_files(mut found: Vec<RankedFile>, max_results: usize) -> Vec<RankedFile> {
    found.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.path.cmp(&other.path)));
    found.truncate(max_results);
    found
}

fn top_files(found: Vec<RankedFile>, max_results: usize) -> Vec<FileMatch> {
    let found = rank_files(found, max_results).into_iter();
    found.map(|(_, file)| file).collect()
}

fn score_path(root: &Path, entry: &DirEntry, query: &str) -> Option<RankedFile> {
    let kind = entry.file_type()?;
    let kind = if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else {
        return None;
    };
    let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
    let score = MatchScore::of(&path, query, entry.depth())?;
    let uri = uri_of(entry.path())?;
    Some((score, FileMatch { uri, path, kind }))
}

/// Quality of a match; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchScore {
    kind: MatchKind,
    depth: usize,
    length: usize,
}

/// Kind of a match, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchKind {
    /// The name or the whole path equals the query.
    Exact,
    /// The name or the whole path begins with the query.
    Prefix,
    /// The name contains the query.
    InName,
    /// The path contains the query.
    InPath,
    /// The path contains all characters of the query in their order.
    Subsequence,
}

impl MatchScore {
    /// Returns `None` if the path does not match. The comparison ignores case.
    fn of(path: &str, query: &str, depth: usize) -> Option<Self> {
        let query = query.trim_start_matches("./").to_lowercase();
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let length = path.len();
        let query = query.strip_suffix('/').unwrap_or(&query);
        let kind = if name == query || path == query {
            MatchKind::Exact
        } else if name.starts_with(query) || path.starts_with(query) {
            MatchKind::Prefix
        } else if name.contains(query) {
            MatchKind::InName
        } else if path.contains(query) {
            MatchKind::InPath
        } else if is_subsequence(&path, query) {
            MatchKind::Subsequence
        } else {
            return None;
        };
        Some(MatchScore {
            kind,
            depth,
            length,
        })
    }
}

fn is_subsequence(path: &str, query: &str) -> bool {
    let mut letters = path.chars();
    query
        .chars()
        .all(|wanted| letters.any(|letter| letter == wanted))
}
