//! Commands on terminals.

use agenthost_protocol::wire::Input;

/// A command on terminals; the page names it `terminal.VARIANT`.
#[derive(Debug, Input)]
pub enum TerminalCommand {
    /// Starts a terminal in the folder of the selected session.
    Create {
        cols: u64,
        rows: u64,
    },
    /// Shows a terminal; its output follows as effects.
    Open {
        uri: String,
    },
    /// Stops showing a terminal.
    Leave {
        uri: String,
    },
    /// Ends a terminal and its program.
    Close {
        uri: String,
    },
    Rename {
        uri: String,
        title: String,
    },
    Input {
        uri: String,
        data: String,
    },
    Resize {
        uri: String,
        cols: u64,
        rows: u64,
    },
    Clear {
        uri: String,
    },
    /// Makes this client the owner.
    Claim {
        uri: String,
    },
    /// Makes the selected session the owner.
    Share {
        uri: String,
    },
    /// Lets the command of a tool call continue in the background.
    Detach {
        uri: String,
    },
    /// Follows the end of the output as plain text.
    Watch {
        uri: String,
    },
    Unwatch {
        uri: String,
    },
}
