//! Worktrees that the host makes for sessions.

use std::path::Path;

use agenthost_protocol::uri::Uri;

/// The file in which it is noted what a worktree was made from.
const NOTE: &str = "agenthost";

/// The branch that a worktree was made from, if the host made it.
pub(super) fn based_on(git_dir: &Path) -> Option<String> {
    note(git_dir).map(|(base, _)| base)
}

/// The folder that a worktree was made from, if the host made it.
pub(super) fn made_from(git_dir: &Path) -> Option<Uri> {
    note(git_dir).map(|(_, folder)| folder)
}

fn note(git_dir: &Path) -> Option<(String, Uri)> {
    let note = std::fs::read_to_string(git_dir.join(NOTE)).ok()?;
    let (base, folder) = note.trim_end().split_once('\n')?;
    Some((base.to_owned(), Uri::from(folder)))
}
