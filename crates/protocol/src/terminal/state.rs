//! The state of a terminal.

use std::fmt;

use crate::ids::{ClientId, CommandId, ToolCallId, TurnId};
use crate::list::List;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// A terminal with its output. A clone shares the output with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalState {
    /// Its title.
    pub title: String,
    /// The directory it is in.
    pub cwd: Option<Uri>,
    /// Its width.
    pub cols: Option<u64>,
    /// Its height.
    pub rows: Option<u64>,
    /// Its output, in pieces. Strung together they are what the program
    /// wrote.
    pub content: List<TerminalPart>,
    /// Whether its program still runs.
    pub lifecycle: TerminalLifecycle,
    /// Who has it.
    pub claim: TerminalClaim,
    /// Whether commands are told apart in the output.
    pub supports_command_detection: Option<bool>,
    /// `false` if the output is plain text without escape sequences.
    pub is_pty: Option<bool>,
}

impl TerminalState {
    /// A terminal that has just begun, with nothing written to it yet.
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

/// What the host's list of terminals shows of a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalInfo {
    /// The terminal channel.
    pub resource: Uri,
    /// Its title.
    pub title: String,
    /// Who has it.
    pub claim: TerminalClaim,
    /// Whether its program still runs.
    pub lifecycle: TerminalLifecycle,
}

/// Who has a terminal. Somebody always does (TER-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum TerminalClaim {
    /// A client.
    Client(TerminalClientClaim),
    /// A session.
    Session(TerminalSessionClaim),
}

/// A client that has a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalClientClaim {
    /// The client.
    pub client_id: ClientId,
}

/// A session that has a terminal, perhaps for one turn or tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalSessionClaim {
    /// The session.
    pub session: Uri,
    /// Its chat.
    pub chat: Uri,
    /// The turn. Absent: it runs in the background (TER-4).
    pub turn_id: Option<TurnId>,
    /// The tool call.
    pub tool_call_id: Option<ToolCallId>,
}

/// Whether the program of a terminal still runs.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum TerminalLifecycle {
    /// It does.
    Running,
    /// It has ended.
    Exited(TerminalExit),
}

/// How the program of a terminal ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalExit {
    /// Its exit code, if known.
    pub exit_code: Option<i64>,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum TerminalPart {
    /// Output of no command in particular.
    Unclassified(TerminalOutput),
    /// A command and its output.
    Command(TerminalCommand),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Output of no command in particular.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalOutput {
    /// The output.
    pub value: String,
}

/// A command and its output.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalCommand {
    /// Its name in the terminal.
    pub command_id: CommandId,
    /// The command line.
    pub command_line: String,
    /// Its output so far.
    pub output: String,
    /// When it began, in milliseconds since 1970.
    pub timestamp: Millis,
    /// Whether it has ended.
    pub is_complete: bool,
    /// Its exit code, if known.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<Millis>,
}

/// Shows how much, not what: terminal bytes stay out of logs.
impl fmt::Debug for TerminalOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TerminalOutput({} bytes)", self.value.len())
    }
}

/// Shows how much, not what: terminal bytes stay out of logs.
impl fmt::Debug for TerminalCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalCommand")
            .field("command_id", &self.command_id)
            .field("bytes", &self.output.len())
            .field("exit_code", &self.exit_code)
            .finish_non_exhaustive()
    }
}
