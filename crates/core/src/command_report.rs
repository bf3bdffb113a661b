//! What a tool call shows of a command in a terminal.

use agenthost_protocol::chat::{
    TerminalCommandResult, ToolCallResult, ToolResultContent, ToolResultTerminal, ToolResultText,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::terminal_output::{CommandLine, TerminalEnd};

/// How wide a terminal is that a command runs in, until somebody resizes it.
pub const COMMAND_COLS: u64 = 120;

/// How high.
pub const COMMAND_ROWS: u64 = 30;

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
        const LENGTH: usize = 80;
        let line = self.0.as_str();
        let first = line.lines().next().unwrap_or_default();
        let mut title: String = first.chars().take(LENGTH).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        title
    }
}

impl CommandReport {
    /// While it runs: where to watch it.
    pub fn running(&self) -> Vec<ToolResultContent> {
        vec![self.block(None)]
    }

    /// How it ended (TOO-24).
    pub fn ended(&self, end: TerminalEnd) -> ToolCallResult {
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
        let mut content = vec![text, self.block(Some(result))];
        content.extend(end.whole.map(ToolResultContent::Resource));
        self.result("Ran", Some(content), reason)
    }

    /// Why it never began.
    pub fn failed(&self, reason: String) -> ToolCallResult {
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

    fn block(&self, result: Option<TerminalCommandResult>) -> ToolResultContent {
        ToolResultContent::Terminal(ToolResultTerminal {
            resource: self.terminal.clone(),
            title: self.line.title(),
            is_pty: Some(true),
            result,
        })
    }
}
