//! How clients show a call: as a command, a search, a file that is read.
//!
//! VS Code decides by `_meta.toolKind`. A call of the kind `terminal` is shown
//! with its `toolInput` as the command line, so that is no JSON there; the
//! arguments as the agent gave them are in `_meta.rawInput`.

use agenthost_core::{CommandLine, RAW_INPUT, terminal_call_meta};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::wire::Object;
use serde_json::{Value, json};

use super::Call;
use crate::acp::content;
use crate::acp::screens::Scene;
use crate::acp::wire::schema::{ToolCallContent, ToolKind};

/// How far a call is, for those who show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its arguments may not be complete.
    Seen,
    /// It waits for an answer. The kind `terminal` would take away the agent's
    /// own options.
    Asks,
    /// It runs.
    Runs,
}

impl Call {
    /// Whether it is shown as a command: it executes something, or has a
    /// terminal.
    pub(super) fn is_command(&self) -> bool {
        let is_terminal =
            |content: &ToolCallContent| matches!(content, ToolCallContent::Terminal(_));
        let executes = self.kind == Some(ToolKind::Execute);
        self.tool.is_none() && (executes || self.content.iter().any(is_terminal))
    }

    /// Its command line, if that is known.
    fn command(&self) -> Option<CommandLine> {
        if !self.is_command() {
            return None;
        }
        let line = match self.input.as_ref()? {
            Value::String(line) => line.clone(),
            Value::Object(fields) => match fields.get("command")? {
                Value::String(line) => line.clone(),
                Value::Array(words) => joined(words)?,
                _ => return None,
            },
            _ => return None,
        };
        let line = line.trim();
        (!line.is_empty()).then(|| CommandLine(line.to_owned()))
    }

    /// What the command is for, in the agent's own words.
    pub(super) fn intention(&self) -> Option<String> {
        self.command()?;
        let description = self.input.as_ref()?.get("description")?.as_str()?;
        let description = description.trim();
        (!description.is_empty()).then(|| description.to_owned())
    }

    /// What is asked: the title, the whole command or the changes of files, and
    /// the words that the question came with.
    pub(super) fn asked_message(&self, scene: &Scene) -> MaybeMarkdown {
        let mut parts = vec![match self.command() {
            Some(line) => line.invocation().as_str().to_owned(),
            None => title_markdown(&self.title()),
        }];
        parts.extend(content::diffs(&self.content, &scene.folder));
        parts.extend(self.asked.words().map(str::to_owned));
        MaybeMarkdown::Markdown(parts.join("\n\n"))
    }

    /// The arguments as text. Clients show the result of a call only beside its
    /// arguments, so there are always some, unless a client carries it out.
    pub(super) fn input_text(&self) -> Option<String> {
        if let Some(line) = self.command() {
            return Some(line.0);
        }
        match self.arguments() {
            Some(Value::String(text)) => Some(text.clone()),
            Some(input) => Some(input.to_string()),
            None if self.is_clients() => None,
            None if self.is_command() => Some(self.title()),
            None => Some("{}".to_owned()),
        }
    }

    /// The free data of the call.
    pub(super) fn meta(&self, stage: Stage) -> Object {
        let mut meta = self.meta.clone().unwrap_or_default();
        // What the host says by these is not the agent's to say.
        meta.remove("toolKind");
        meta.remove(RAW_INPUT);
        if let Some(kind) = self.kind {
            meta.insert("kind".to_owned(), json!(kind));
        }
        if !self.locations.is_empty() {
            meta.insert("locations".to_owned(), json!(self.locations));
        }
        if stage != Stage::Seen && self.is_command() {
            let input = self.input.clone().unwrap_or_else(|| json!({}));
            meta.insert(RAW_INPUT.to_owned(), input);
        }
        match self.kind {
            _ if self.is_command() => {
                if stage == Stage::Runs {
                    meta.extend(*terminal_call_meta());
                }
            }
            Some(ToolKind::Read) => drop(meta.insert("toolKind".to_owned(), json!("read"))),
            Some(ToolKind::Search) => drop(meta.insert("toolKind".to_owned(), json!("search"))),
            // Clients have no other kinds.
            Some(_) | None => {}
        }
        meta.extend(self.app());
        meta
    }
}

/// Words as a line for a shell.
fn joined(words: &[Value]) -> Option<String> {
    let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
    let quoted: Vec<_> = words?.into_iter().map(quoted).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A title in Markdown. Agents that quote code in a title write Markdown; in
/// all others a name like `__init__.py` has to stay what it is.
fn title_markdown(title: &str) -> String {
    if title.contains('`') {
        return title.to_owned();
    }
    let mut escaped = String::with_capacity(title.len());
    for letter in title.chars() {
        if matches!(
            letter,
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~' | '&' | '|'
        ) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
