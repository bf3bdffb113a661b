//! What a tool call brings back.

use crate::common::{ContentRef, FileEdit};
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::{Json, Object, Unknown, Wire};

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallResult {
    /// Whether it went well.
    pub success: bool,
    /// What it did, in the past tense.
    pub past_tense_message: MaybeMarkdown,
    /// Blocks of content.
    pub content: Option<Vec<ToolResultContent>>,
    /// The result as data.
    pub structured_content: Option<Object>,
    /// What went wrong, usually `{message, code?}`.
    pub error: Option<Json>,
}

/// One block of a tool result.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ToolResultContent {
    /// Text.
    Text(ToolResultText),
    /// Data inside the result.
    EmbeddedResource(ToolResultEmbeddedResource),
    /// Content to fetch by its URI.
    Resource(ContentRef),
    /// A change to a file.
    FileEdit(FileEdit),
    /// A terminal to watch.
    Terminal(ToolResultTerminal),
    /// A worker chat to watch.
    Subagent(ToolResultSubagent),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Text in a result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultText {
    /// The text.
    pub text: String,
}

/// Data in a result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultEmbeddedResource {
    /// The bytes in base64.
    pub data: String,
    /// Their MIME type.
    pub content_type: String,
}

/// A terminal in a result. It stays subscribable after it has exited
/// (TOO-25).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultTerminal {
    /// The terminal channel.
    pub resource: Uri,
    /// Name for people.
    pub title: String,
    /// `false` if the output is plain text without escape sequences.
    pub is_pty: Option<bool>,
    /// How the command ended, once it has.
    pub result: Option<TerminalCommandResult>,
}

/// How a command in a terminal ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandResult {
    /// Its exit code, if known.
    pub exit_code: Option<i64>,
    /// Some of its output.
    pub preview: Option<String>,
    /// Whether there was more.
    pub truncated: Option<bool>,
}

/// A worker chat that the call spawned; its origin points back here (CHT-16).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultSubagent {
    /// The chat channel.
    pub resource: Uri,
    /// Name for people.
    pub title: String,
    /// The agent, for programs.
    pub agent_name: Option<String>,
    /// What it was asked to do.
    pub description: Option<String>,
}

impl ToolResultContent {
    /// The terminal, if the content is one.
    pub fn as_terminal(&self) -> Option<&ToolResultTerminal> {
        if let ToolResultContent::Terminal(terminal) = self {
            Some(terminal)
        } else {
            None
        }
    }
}
