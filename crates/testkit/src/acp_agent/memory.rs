//! What the agent remembers of its sessions, in a file that outlives it.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

/// Names the file. Without one, the agent forgets.
pub const MEMORY: &str = "AGENTHOST_TEST_ACP_MEMORY";

fn path() -> Option<PathBuf> {
    std::env::var_os(MEMORY).map(PathBuf::from)
}

/// All that was said, with the session it was said in.
fn all() -> Vec<(String, String)> {
    let text = path().and_then(|path| std::fs::read_to_string(path).ok());
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let part = |index: usize| Some(line.get(index)?.as_str()?.to_owned());
        Some((part(0)?, part(1)?))
    });
    lines.collect()
}

/// Keeps what was said in a session.
pub(super) fn keep(session: &str, said: &str) {
    let file = path().and_then(|path| {
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true).open(path).ok()
    });
    if let Some(mut file) = file {
        let line = json!([session, said]).to_string();
        // The test sees what is missing.
        writeln!(file, "{line}").unwrap_or_default();
    }
}

/// What was said in a session.
pub(super) fn of(session: &str) -> Vec<String> {
    let its = all().into_iter().filter(|(of, _)| of == session);
    its.map(|(_, said)| said).collect()
}

/// The sessions.
pub(super) fn sessions() -> Vec<String> {
    let mut names: Vec<_> = all().into_iter().map(|(session, _)| session).collect();
    names.dedup();
    names
}
