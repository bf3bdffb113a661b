//! Work that goes on after the tool call that started it.

use crate::common::Meta;
use crate::ids::BackgroundWorkId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// Work in the background. Only what still runs is listed (BGW-1).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum BackgroundWork {
    /// A command.
    Shell(BackgroundShell),
    /// A worker.
    Subagent(BackgroundSubagent),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What all background work has.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkBase {
    /// Its name in the chat, across all kinds.
    pub id: BackgroundWorkId,
    /// Name for people.
    pub label: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Free data.
    pub meta: Option<Meta>,
}

/// A command in the background.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundShell {
    /// What all background work has.
    #[wire(flatten)]
    pub base: BackgroundWorkBase,
    /// The command line, shown as plain text.
    pub command: String,
    /// The terminal with its output.
    pub terminal: Option<Uri>,
}

/// A worker in the background.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundSubagent {
    /// What all background work has.
    #[wire(flatten)]
    pub base: BackgroundWorkBase,
    /// The chat it works in.
    pub chat: Uri,
}

impl BackgroundWork {
    /// The name it goes by, if it has one.
    pub fn key(&self) -> Option<&str> {
        match self {
            BackgroundWork::Shell(work) => Some(work.base.id.as_str()),
            BackgroundWork::Subagent(work) => Some(work.base.id.as_str()),
            BackgroundWork::Unknown(work) => work.text("id"),
        }
    }
}
