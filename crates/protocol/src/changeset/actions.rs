//! All that can happen to a changeset.

use std::sync::Arc;

use super::state::{ChangesetFile, ChangesetOperation, ChangesetOperationStatus, ChangesetStatus};
use crate::action::actions;
use crate::common::ErrorInfo;
use crate::ids::{ChangesetFileId, OperationId};
use crate::list::List;
use crate::wire::Wire;

actions! {
    /// Something that happened to a changeset.
    pub enum ChangesetAction on Changeset {
        /// It is more current, or less.
        StatusChanged(ChangesetStatusChanged) = "changeset/statusChanged", Host, V0_2;
        /// A file changed, or changed again.
        FileSet(ChangesetFileSet) = "changeset/fileSet", Host, V0_2;
        /// A file is no longer changed.
        FileRemoved(ChangesetFileRemoved) = "changeset/fileRemoved", Host, V0_2;
        /// Files were reviewed, or have to be again.
        FilesReviewChanged(ChangesetFilesReviewChanged) = "changeset/filesReviewChanged", Client, V0_6;
        /// All files changed.
        ContentChanged(ChangesetContentChanged) = "changeset/contentChanged", Host, V0_4;
        /// What can be done changed.
        OperationsChanged(ChangesetOperationsChanged) = "changeset/operationsChanged", Host, V0_2;
        /// An operation began, ended or failed.
        OperationStatusChanged(ChangesetOperationStatusChanged) = "changeset/operationStatusChanged", Host, V0_3;
        /// There are no changes any more.
        Cleared(ChangesetCleared) = "changeset/cleared", Host, V0_2;
    }
}

/// It is more current, or less.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetStatusChanged {
    /// How current.
    pub status: ChangesetStatus,
    /// Why it could not be computed.
    pub error: Option<ErrorInfo>,
}

/// A file changed, or changed again.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFileSet {
    /// The file; replaces an entry of the same name.
    pub file: Arc<ChangesetFile>,
}

/// A file is no longer changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFileRemoved {
    /// The file.
    pub file_id: ChangesetFileId,
}

/// Files were reviewed, or have to be again.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFilesReviewChanged {
    /// The files; unknown ones are ignored.
    pub files: Vec<ChangesetFileId>,
    /// Whether they are reviewed.
    pub reviewed: bool,
}

/// All files changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetContentChanged {
    /// All of them.
    pub files: List<ChangesetFile>,
    /// What can be done; absent means what could be done before.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// What can be done changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationsChanged {
    /// All of it; absent means nothing.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// An operation began, ended or failed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationStatusChanged {
    /// The operation.
    pub operation_id: OperationId,
    /// Whether it is being done.
    pub status: ChangesetOperationStatus,
    /// Why it failed.
    pub error: Option<ErrorInfo>,
}

/// There are no changes any more.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetCleared {}
