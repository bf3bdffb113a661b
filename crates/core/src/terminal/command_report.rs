//! Tool call content for commands that run in a terminal.

use agenthost_protocol::chat::{
    Message, TerminalCommandResult, ToolCallResult, ToolResultContent, ToolResultTerminal,
    ToolResultText,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::terminal::output::{CommandLine, TerminalEnd};

/// Initial width of the terminal of a command if the client names none.
pub const COMMAND_COLS: u64 = 120;

/// Initial height of the terminal of a command if the client names none.
pub const COMMAND_ROWS: u64 = 30;

/// Key in the `_meta` of a message for the size of the terminal in which it was typed:
/// `{"cols": 80, "rows": 24}`. The commands of its turn begin with this size.
pub const TERMINAL_SIZE_META_KEY: &str = "agenthost.terminalSize";

/// Maximum width and height of a terminal.
const MAX_TERMINAL_SIDE: u64 = 1_000;

/// The size of the terminal of a command, until a client resizes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSize {
    pub cols: u64,
    pub rows: u64,
}

impl Default for CommandSize {
    fn default() -> Self {
        CommandSize {
            cols: COMMAND_COLS,
            rows: COMMAND_ROWS,
        }
    }
}

impl CommandSize {
    /// Returns the size for the commands of a turn with this message.
    pub fn of_message(message: &Message) -> Self {
        let meta = message.meta.as_ref();
        let size = meta.and_then(|meta| meta.get(TERMINAL_SIZE_META_KEY)?.as_object());
        let side = |name: &str, default: u64| {
            let side = size.and_then(|size| size.get(name)?.as_i64());
            let side = side.and_then(|side| u64::try_from(side).ok());
            side.filter(|side| (1..=MAX_TERMINAL_SIDE).contains(side))
                .unwrap_or(default)
        };
        CommandSize {
            cols: side("cols", COMMAND_COLS),
            rows: side("rows", COMMAND_ROWS),
        }
    }
}

/// Maximum size of the output preview in a tool call result, taken from the end of the output.
pub const COMMAND_PREVIEW_BYTES: usize = 4_000;

/// Key in the `_meta` of a tool call for the arguments as the agent gave them, used when
/// `toolInput` is a command line.
pub const RAW_INPUT_META_KEY: &str = "rawInput";

/// Last line of a tool call's output when its command continues in the background.
pub const BACKGROUND_NOTE: &str = "[The command continues in the background.]";

/// Maximum length of a command line in a title.
const MAX_COMMAND_TITLE_CHARS: usize = 80;

/// Returns the `_meta` of a tool call that runs a command. Clients show such a call as a
/// terminal, with the whole command line.
///
/// A call that waits for approval must not have it: VS Code has two answers of its own for
/// terminals, and then omits the options that the call offers.
pub fn terminal_call_meta() -> Meta {
    let mut meta = Object::new();
    meta.insert("toolKind".to_owned(), "terminal".into());
    meta.insert("language".to_owned(), "shellscript".into());
    Meta::new(meta)
}

/// A command that runs, or ran, in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReport {
    /// The command line that runs.
    pub line: CommandLine,
    /// Channel URI of the terminal.
    pub terminal: Uri,
}

impl CommandLine {
    /// Returns the command line as a title: its first line, truncated.
    pub fn title(&self) -> String {
        let line = self.0.as_str();
        let first = line.lines().next().unwrap_or_default();
        let mut title: String = first.chars().take(MAX_COMMAND_TITLE_CHARS).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        title
    }

    /// Returns the invocation message of a call that runs the command. It contains the whole
    /// command line, because users decide by it. Clients wrap inline code, and scroll code
    /// blocks.
    pub fn invocation(&self) -> MaybeMarkdown {
        let line = self.0.as_str();
        MaybeMarkdown::Markdown(if line.contains(['\n', '\r']) {
            format!("Run\n\n{}", code_block("sh", line))
        } else {
            format!("Run {}", inline_code(line))
        })
    }
}

/// Formats text as inline code in Markdown.
fn inline_code(text: &str) -> String {
    let fence = "`".repeat(longest_fence(text) + 1);
    // Next to a backtick, the fence would become part of the text.
    let pad = match text.starts_with('`') || text.ends_with('`') {
        true => " ",
        false => "",
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Formats text as a code block in Markdown.
pub fn code_block(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_fence(text).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Returns the length of the longest run of backticks.
fn longest_fence(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or_default()
}

impl CommandReport {
    /// Returns the content of a running call: a reference to the terminal.
    pub fn running_content(&self) -> Vec<ToolResultContent> {
        vec![self.terminal_block(None)]
    }

    /// Returns the result of a command that has ended (TOO-24).
    pub fn ended_result(&self, end: TerminalEnd) -> ToolCallResult {
        let preview = end.preview.unwrap_or_default();
        let result = TerminalCommandResult {
            exit_code: end.exit_code,
            preview: Some(preview.clone()),
            truncated: Some(end.truncated),
        };
        let reason = match end.exit_code {
            Some(0) => None,
            Some(code) => Some(format!("it ended with exit code {code}")),
            None => Some("it was killed".to_owned()),
        };
        let text = ToolResultContent::Text(ToolResultText { text: preview });
        let mut content = vec![text, self.terminal_block(Some(result))];
        content.extend(end.full_output.map(ToolResultContent::Resource));
        self.result("Ran", Some(content), reason)
    }

    /// Returns the result of a command that continues in the background, with its output so
    /// far.
    pub fn background_result(&self, output: &str) -> ToolCallResult {
        let newline = if output.is_empty() || output.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let text = format!("{output}{newline}{BACKGROUND_NOTE}");
        let text = ToolResultContent::Text(ToolResultText { text });
        let content = vec![text, self.terminal_block(None)];
        self.result("Continues in the background:", Some(content), None)
    }

    /// Returns the result of a command that could not be started.
    pub fn failed_result(&self, reason: String) -> ToolCallResult {
        self.result("Could not run", None, Some(reason))
    }

    fn result(
        &self,
        what: &str,
        content: Option<Vec<ToolResultContent>>,
        reason: Option<String>,
    ) -> ToolCallResult {
        ToolCallResult {
            success: reason.is_none(),
            past_tense_message: format!("{what} {}", self.line.title()).into(),
            content,
            structured_content: None,
            error: reason.map(|reason| Json::from_iter([("message", reason)])),
        }
    }

    fn terminal_block(&self, result: Option<TerminalCommandResult>) -> ToolResultContent {
        ToolResultContent::Terminal(ToolResultTerminal {
            resource: self.terminal.clone(),
            title: self.line.title(),
            is_pty: Some(true),
            result,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_request_has_the_whole_command_line() {
        let long = format!("echo {}", "x".repeat(500));
        for (line, asked) in [
            ("make", "Run `make`".to_owned()),
            (&long, format!("Run `{long}`")),
            ("echo `date`", "Run `` echo `date` ``".to_owned()),
            ("a\nb", "Run\n\n```sh\na\nb\n```".to_owned()),
            ("a\n```\nb", "Run\n\n````sh\na\n```\nb\n````".to_owned()),
        ] {
            let line = CommandLine(line.to_owned());
            assert_eq!(line.invocation(), MaybeMarkdown::Markdown(asked));
        }
    }
}
