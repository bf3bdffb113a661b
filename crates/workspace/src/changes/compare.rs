//! What differs between two trees.

use agenthost_core::Moment;
use agenthost_protocol::common::ChangesSummary;

use super::repository::Repository;
use super::{ChangesError, names, tree};

/// Most files in one answer.
const FILES: usize = 3_000;

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// What it was; none if it is new.
    pub(super) before: Option<Side>,
    /// What it is; none if it is gone.
    pub(super) after: Option<Side>,
    /// Lines added and removed; none if it has no lines.
    pub(super) lines: Option<(u64, u64)>,
    /// Which folder it is in.
    pub(super) key: String,
}

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    /// Its name, seen from the top of the repository.
    pub(super) name: Vec<u8>,
    /// What git calls its content.
    pub(super) object: String,
    /// What kind of file it is, in the words of git.
    pub(super) mode: String,
}

impl Side {
    /// Whether it is a file with content of its own, and not a link.
    pub(super) fn is_plain_file(&self) -> bool {
        matches!(&*self.mode, "100644" | "100755")
    }

    /// Whether it is a repository of its own.
    pub(super) fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

/// All files of a folder that differ, seen from a moment.
pub(super) fn since(
    repository: &Repository,
    moment: &Moment,
    from: &str,
    to: &str,
) -> Result<Vec<Difference>, ChangesError> {
    match moment {
        Moment::Committed | Moment::BranchPoint => since_commit(repository, from, to),
        Moment::Marked(_) | Moment::Now => trees(repository, from, to),
    }
}

/// All files of a folder that differ between two trees.
pub(super) fn trees(
    repository: &Repository,
    from: &str,
    to: &str,
) -> Result<Vec<Difference>, ChangesError> {
    let renames = &["--find-renames", "-l1000"];
    differences(repository, renames, from, to)
}

/// The same, with a renamed file as one that is gone and one that is new.
pub(super) fn without_renames(
    repository: &Repository,
    from: &str,
    to: &str,
) -> Result<Vec<Difference>, ChangesError> {
    differences(repository, &["--no-renames"], from, to)
}

fn differences(
    repository: &Repository,
    renames: &[&str],
    from: &str,
    to: &str,
) -> Result<Vec<Difference>, ChangesError> {
    if from == to {
        return Ok(Vec::new());
    }
    let plain = ["-z", "--raw", "--numstat", "--ignore-submodules=none"];
    let how = [plain.as_slice(), renames].concat();
    let output = diff_tree(repository, &how, from, to)?;
    let differences = parse(&output, &repository.key).ok_or_else(|| {
        let words = "it answered in a way that is not understood".to_owned();
        ChangesError::Git(words)
    })?;
    if differences.len() > FILES {
        let many = differences.len();
        let reason = format!("{many} files differ, and at most {FILES} are shown");
        return Err(ChangesError::TooMuch(reason));
    }
    Ok(differences)
}

/// The same, counted from a commit. Files that are new since and that ignore
/// files name are nobody's business, even if they were once looked at.
pub(super) fn since_commit(
    repository: &Repository,
    commit: &str,
    to: &str,
) -> Result<Vec<Difference>, ChangesError> {
    let how = ["-z", "--name-only", "--no-renames", "--diff-filter=A"];
    let new = diff_tree(repository, &how, commit, to)?;
    let ignored = ignored(repository, &new)?;
    if ignored.is_empty() {
        return trees(repository, commit, to);
    }
    trees(
        repository,
        commit,
        &tree::without(repository, to, &ignored)?,
    )
}

/// Which of some names ignore files name, and the user's git does not track.
fn ignored(repository: &Repository, names: &[u8]) -> Result<Vec<Vec<u8>>, ChangesError> {
    let Some(real) = repository.real.as_ref().filter(|_| !names.is_empty()) else {
        return Ok(Vec::new());
    };
    // This command refuses to take names as they are. With this in front of
    // them they mean nothing else.
    let plain = names::split(names).map(|name| [b"./", name].concat());
    let git = real.at(&repository.top).with("GIT_LITERAL_PATHSPECS", "0");
    let answer = git.run(["check-ignore", "-z", "--stdin"], &names::join(plain))?;
    if answer.said_no {
        return Ok(Vec::new());
    }
    let ignored = answer.succeeded()?;
    let ignored = names::split(&ignored).map(|name| name.strip_prefix(b"./").unwrap_or(name));
    Ok(ignored.map(<[u8]>::to_vec).collect())
}

/// Has git compare two trees, as far as the folder goes.
pub(super) fn diff_tree(
    repository: &Repository,
    how: &[&str],
    from: &str,
    to: &str,
) -> Result<Vec<u8>, ChangesError> {
    let plain = ["diff-tree", "-r", "--no-ext-diff", "--no-textconv"];
    let arguments = [plain.as_slice(), how, &[from, to]].concat();
    repository.ask_in_scope(&repository.shadow, &arguments)
}

/// Reads what git lists: first what each file is, then its lines.
pub(super) fn parse(output: &[u8], key: &str) -> Option<Vec<Difference>> {
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
            (mode != "000000").then(|| Side {
                name,
                object: object.to_owned(),
                mode: mode.to_owned(),
            })
        };
        let before = side(old_mode, old, first).filter(|_| !status.starts_with('C'));
        differences.push(Difference {
            before,
            after: side(new_mode, new, second),
            lines: None,
            key: key.to_owned(),
        });
    }
    for difference in &mut differences {
        let entry = fields.next()?;
        let mut parts = entry.splitn(3, |byte| *byte == b'\t');
        let number = |part: Option<&[u8]>| std::str::from_utf8(part?).ok()?.parse().ok();
        let (added, removed) = (number(parts.next()), number(parts.next()));
        // Of a file that moved, both names follow.
        if parts.next().is_none_or(<[u8]>::is_empty) {
            fields.next()?;
            fields.next()?;
        }
        difference.lines = added.zip(removed);
    }
    Some(differences)
}

/// How much differs in all. git's own counts are not believed to be small.
pub(super) fn summarize(differences: &[Difference]) -> ChangesSummary {
    let lines = differences.iter().filter_map(|difference| difference.lines);
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
