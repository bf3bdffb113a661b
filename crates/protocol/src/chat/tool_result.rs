//! Results of tool calls and their content blocks.

use crate::common::{ContentRef, FileEdit};
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::{Json, Object, Unknown, Wire};

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallResult {
    /// `true` if the call succeeded.
    pub success: bool,
    /// Description of the operation in the past tense.
    pub past_tense_message: MaybeMarkdown,
    /// Content blocks of the result.
    pub content: Option<Vec<ToolResultContent>>,
    /// The result as structured data.
    pub structured_content: Option<Object>,
    /// Error of the call, usually `{message, code?}`.
    pub error: Option<Json>,
}

/// A content block of a tool result.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ToolResultContent {
    /// A block of text.
    Text(ToolResultText),
    /// Data that is embedded in the result.
    EmbeddedResource(ToolResultEmbeddedResource),
    /// A reference to content that is fetched by URI.
    Resource(ContentRef),
    /// A change to a file.
    FileEdit(FileEdit),
    /// A terminal that clients can subscribe to.
    Terminal(ToolResultTerminal),
    /// A worker chat that clients can subscribe to.
    Subagent(ToolResultSubagent),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// A text block of a result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultText {
    /// Text for the model and the user.
    pub text: String,
}

/// Data that is embedded in a result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultEmbeddedResource {
    /// The bytes, encoded in base64.
    pub data: String,
    /// MIME type of the bytes.
    pub content_type: String,
}

/// A terminal in a result. Clients can subscribe to it also after it has exited (TOO-25).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultTerminal {
    /// URI of the terminal channel.
    pub resource: Uri,
    /// Display name for the user interface.
    pub title: String,
    /// `false` if the output is plain text without escape sequences.
    pub is_pty: Option<bool>,
    /// Result of the command; absent while it runs.
    pub result: Option<TerminalCommandResult>,
}

/// The result of a command in a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandResult {
    /// Exit code of the command, if known.
    pub exit_code: Option<i64>,
    /// An excerpt of the output.
    pub preview: Option<String>,
    /// `true` if the output was longer than the preview.
    pub truncated: Option<bool>,
}

/// A worker chat that the call spawned; the chat's origin refers back to the call (CHT-16).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolResultSubagent {
    /// URI of the chat channel.
    pub resource: Uri,
    /// Display name for the user interface.
    pub title: String,
    /// Machine-readable name of the agent.
    pub agent_name: Option<String>,
    /// Task of the worker.
    pub description: Option<String>,
}

impl ToolResultContent {
    /// Returns the terminal, if the block is one.
    pub fn as_terminal(&self) -> Option<&ToolResultTerminal> {
        if let ToolResultContent::Terminal(terminal) = self {
            Some(terminal)
        } else {
            None
        }
    }
}
