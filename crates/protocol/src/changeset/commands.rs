//! Requests and responses about changesets.

use crate::common::{ContentRef, Meta, TextRange};
use crate::ids::OperationId;
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::Wire;

/// Parameters of the `invokeChangesetOperation` request, which runs an operation on a changeset.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InvokeChangesetOperationParams {
    /// URI of the changeset channel.
    pub channel: Uri,
    /// Id of the operation to run.
    pub operation_id: OperationId,
    /// Target of the operation; absent means the whole changeset.
    pub target: Option<ChangesetOperationTarget>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The target of an operation. The enum is closed: the host rejects an unknown target instead
/// of guessing (FWD-3).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChangesetOperationTarget {
    /// One file of the changeset.
    Resource(ChangesetResourceTarget),
    /// A range of lines in a file.
    Range(ChangesetRangeTarget),
}

/// A file as the target of an operation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetResourceTarget {
    /// URI of the file.
    pub resource: Uri,
    /// Version of the file: `before` or `after`.
    pub side: Option<String>,
}

/// A range of lines as the target of an operation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetRangeTarget {
    /// URI of the file.
    pub resource: Uri,
    /// Version of the file: `before` or `after`.
    pub side: Option<String>,
    /// Range of lines in that version.
    pub range: TextRange,
}

/// Result of the `invokeChangesetOperation` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InvokeChangesetOperationResult {
    /// Message for the user about the result.
    pub message: Option<MaybeMarkdown>,
    /// Content that the client should show.
    pub follow_up: Option<ChangesetOperationFollowUp>,
}

/// Content that the client should show after an operation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationFollowUp {
    /// Reference to the content.
    pub content: ContentRef,
    /// `true` if the client should open the content in an external program.
    pub external: Option<bool>,
}
