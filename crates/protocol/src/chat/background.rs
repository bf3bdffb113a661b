//! Background work, which continues after the tool call that started it has ended.

use crate::common::Meta;
use crate::ids::BackgroundWorkId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// An item of background work. Only running work is listed (BGW-1).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum BackgroundWork {
    /// A shell command in the background.
    Shell(BackgroundShell),
    /// A subagent in the background.
    Subagent(BackgroundSubagent),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Fields that all kinds of background work share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkBase {
    /// Id of the work, unique in the chat across all kinds.
    pub id: BackgroundWorkId,
    /// Display name for the user interface.
    pub label: String,
    /// Time at which the work started.
    pub started_at: Timestamp,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// A shell command that runs in the background.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundShell {
    /// Fields that all kinds of background work share.
    #[wire(flatten)]
    pub base: BackgroundWorkBase,
    /// The command line, shown as plain text.
    pub command: String,
    /// Terminal with the output of the command.
    pub terminal: Option<Uri>,
}

/// A subagent that runs in the background.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundSubagent {
    /// Fields that all kinds of background work share.
    #[wire(flatten)]
    pub base: BackgroundWorkBase,
    /// Chat of the subagent.
    pub chat: Uri,
}

impl BackgroundWork {
    /// Returns the id of the work; `None` if an unknown kind has no id.
    pub fn key(&self) -> Option<&str> {
        match self {
            BackgroundWork::Shell(work) => Some(work.base.id.as_str()),
            BackgroundWork::Subagent(work) => Some(work.base.id.as_str()),
            BackgroundWork::Unknown(work) => work.text("id"),
        }
    }
}
