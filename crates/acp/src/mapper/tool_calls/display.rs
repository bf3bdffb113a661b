//! The representation of a tool call in clients: as a command, a search, or a file read.
//!
//! VS Code decides by `_meta.toolKind`. It shows the `toolInput` of a call of the kind
//! `terminal` as the command line, so that is not JSON; `_meta.rawInput` contains the arguments
//! of the agent.

use agenthost_core::{CommandLine, RAW_INPUT_META_KEY, terminal_call_meta};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::wire::Object;
use serde_json::{Value, json};

use super::TrackedCall;
use super::host_calls::APP_META_KEY;
use crate::mapper::content;
use crate::mapper::terminal_views::CallTerminals;
use crate::transport::schema::{ToolCallContent, ToolKind};

/// The stage of a tool call, for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DisplayStage {
    /// The arguments may not be complete yet.
    Announced,
    /// The call waits for the user's decision. With the kind `terminal`, clients would not show
    /// the agent's own options.
    AwaitingApproval,
    Running,
}

/// The `_meta` key of a call whose permission request has more text than its message.
pub(super) const TRUNCATED_META_KEY: &str = "agenthost.truncated";

/// The message of a permission request.
pub(super) struct PermissionMessage {
    pub(super) text: MaybeMarkdown,
    /// `true` if the message does not have all of the request.
    pub(super) is_truncated: bool,
}

impl TrackedCall {
    /// Returns `true` if the call is shown as a command: it executes something, or has a
    /// terminal.
    pub(super) fn is_command(&self) -> bool {
        let is_terminal =
            |content: &ToolCallContent| matches!(content, ToolCallContent::Terminal(_));
        let executes = self.kind == Some(ToolKind::Execute);
        self.tool.is_none() && (executes || self.content.iter().any(is_terminal))
    }

    /// Returns the command line of the call, if it is known.
    fn command_line(&self) -> Option<CommandLine> {
        if !self.is_command() {
            return None;
        }
        let line = match self.input.as_ref()? {
            Value::String(line) => line.clone(),
            Value::Object(fields) => match fields.get("command")? {
                Value::String(line) => line.clone(),
                Value::Array(words) => join_shell_words(words)?,
                _ => return None,
            },
            _ => return None,
        };
        let line = line.trim();
        (!line.is_empty()).then(|| CommandLine(line.to_owned()))
    }

    /// Returns the agent's description of the command.
    pub(super) fn intention(&self) -> Option<String> {
        self.command_line()?;
        let description = self.input.as_ref()?.get("description")?.as_str()?;
        let description = description.trim();
        (!description.is_empty()).then(|| description.to_owned())
    }

    /// Returns the message of a permission request: the title or the whole command, the diffs,
    /// and the text of the request.
    pub(super) fn permission_message(&self, terminals: &CallTerminals) -> PermissionMessage {
        let mut parts = vec![match self.command_line() {
            Some(line) => line.invocation().as_str().to_owned(),
            None => escape_title(&self.title()),
        }];
        let diffs = content::message_diffs(&self.content, &terminals.folder);
        parts.extend(diffs.blocks);
        if diffs.omitted_lines > 0 {
            parts.push(format!(
                "{} more lines of the changes are not shown here.",
                diffs.omitted_lines
            ));
        }
        parts.extend(self.permission_prompt.text().map(str::to_owned));
        if self.permission_prompt.is_truncated() {
            parts.push("The rest of this text is not shown here.".to_owned());
        }
        PermissionMessage {
            text: MaybeMarkdown::Markdown(parts.join("\n\n")),
            is_truncated: diffs.omitted_lines > 0 || self.permission_prompt.is_truncated(),
        }
    }

    /// Returns the arguments as text. Clients show the result of a call only below its
    /// arguments, so there is always a text, unless a client executes the call.
    pub(super) fn input_text(&self) -> Option<String> {
        if let Some(line) = self.command_line() {
            return Some(line.0);
        }
        match self.arguments() {
            Some(Value::String(text)) => Some(text.clone()),
            Some(input) => Some(input.to_string()),
            None if self.is_client_tool() => None,
            None if self.is_command() => Some(self.title()),
            None => Some("{}".to_owned()),
        }
    }

    /// Returns the metadata of the call for clients.
    pub(super) fn display_meta(&self, stage: DisplayStage) -> Object {
        let mut meta = self.meta.clone().unwrap_or_default();
        // Only the host sets these keys; an agent must not.
        meta.remove("toolKind");
        meta.remove(RAW_INPUT_META_KEY);
        meta.remove(APP_META_KEY);
        meta.remove(TRUNCATED_META_KEY);
        if let Some(kind) = self.kind {
            meta.insert("kind".to_owned(), json!(kind));
        }
        if !self.locations.is_empty() {
            meta.insert("locations".to_owned(), json!(self.locations));
        }
        if stage != DisplayStage::Announced && self.is_command() {
            let input = self.input.clone().unwrap_or_else(|| json!({}));
            meta.insert(RAW_INPUT_META_KEY.to_owned(), input);
        }
        match self.kind {
            _ if self.is_command() => {
                if stage == DisplayStage::Running {
                    meta.extend(*terminal_call_meta());
                }
            }
            Some(ToolKind::Read) => drop(meta.insert("toolKind".to_owned(), json!("read"))),
            Some(ToolKind::Search) => drop(meta.insert("toolKind".to_owned(), json!("search"))),
            // Clients support no other kinds.
            Some(_) | None => {}
        }
        meta.extend(self.app_meta());
        meta
    }
}

/// Joins words to a shell command line.
fn join_shell_words(words: &[Value]) -> Option<String> {
    let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
    let quoted: Vec<_> = words?.into_iter().map(quote_shell_word).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

fn quote_shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns a title as Markdown. A title with backticks is Markdown already; in any other, a
/// name like `__init__.py` must be escaped.
fn escape_title(title: &str) -> String {
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
