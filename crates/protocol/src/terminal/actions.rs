//! Actions on a terminal.

use super::state::TerminalClaim;
use crate::action::actions;
use crate::ids::CommandId;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// An action on a terminal.
    pub enum TerminalAction on Terminal {
        /// Appends output of the program.
        Data(TerminalData) = "terminal/data", Host, V0_1;
        /// Sends input to the program.
        Input(TerminalInput) = "terminal/input", Client, V0_1;
        /// Sets the size of the terminal.
        Resized(TerminalResized) = "terminal/resized", Client, V0_1;
        /// Sets the owner of the terminal.
        Claimed(TerminalClaimed) = "terminal/claimed", Client, V0_1;
        /// Sets the title of the terminal.
        TitleChanged(TerminalTitleChanged) = "terminal/titleChanged", Client, V0_1;
        /// Sets the working directory.
        CwdChanged(TerminalCwdChanged) = "terminal/cwdChanged", Host, V0_1;
        /// Reports that the program has exited.
        Exited(TerminalExited) = "terminal/exited", Host, V0_1;
        /// Removes all output of the terminal.
        Cleared(TerminalCleared) = "terminal/cleared", Client, V0_1;
        /// Reports that the shell marks the commands in the output.
        CommandDetectionAvailable(TerminalCommandDetectionAvailable) = "terminal/commandDetectionAvailable", Host, V0_1;
        /// Starts a command in the output.
        CommandExecuted(TerminalCommandExecuted) = "terminal/commandExecuted", Host, V0_1;
        /// Completes a command in the output.
        CommandFinished(TerminalCommandFinished) = "terminal/commandFinished", Host, V0_1;
    }
}

/// The program wrote output.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalData {
    /// Output of the program to append.
    pub data: String,
}

/// A user typed input, possibly a password. It changes no state and is never logged (TER-20).
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalInput {
    /// Input for the program.
    pub data: String,
}

macro_rules! debug_without_data {
    ($($name:ident),*) => {$(
        /// Prints only the size: terminal output and input must not reach logs.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({} bytes)"), self.data.len())
            }
        }
    )*};
}

debug_without_data!(TerminalData, TerminalInput);

/// The size of the terminal changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalResized {
    /// Width of the terminal in columns.
    pub cols: u64,
    /// Height of the terminal in rows.
    pub rows: u64,
}

/// The owner of the terminal changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalClaimed {
    /// New owner of the terminal.
    pub claim: TerminalClaim,
}

/// The title of the terminal changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalTitleChanged {
    /// New title of the terminal.
    pub title: String,
}

/// The working directory of the terminal changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCwdChanged {
    /// URI of the directory.
    pub cwd: Uri,
}

/// The program of the terminal has exited.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalExited {
    /// Exit code, if known.
    pub exit_code: Option<i64>,
}

/// All output of the terminal was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCleared {}

/// Command detection became available: the shell marks the commands in the output.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandDetectionAvailable {}

/// A command was started; output belongs to it until it has ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandExecuted {
    /// Id of the command, unique in the terminal.
    pub command_id: CommandId,
    /// Command line as typed.
    pub command_line: String,
    /// Start time in milliseconds since 1970.
    pub timestamp: Millis,
}

/// A command has ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandFinished {
    /// Id of the command.
    pub command_id: CommandId,
    /// Exit code, if known.
    pub exit_code: Option<i64>,
    /// Duration of the command.
    pub duration_ms: Option<Millis>,
}
