//! Commands on the chats of a session.

use agenthost_protocol::wire::{Input, Wire};

/// A command on the chats of a session; the page names it `chat.VARIANT`.
#[derive(Debug, Input)]
pub enum ChatCommand {
    /// Creates a chat in the selected session.
    Create {
        source: Option<NewChatSource>,
        turn: Option<String>,
        selection: Option<String>,
    },
    /// Removes a chat permanently.
    Close {
        chat: String,
    },
    /// Moves a chat to a session, or to a new one.
    Move {
        chat: String,
        session: Option<String>,
    },
    /// Lists the files that a restore would change.
    PreviewRestore {
        turn: String,
    },
    EndRestore {},
    /// Restores all files to their state before a turn.
    RestoreFiles {
        turn: String,
    },
    /// Removes a turn and all later ones from the chat.
    Truncate {
        turn: String,
    },
    /// The page was hidden or shown.
    SetHidden {
        hidden: bool,
    },
    /// Closes the summary of what happened meanwhile.
    DismissAway {},
    /// The usage panel was opened or closed.
    WatchUsage {
        open: bool,
        utc_offset_minutes: i64,
    },
}

/// The relation of a new chat to the selected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum NewChatSource {
    /// A copy up to a turn.
    Fork,
    /// An empty chat with the turns as context.
    Side,
}
