//! Computes the differences between two git trees.

use agenthost_core::DiffEndpoint;
use agenthost_protocol::common::ChangesSummary;

use super::repository::ShadowRepository;
use super::{ChangesError, path_list, tree};

/// Maximum number of files in a diff; more result in an error.
const MAX_DIFF_FILES: usize = 3_000;

/// One changed file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// `None` if the file was added.
    pub(super) before: Option<TreeEntry>,
    /// `None` if the file was deleted.
    pub(super) after: Option<TreeEntry>,
    /// Added and removed lines; `None` for a binary file.
    pub(super) line_counts: Option<(u64, u64)>,
    /// Key of the folder that contains the file.
    pub(super) folder_key: String,
}

/// A file entry of a git tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    /// Path relative to the top of the repository.
    pub(super) name: Vec<u8>,
    /// Id of the git object with the content.
    pub(super) object: String,
    /// Octal file mode of git.
    pub(super) mode: String,
}

impl TreeEntry {
    /// Returns `true` for a regular file, executable or not.
    pub(super) fn is_regular_file(&self) -> bool {
        matches!(&*self.mode, "100644" | "100755")
    }

    /// Returns `true` for a submodule.
    pub(super) fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

/// Compares two trees. Ignored files are excluded if the first tree is that of a commit.
pub(super) fn compare_from_endpoint(
    repository: &ShadowRepository,
    endpoint: &DiffEndpoint,
    from: &str,
    to: &str,
) -> Result<Vec<FileDiff>, ChangesError> {
    match endpoint {
        DiffEndpoint::Head | DiffEndpoint::MergeBase => compare_with_commit(repository, from, to),
        DiffEndpoint::Checkpoint(_) | DiffEndpoint::WorkingTree => {
            compare_trees(repository, from, to)
        }
    }
}

/// Compares two trees with rename detection.
pub(super) fn compare_trees(
    repository: &ShadowRepository,
    from: &str,
    to: &str,
) -> Result<Vec<FileDiff>, ChangesError> {
    let renames = &["--find-renames", "-l1000"];
    run_diff(repository, renames, from, to)
}

/// Compares two trees. A renamed file is reported as a deleted and an added one.
pub(super) fn compare_without_renames(
    repository: &ShadowRepository,
    from: &str,
    to: &str,
) -> Result<Vec<FileDiff>, ChangesError> {
    run_diff(repository, &["--no-renames"], from, to)
}

fn run_diff(
    repository: &ShadowRepository,
    renames: &[&str],
    from: &str,
    to: &str,
) -> Result<Vec<FileDiff>, ChangesError> {
    if from == to {
        return Ok(Vec::new());
    }
    let plain = ["-z", "--raw", "--numstat", "--ignore-submodules=none"];
    let how = [plain.as_slice(), renames].concat();
    let output = run_diff_tree(repository, &how, from, to)?;
    let differences = parse_diff(&output, &repository.key).ok_or_else(|| {
        let words = "unexpected output".to_owned();
        ChangesError::Git(words)
    })?;
    if differences.len() > MAX_DIFF_FILES {
        let many = differences.len();
        let reason = format!("{many} files differ, and at most {MAX_DIFF_FILES} are shown");
        return Err(ChangesError::LimitExceeded(reason));
    }
    Ok(differences)
}

/// Compares a commit with a tree. Added files that are ignored are excluded, even if a
/// checkpoint has stored them.
pub(super) fn compare_with_commit(
    repository: &ShadowRepository,
    commit: &str,
    to: &str,
) -> Result<Vec<FileDiff>, ChangesError> {
    let how = ["-z", "--name-only", "--no-renames", "--diff-filter=A"];
    let new = run_diff_tree(repository, &how, commit, to)?;
    let ignored = find_ignored(repository, &new)?;
    if ignored.is_empty() {
        return compare_trees(repository, commit, to);
    }
    compare_trees(
        repository,
        commit,
        &tree::tree_without(repository, to, &ignored)?,
    )
}

/// Returns those names that are ignored and not tracked by the user's repository.
fn find_ignored(repository: &ShadowRepository, names: &[u8]) -> Result<Vec<Vec<u8>>, ChangesError> {
    let Some(real) = repository.user_git.as_ref().filter(|_| !names.is_empty()) else {
        return Ok(Vec::new());
    };
    // `git check-ignore` does not support literal pathspecs. With the prefix `./` the names
    // have no special meaning.
    let plain = path_list::split_paths(names).map(|name| [b"./", name].concat());
    let git = real
        .in_other_repository(&repository.top)
        .with_env("GIT_LITERAL_PATHSPECS", "0");
    let answer = git.run(
        ["check-ignore", "-z", "--stdin"],
        &path_list::join_paths(plain),
    )?;
    if answer.exited_with_one {
        return Ok(Vec::new());
    }
    let ignored = answer.into_stdout()?;
    let ignored =
        path_list::split_paths(&ignored).map(|name| name.strip_prefix(b"./").unwrap_or(name));
    Ok(ignored.map(<[u8]>::to_vec).collect())
}

/// Runs `git diff-tree` on the part of the trees below the folder.
pub(super) fn run_diff_tree(
    repository: &ShadowRepository,
    how: &[&str],
    from: &str,
    to: &str,
) -> Result<Vec<u8>, ChangesError> {
    let plain = ["diff-tree", "-r", "--no-ext-diff", "--no-textconv"];
    let arguments = [plain.as_slice(), how, &[from, to]].concat();
    repository.read_scoped_output(&repository.shadow, &arguments)
}

/// Parses the output of `git diff-tree --raw --numstat -z`: first all entries, then their line
/// counts.
pub(super) fn parse_diff(output: &[u8], key: &str) -> Option<Vec<FileDiff>> {
    let mut fields = output.split(|byte| *byte == 0).peekable();
    let mut differences = Vec::new();
    while fields.peek().is_some_and(|field| field.starts_with(b":")) {
        let entry = std::str::from_utf8(fields.next()?.get(1..)?).ok()?;
        let mut words = entry.split(' ');
        let (old_mode, new_mode) = (words.next()?, words.next()?);
        let (old, new) = (words.next()?, words.next()?);
        let status = words.next()?;
        let first = fields.next()?.to_vec();
        let second = if status.starts_with(['R', 'C']) {
            fields.next()?.to_vec()
        } else {
            first.clone()
        };
        let side = |mode: &str, object: &str, name: Vec<u8>| {
            (mode != "000000").then(|| TreeEntry {
                name,
                object: object.to_owned(),
                mode: mode.to_owned(),
            })
        };
        let before = side(old_mode, old, first).filter(|_| !status.starts_with('C'));
        differences.push(FileDiff {
            before,
            after: side(new_mode, new, second),
            line_counts: None,
            folder_key: key.to_owned(),
        });
    }
    for difference in &mut differences {
        let entry = fields.next()?;
        let mut parts = entry.splitn(3, |byte| *byte == b'\t');
        let number = |part: Option<&[u8]>| std::str::from_utf8(part?).ok()?.parse().ok();
        let (added, removed) = (number(parts.next()), number(parts.next()));
        // A renamed file has an empty name here, and both names follow as fields.
        if parts.next().is_none_or(<[u8]>::is_empty) {
            fields.next()?;
            fields.next()?;
        }
        difference.line_counts = added.zip(removed);
    }
    Some(differences)
}

/// Sums up the line counts. The addition saturates, because the counts are not trusted.
pub(super) fn summarize(differences: &[FileDiff]) -> ChangesSummary {
    let lines = differences
        .iter()
        .filter_map(|difference| difference.line_counts);
    let (additions, deletions) = lines.fold((0_u64, 0_u64), |(added, removed), lines| {
        (
            added.saturating_add(lines.0),
            removed.saturating_add(lines.1),
        )
    });
    ChangesSummary {
        additions: Some(additions),
        deletions: Some(deletions),
        files: Some(differences.len() as u64),
    }
}
