//! Requests that create and dispose terminals.

use super::state::TerminalClaim;
use crate::common::Meta;
use crate::uri::Uri;
use crate::wire::Wire;

/// Parameters of the `createTerminal` request, which starts a terminal.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateTerminalParams {
    /// URI of the new terminal, chosen by the client.
    pub channel: Uri,
    /// Owner of the terminal.
    pub claim: TerminalClaim,
    /// Title of the terminal.
    pub name: Option<String>,
    /// Initial working directory of the terminal.
    pub cwd: Option<Uri>,
    /// Width of the terminal in columns.
    pub cols: Option<u64>,
    /// Height of the terminal in rows.
    pub rows: Option<u64>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `disposeTerminal` request, which ends a terminal and its program.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeTerminalParams {
    /// URI of the terminal.
    pub channel: Uri,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}
