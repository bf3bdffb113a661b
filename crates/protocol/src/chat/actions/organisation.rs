//! Payloads of the actions on pending messages, background work, flags and catalogues.

use std::sync::Arc;

use crate::canvas::CanvasReference;
use crate::changeset::Changeset;
use crate::chat::{BackgroundWork, Message, PendingMessageKind};
use crate::ids::{BackgroundWorkId, PendingMessageId};
use crate::uri::Uri;
use crate::wire::Wire;

/// The activity text of the chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatActivityChanged {
    /// New activity text; absent clears it.
    pub activity: Option<String>,
}

/// Background work was started or changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkSet {
    /// The work; replaces an entry with the same id.
    pub work: Arc<BackgroundWork>,
}

/// Background work has ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct BackgroundWorkRemoved {
    /// Id of the work.
    pub id: BackgroundWorkId,
}

/// The chat became movable or immovable.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MovableChanged {
    /// `true` if `moveChat` may move the chat.
    pub movable: bool,
}

/// The changeset catalogue of the chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatChangesetsChanged {
    /// The complete new list; absent clears it.
    pub changesets: Option<Vec<Changeset>>,
}

/// The list of canvases changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasesChanged {
    /// The complete new list; absent clears it.
    pub canvases: Option<Vec<CanvasReference>>,
}

/// A working directory was added to the chat's subset. If the chat had no subset, it now has
/// one with only this directory (DIR-8).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatWorkingDirectorySet {
    /// URI of the directory; must be one of the session's.
    pub directory: Uri,
}

/// A working directory was removed from the chat's subset.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatWorkingDirectoryRemoved {
    /// URI of the directory.
    pub directory: Uri,
}

/// A pending message was added or replaced.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessageSet {
    /// Delivery of the message.
    pub kind: PendingMessageKind,
    /// Id of the pending message.
    pub id: PendingMessageId,
    /// The message to deliver.
    pub message: Arc<Message>,
}

/// A pending message was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PendingMessageRemoved {
    /// Delivery of the removed message.
    pub kind: PendingMessageKind,
    /// Id of the pending message.
    pub id: PendingMessageId,
}

/// The order of the queued messages changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct QueuedMessagesReordered {
    /// Ids in the new order. Unknown ids are ignored; messages that are not listed follow in
    /// their previous order (PEN-7).
    pub order: Vec<PendingMessageId>,
}

/// The draft of the chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DraftChanged {
    /// The draft; absent clears it.
    pub draft: Option<Arc<Message>>,
}

/// The read flag of the chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatIsReadChanged {
    /// `true` if the user has read the chat since its last change.
    pub is_read: bool,
}

/// The archived flag of the chat changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatIsArchivedChanged {
    /// `true` if the chat is archived.
    pub is_archived: bool,
}
