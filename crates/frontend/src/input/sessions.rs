//! Commands on sessions that are created.

use agenthost_protocol::wire::{Input, Object};

use super::NewAttachment;

/// A command on sessions that are created; the page names it `session.VARIANT`.
#[derive(Debug, Input)]
pub enum SessionCommand {
    /// Creates a session and sends its first message.
    Create {
        provider: String,
        folder: Option<String>,
        model: Option<String>,
        /// Values of settings of the session, such as its mode.
        config: Object,
        text: String,
        attachments: Vec<NewAttachment>,
    },
    /// Lists the settings that a new session would have.
    ResolveConfig {
        provider: String,
        folder: Option<String>,
        config: Object,
    },
    /// Returns the first message of a session that could not be created, with its choices.
    Unsent { session: String },
    /// Selects a session and copies its chat up to the last turn.
    Fork { session: String },
}
