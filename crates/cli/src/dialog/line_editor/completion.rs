//! Completes commands, files and session ids.

use std::path::PathBuf;
use std::sync::Arc;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::output_gate::OutputGate;

/// Maximum number of files that a completion lists.
const MAX_FILES: usize = 200;

/// The names that can be completed.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompletionSource {
    /// Commands, with their slash.
    pub(crate) commands: Vec<String>,
    /// The folder that names of files are relative to.
    pub(crate) folder: Option<PathBuf>,
    /// Short ids of sessions with a description.
    pub(crate) sessions: Vec<(String, String)>,
    /// The command that takes the id of a session.
    pub(crate) session_command: &'static str,
}

/// Connects the editor with completion and the output gate.
pub(super) struct InputHelper {
    source: CompletionSource,
    gate: Arc<OutputGate>,
}

impl InputHelper {
    pub(super) fn new(source: CompletionSource, gate: Arc<OutputGate>) -> Self {
        InputHelper { source, gate }
    }
}

impl CompletionSource {
    /// Returns the start of the word before the cursor, and its completions.
    fn complete_word(&self, line: &str) -> (usize, Vec<Pair>) {
        let start = line.rfind(char::is_whitespace);
        let start = start.map_or(0, |space| space + 1);
        let word = line.get(start..).unwrap_or_default();
        if let Some(path) = word.strip_prefix('@') {
            return (start + 1, self.complete_file(path));
        }
        let before = line.get(..start).unwrap_or_default().trim();
        if before == self.session_command && !before.is_empty() {
            let matching = self.sessions.iter().filter(|(id, _)| id.starts_with(word));
            let pairs = matching.map(|(id, about)| pair(format!("{id}  {about}"), id.clone()));
            return (start, pairs.collect());
        }
        if start == 0 && word.starts_with('/') {
            let matching = self.commands.iter().filter(|name| name.starts_with(word));
            let pairs = matching.map(|name| pair(name.clone(), format!("{name} ")));
            return (start, pairs.collect());
        }
        (start, Vec::new())
    }

    fn complete_file(&self, path: &str) -> Vec<Pair> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let (parent, name) = path.rsplit_once('/').map_or(("", path), |(parent, name)| {
            (path.get(..=parent.len()).unwrap_or(parent), name)
        });
        let Ok(entries) = folder.join(parent).read_dir() else {
            return Vec::new();
        };
        let mut found: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let entry_name = entry.file_name().into_string().ok()?;
                let is_hidden = entry_name.starts_with('.') && !name.starts_with('.');
                // A name with invisible characters could control the terminal.
                let is_safe = !entry_name.contains(agenthost_protocol::label::is_invisible);
                let fits = entry_name.starts_with(name) && !is_hidden && is_safe;
                let slash = match entry.path().is_dir() {
                    true => "/",
                    false => "",
                };
                fits.then(|| format!("{parent}{entry_name}{slash}"))
            })
            .take(MAX_FILES)
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|path| pair(path.clone(), path))
            .collect()
    }
}

fn pair(display: String, replacement: String) -> Pair {
    Pair {
        display,
        replacement,
    }
}

impl Completer for InputHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..position).unwrap_or_default();
        Ok(self.source.complete_word(before))
    }
}

impl Hinter for InputHelper {
    type Hint = String;

    /// Opens the gate: the editor asks for a hint when it shows a line.
    fn hint(&self, _: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.gate.open();
        None
    }
}

impl Validator for InputHelper {
    /// Holds output: the line was entered.
    fn validate(&self, _: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        self.gate.hold();
        Ok(ValidationResult::Valid(None))
    }
}

impl Highlighter for InputHelper {}

impl Helper for InputHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(folder: PathBuf) -> CompletionSource {
        CompletionSource {
            commands: vec!["/queue".to_owned(), "/quit".to_owned(), "/steer".to_owned()],
            folder: Some(folder),
            sessions: vec![("6314fd6f".to_owned(), "Fix parser".to_owned())],
            session_command: "/switch",
        }
    }

    #[test]
    fn commands_files_and_sessions_are_completed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("source")).unwrap();
        for name in ["source/main.rs", "some.txt", ".hidden", "e\u{1b}[2Jx"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let source = source(directory.path().to_owned());
        let complete = |line: &str| {
            let (start, pairs) = source.complete_word(line);
            let names: Vec<_> = pairs.into_iter().map(|pair| pair.replacement).collect();
            (start, names)
        };
        assert_eq!(
            complete("/qu"),
            (0, vec!["/queue ".into(), "/quit ".into()])
        );
        assert_eq!(complete("a /qu"), (2, vec![]));
        let both = vec!["some.txt".into(), "source/".into()];
        assert_eq!(complete("see @so"), (5, both.clone()));
        assert_eq!(complete("@"), (1, both));
        assert_eq!(complete("@source/m"), (1, vec!["source/main.rs".into()]));
        assert_eq!(complete("@.h"), (1, vec![".hidden".into()]));
        assert_eq!(complete("@nowhere/"), (1, vec![]));
        assert_eq!(complete("/switch 63"), (8, vec!["6314fd6f".into()]));
    }
}
