//! Commands about terminals.

use super::state::TerminalClaim;
use crate::common::Meta;
use crate::uri::Uri;
use crate::wire::Wire;

/// `createTerminal`: opens a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateTerminalParams {
    /// The new terminal, named by the client.
    pub channel: Uri,
    /// Who has it.
    pub claim: TerminalClaim,
    /// Its title.
    pub name: Option<String>,
    /// The directory to start in.
    pub cwd: Option<Uri>,
    /// Its width.
    pub cols: Option<u64>,
    /// Its height.
    pub rows: Option<u64>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `disposeTerminal`: ends a terminal and its program.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeTerminalParams {
    /// The terminal.
    pub channel: Uri,
    /// Free data.
    pub meta: Option<Meta>,
}
