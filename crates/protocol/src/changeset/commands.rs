//! Commands about changesets.

use crate::common::{ContentRef, Meta, TextRange};
use crate::ids::OperationId;
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::Wire;

/// `invokeChangesetOperation`: does something about changes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InvokeChangesetOperationParams {
    /// The changeset.
    pub channel: Uri,
    /// What to do.
    pub operation_id: OperationId,
    /// What to do it to; absent means all of it.
    pub target: Option<ChangesetOperationTarget>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What an operation is done to. Closed: a host refuses what it does not know
/// rather than guess (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChangesetOperationTarget {
    /// A file.
    Resource(ChangesetResourceTarget),
    /// Some lines of a file.
    Range(ChangesetRangeTarget),
}

/// A file to do something to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetResourceTarget {
    /// The file.
    pub resource: Uri,
    /// `before` or `after`.
    pub side: Option<String>,
}

/// Some lines to do something to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetRangeTarget {
    /// The file.
    pub resource: Uri,
    /// `before` or `after`.
    pub side: Option<String>,
    /// The lines.
    pub range: TextRange,
}

/// Answer to `invokeChangesetOperation`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InvokeChangesetOperationResult {
    /// What was done, in words.
    pub message: Option<MaybeMarkdown>,
    /// Something to look at.
    pub follow_up: Option<ChangesetOperationFollowUp>,
}

/// Something to look at after an operation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationFollowUp {
    /// What.
    pub content: ContentRef,
    /// Whether to open it outside of the client.
    pub external: Option<bool>,
}
