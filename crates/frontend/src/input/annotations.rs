//! Commands on comments.

use agenthost_protocol::wire::Input;
use agenthost_view::diff::TextSide;

/// A command on comments; the page names it `annotation.VARIANT`.
#[derive(Debug, Input)]
pub enum AnnotationCommand {
    /// Comments on lines of the open diff.
    Add {
        file: String,
        side: TextSide,
        first: u32,
        last: u32,
        text: String,
    },
    Reply {
        key: String,
        text: String,
    },
    Edit {
        key: String,
        entry: String,
        text: String,
    },
    /// Removes a comment; with its last comment, the thread.
    Remove {
        key: String,
        entry: String,
    },
    Resolve {
        key: String,
        resolved: bool,
    },
    /// Composes a review of all open comments.
    Preview {
        summary: String,
    },
    /// Sends a composed review to the agent, and resolves its threads when the host has it.
    SendReview {
        text: String,
        keys: Vec<String>,
    },
}
