//! All that can happen to a terminal.

use super::state::TerminalClaim;
use crate::action::actions;
use crate::ids::CommandId;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// Something that happened to a terminal.
    pub enum TerminalAction on Terminal {
        /// The program wrote something.
        Data(TerminalData) = "terminal/data", Host, V0_1;
        /// Someone typed something.
        Input(TerminalInput) = "terminal/input", Client, V0_1;
        /// The size changed.
        Resized(TerminalResized) = "terminal/resized", Client, V0_1;
        /// Someone else has it now.
        Claimed(TerminalClaimed) = "terminal/claimed", Client, V0_1;
        /// The title changed.
        TitleChanged(TerminalTitleChanged) = "terminal/titleChanged", Client, V0_1;
        /// The directory changed.
        CwdChanged(TerminalCwdChanged) = "terminal/cwdChanged", Host, V0_1;
        /// The program ended.
        Exited(TerminalExited) = "terminal/exited", Host, V0_1;
        /// The output was wiped.
        Cleared(TerminalCleared) = "terminal/cleared", Client, V0_1;
        /// Commands can be told apart from now on.
        CommandDetectionAvailable(TerminalCommandDetectionAvailable) = "terminal/commandDetectionAvailable", Host, V0_1;
        /// A command began.
        CommandExecuted(TerminalCommandExecuted) = "terminal/commandExecuted", Host, V0_1;
        /// A command ended.
        CommandFinished(TerminalCommandFinished) = "terminal/commandFinished", Host, V0_1;
    }
}

/// The program wrote something.
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalData {
    /// What it wrote.
    pub data: String,
}

/// Someone typed something, perhaps a password: it changes no state and is
/// never logged (TER-20).
#[derive(Clone, PartialEq, Wire)]
pub struct TerminalInput {
    /// What was typed.
    pub data: String,
}

macro_rules! debug_without_data {
    ($($name:ident),*) => {$(
        /// Shows how much, not what: terminal bytes stay out of logs.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({} bytes)"), self.data.len())
            }
        }
    )*};
}

debug_without_data!(TerminalData, TerminalInput);

/// The size changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalResized {
    /// The width.
    pub cols: u64,
    /// The height.
    pub rows: u64,
}

/// Someone else has it now.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalClaimed {
    /// Who.
    pub claim: TerminalClaim,
}

/// The title changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalTitleChanged {
    /// The title.
    pub title: String,
}

/// The directory changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCwdChanged {
    /// The directory.
    pub cwd: Uri,
}

/// The program ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalExited {
    /// Its exit code, if known.
    pub exit_code: Option<i64>,
}

/// The output was wiped.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCleared {}

/// Commands can be told apart from now on.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandDetectionAvailable {}

/// A command began; what is written until it ends is its output.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandExecuted {
    /// Its name, new in the terminal.
    pub command_id: CommandId,
    /// The command line.
    pub command_line: String,
    /// When, in milliseconds since 1970.
    pub timestamp: Millis,
}

/// A command ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalCommandFinished {
    /// The command.
    pub command_id: CommandId,
    /// Its exit code, if known.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<Millis>,
}
