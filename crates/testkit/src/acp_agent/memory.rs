//! The history of the agent's sessions, in a file that outlives the process.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

/// The environment variable with the path of the file. Without it, the agent stores no
/// history.
pub const MEMORY_FILE_VARIABLE: &str = "AGENTHOST_TEST_ACP_MEMORY";

fn memory_path() -> Option<PathBuf> {
    std::env::var_os(MEMORY_FILE_VARIABLE).map(PathBuf::from)
}

/// Returns all messages, each with its session.
fn read_entries() -> Vec<(String, String)> {
    let text = memory_path().and_then(|path| std::fs::read_to_string(path).ok());
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let part = |index: usize| Some(line.get(index)?.as_str()?.to_owned());
        Some((part(0)?, part(1)?))
    });
    lines.collect()
}

/// Appends a message of a session.
pub(super) fn append_message(session: &str, said: &str) {
    let file = memory_path().and_then(|path| {
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true).open(path).ok()
    });
    if let Some(mut file) = file {
        let line = json!([session, said]).to_string();
        // A failed write is visible to the test as a missing message.
        writeln!(file, "{line}").unwrap_or_default();
    }
}

/// Removes the messages of a session.
pub(super) fn remove_session(session: &str) {
    let entries = read_entries().into_iter().filter(|(of, _)| of != session);
    let lines: String = entries
        .map(|(of, said)| format!("{}\n", json!([of, said])))
        .collect();
    if let Some(path) = memory_path() {
        // A failed write is visible to the test as a session that stays.
        std::fs::write(path, lines).unwrap_or_default();
    }
}

/// Returns the messages of a session.
pub(super) fn messages_of(session: &str) -> Vec<String> {
    let its = read_entries().into_iter().filter(|(of, _)| of == session);
    its.map(|(_, said)| said).collect()
}

/// Returns the ids of all sessions.
pub(super) fn session_ids() -> Vec<String> {
    let mut names: Vec<_> = read_entries()
        .into_iter()
        .map(|(session, _)| session)
        .collect();
    names.dedup();
    names
}
