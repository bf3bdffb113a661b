//! Commands on sessions that are created.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::NewAttachment;

/// A command on sessions that are created; the page names it `session.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionCommand {
    /// Creates a session and sends its first message.
    Create {
        provider: String,
        folder: Option<String>,
        model: Option<String>,
        /// Values of settings of the session, such as its mode.
        config: BTreeMap<String, String>,
        text: String,
        attachments: Vec<NewAttachment>,
    },
    /// Lists the settings that a new session would have.
    ResolveConfig {
        provider: String,
        folder: Option<String>,
        config: BTreeMap<String, String>,
    },
    /// Selects a session and copies its chat up to the last turn.
    Fork { session: String },
}
