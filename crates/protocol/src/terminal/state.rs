//! State of a terminal channel, and its entry in the root state.

use std::fmt;

use crate::ids::{ClientId, CommandId, ToolCallId, TurnId};
use crate::list::List;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// The state of a terminal channel. A clone shares the output with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalState {
    /// Title of the terminal.
    pub title: String,
    /// Current working directory of the terminal.
    pub cwd: Option<Uri>,
    /// Width of the terminal in columns.
    pub cols: Option<u64>,
    /// Height of the terminal in rows.
    pub rows: Option<u64>,
    /// Output in parts; their concatenation is the output of the program.
    pub content: List<TerminalPart>,
    /// Status of the program.
    pub lifecycle: TerminalLifecycle,
    /// Owner of the terminal.
    pub claim: TerminalClaim,
    /// `true` if the shell marks the commands in the output.
    pub supports_command_detection: Option<bool>,
    /// `false` if the output is plain text without escape sequences.
    pub is_pty: Option<bool>,
}

impl TerminalState {
    /// Creates a running terminal without output.
    pub fn new(title: impl Into<String>, claim: TerminalClaim) -> Self {
        TerminalState {
            title: title.into(),
            cwd: None,
            cols: None,
            rows: None,
            content: List::new(),
            lifecycle: TerminalLifecycle::Running,
            claim,
            supports_command_detection: None,
            is_pty: None,
        }
    }
}

/// The entry of a terminal in the root state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalInfo {
    /// URI of the terminal channel.
    pub resource: Uri,
    /// Title of the terminal.
    pub title: String,
    /// Owner of the terminal.
    pub claim: TerminalClaim,
    /// Status of the program.
    pub lifecycle: TerminalLifecycle,
}

/// The owner of a terminal. A terminal always has one (TER-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum TerminalClaim {
    /// A client owns the terminal.
    Client(TerminalClientClaim),
    /// A session owns the terminal.
    Session(TerminalSessionClaim),
}

/// A client that owns a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalClientClaim {
    /// Id of the client.
    pub client_id: ClientId,
}

/// A session that owns a terminal, optionally for one turn or tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalSessionClaim {
    /// URI of the session.
    pub session: Uri,
    /// URI of the chat.
    pub chat: Uri,
    /// Id of the turn; absent if the terminal runs in the background (TER-4).
    pub turn_id: Option<TurnId>,
    /// Id of the tool call.
    pub tool_call_id: Option<ToolCallId>,
}

/// The status of the program of a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum TerminalLifecycle {
    /// The program is running.
    Running,
    /// The program has exited.
    Exited(TerminalExit),
}

/// The exit of the program of a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalExit {
    /// Exit code, if known.
    pub exit_code: Option<i64>,
}

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum TerminalPart {
    /// Output that belongs to no known command.
    Unclassified(TerminalOutput),
    /// A command with its output.
    Command(TerminalCommand),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Output that belongs to no known command.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalOutput {
    /// Raw output of the program.
    pub value: String,
}

/// A command with its output.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalCommand {
    /// Id of the command, unique in the terminal.
    pub command_id: CommandId,
    /// Command line as typed.
    pub command_line: String,
    /// Output received so far.
    pub output: String,
    /// Start time in milliseconds since 1970.
    pub timestamp: Millis,
    /// `true` if the command has ended.
    pub is_complete: bool,
    /// Exit code, if known.
    pub exit_code: Option<i64>,
    /// Duration of the command.
    pub duration_ms: Option<Millis>,
}

/// Prints only the size: terminal output and input must not reach logs.
impl fmt::Debug for TerminalOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TerminalOutput({} bytes)", self.value.len())
    }
}

/// Prints only the size: terminal output and input must not reach logs.
impl fmt::Debug for TerminalCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalCommand")
            .field("command_id", &self.command_id)
            .field("bytes", &self.output.len())
            .field("exit_code", &self.exit_code)
            .finish_non_exhaustive()
    }
}
