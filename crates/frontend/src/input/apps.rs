//! Commands of MCP Apps.

use agenthost_protocol::wire::{Input, Object};

/// A command about the app of a tool call in the selected chat; the page names it `app.VARIANT`.
#[derive(Debug, Input)]
pub enum AppCommand {
    /// Reads the HTML of the app from its server.
    Open { turn: String, call: String },
    /// Returns the arguments and the result of the call.
    Call { turn: String, call: String },
    /// Sends a request of the app to its server.
    Request {
        turn: String,
        call: String,
        method: String,
        params: Object,
    },
}
