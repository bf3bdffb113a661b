//! Waiting messages, background work, flags and catalogues.

use std::sync::Arc;

use crate::canvas::CanvasReference;
use crate::changeset::Changeset;
use crate::chat::{BackgroundWork, Message, PendingMessageKind};
use crate::ids::{BackgroundWorkId, PendingMessageId};
use crate::uri::Uri;
use crate::wire::Wire;

/// What the chat is doing changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatActivityChanged {
    /// In words; absent clears it.
    pub activity: Option<String>,
}

/// Work in the background began, or changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkSet {
    /// The work; replaces an entry of the same name.
    pub work: Arc<BackgroundWork>,
}

/// Work in the background ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkRemoved {
    /// The work.
    pub id: BackgroundWorkId,
}

/// The chat can be moved now, or no longer.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MovableChanged {
    /// Whether it can.
    pub movable: bool,
}

/// The views of file changes changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatChangesetsChanged {
    /// All of them; absent clears the list.
    pub changesets: Option<Vec<Changeset>>,
}

/// The canvases changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasesChanged {
    /// All of them; absent clears the list.
    pub canvases: Option<Vec<CanvasReference>>,
}

/// The chat may use one more directory. If it had no list of its own, it now
/// has one with this directory only (DIR-8).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatWorkingDirectorySet {
    /// The directory, one of the session's.
    pub directory: Uri,
}

/// The chat may use one directory less.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatWorkingDirectoryRemoved {
    /// The directory.
    pub directory: Uri,
}

/// A message waits, or a waiting one changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessageSet {
    /// How it will be used.
    pub kind: PendingMessageKind,
    /// Its name.
    pub id: PendingMessageId,
    /// The message.
    pub message: Arc<Message>,
}

/// A message no longer waits.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessageRemoved {
    /// How it would have been used.
    pub kind: PendingMessageKind,
    /// Its name.
    pub id: PendingMessageId,
}

/// The queued messages were put in another order.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct QueuedMessagesReordered {
    /// Names in the new order. Unknown ones are ignored; messages that are
    /// not named follow in the order they had (PEN-7).
    pub order: Vec<PendingMessageId>,
}

/// What somebody is typing changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DraftChanged {
    /// The draft; absent clears it.
    pub draft: Option<Arc<Message>>,
}

/// The chat was read, or has something new.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatIsReadChanged {
    /// Whether it is read.
    pub is_read: bool,
}

/// The chat was put away, or taken out again.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatIsArchivedChanged {
    /// Whether it is put away.
    pub is_archived: bool,
}
