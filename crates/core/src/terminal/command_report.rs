//! What a tool call shows of a command in a terminal.

use agenthost_protocol::chat::{
    TerminalCommandResult, ToolCallResult, ToolResultContent, ToolResultTerminal, ToolResultText,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::terminal::output::{CommandLine, TerminalEnd};

/// How wide a terminal is that a command runs in, until somebody resizes it.
pub const COMMAND_COLS: u64 = 120;

/// How high.
pub const COMMAND_ROWS: u64 = 30;

/// How much of a command's output is in the result of its call, from the end.
pub const COMMAND_PREVIEW_BYTES: usize = 4_000;

/// The key in the free data of a call for the arguments as the agent gave them,
/// where `toolInput` is a command line.
pub const RAW_INPUT_META_KEY: &str = "rawInput";

/// Ends the output that the call of a command has when the command continues in
/// the background.
pub const BACKGROUND_NOTE: &str = "[The command continues in the background.]";

/// The longest command line that is shown in one line.
const MAX_COMMAND_TITLE_CHARS: usize = 80;

/// The free data of a call that runs a command: clients show such a call as a
/// terminal, with the whole command line.
///
/// A call that waits for an approval must not have it. VS Code has two answers
/// of its own for terminals, and then leaves out those that the call offers.
pub fn terminal_call_meta() -> Meta {
    let mut meta = Object::new();
    meta.insert("toolKind".to_owned(), "terminal".into());
    meta.insert("language".to_owned(), "shellscript".into());
    Meta::new(meta)
}

/// A command that runs, or ran, in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReport {
    /// The command.
    pub line: CommandLine,
    /// The terminal.
    pub terminal: Uri,
}

impl CommandLine {
    /// A command line as a title: its first line, not too long.
    pub fn title(&self) -> String {
        let line = self.0.as_str();
        let first = line.lines().next().unwrap_or_default();
        let mut title: String = first.chars().take(MAX_COMMAND_TITLE_CHARS).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        title
    }

    /// What a call that runs it will do, with all of the command line: people
    /// decide by it. Clients wrap code in a line, and scroll blocks of code.
    pub fn invocation(&self) -> MaybeMarkdown {
        let line = self.0.as_str();
        MaybeMarkdown::Markdown(match line.contains(['\n', '\r']) {
            true => format!("Run\n\n{}", code_block("sh", line)),
            false => format!("Run {}", inline_code(line)),
        })
    }
}

/// Text as code in a line of Markdown.
fn inline_code(text: &str) -> String {
    let fence = "`".repeat(longest_fence(text) + 1);
    // Next to a backtick, the fence would be a part of the text.
    let pad = match text.starts_with('`') || text.ends_with('`') {
        true => " ",
        false => "",
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text as a block of code in Markdown.
pub fn code_block(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_fence(text).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{fence}{language}\n{text}\n{fence}")
}

/// The most backticks that stand together.
fn longest_fence(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or_default()
}

impl CommandReport {
    /// While it runs: where to watch it.
    pub fn running_content(&self) -> Vec<ToolResultContent> {
        vec![self.terminal_block(None)]
    }

    /// How it ended (TOO-24).
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

    /// It continues in the background: its output so far.
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

    /// Why it never began.
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
    fn a_command_line_is_whole_in_what_is_asked() {
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
