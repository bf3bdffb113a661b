//! Commands of MCP Apps.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A command about the app of a tool call in the selected chat; the page names it `app.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
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
        params: Map<String, Value>,
    },
}
