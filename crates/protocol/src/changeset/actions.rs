//! Actions on a changeset.

use std::sync::Arc;

use super::state::{ChangesetFile, ChangesetOperation, ChangesetOperationStatus, ChangesetStatus};
use crate::action::actions;
use crate::common::ErrorInfo;
use crate::ids::{ChangesetFileId, OperationId};
use crate::list::List;
use crate::wire::Wire;

actions! {
    /// An action on a changeset.
    pub enum ChangesetAction on Changeset {
        /// Sets the computation status.
        StatusChanged(ChangesetStatusChanged) = "changeset/statusChanged", Host, V0_2;
        /// Adds or replaces a file.
        FileSet(ChangesetFileSet) = "changeset/fileSet", Host, V0_2;
        /// Removes a file from the changeset.
        FileRemoved(ChangesetFileRemoved) = "changeset/fileRemoved", Host, V0_2;
        /// Sets or clears the reviewed flag of files.
        FilesReviewChanged(ChangesetFilesReviewChanged) = "changeset/filesReviewChanged", Client, V0_6;
        /// Replaces the list of files.
        ContentChanged(ChangesetContentChanged) = "changeset/contentChanged", Host, V0_4;
        /// Replaces the list of operations.
        OperationsChanged(ChangesetOperationsChanged) = "changeset/operationsChanged", Host, V0_2;
        /// Sets the status of an operation.
        OperationStatusChanged(ChangesetOperationStatusChanged) = "changeset/operationStatusChanged", Host, V0_3;
        /// Removes all files from the changeset.
        Cleared(ChangesetCleared) = "changeset/cleared", Host, V0_2;
    }
}

/// The computation status of a changeset changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetStatusChanged {
    /// New status of the computation.
    pub status: ChangesetStatus,
    /// Error of the computation; ignored unless `status` is `error`.
    pub error: Option<ErrorInfo>,
}

/// A file was added to a changeset or changed again.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFileSet {
    /// The file; replaces an entry with the same id.
    pub file: Arc<ChangesetFile>,
}

/// A file no longer differs and was removed from the changeset.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFileRemoved {
    /// Id of the file.
    pub file_id: ChangesetFileId,
}

/// The reviewed flag of files changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFilesReviewChanged {
    /// Ids of the files; unknown ids are ignored.
    pub files: Vec<ChangesetFileId>,
    /// New value of the reviewed flag.
    pub reviewed: bool,
}

/// The complete list of files changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetContentChanged {
    /// The complete new list of files.
    pub files: List<ChangesetFile>,
    /// The complete new list of operations; absent leaves the operations unchanged.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// The list of operations changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationsChanged {
    /// The complete new list; absent removes all operations.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// The status of an operation changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperationStatusChanged {
    /// Id of the operation.
    pub operation_id: OperationId,
    /// New status of the operation.
    pub status: ChangesetOperationStatus,
    /// Error of the operation; ignored unless `status` is `error`.
    pub error: Option<ErrorInfo>,
}

/// All files were removed from a changeset.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetCleared {}
