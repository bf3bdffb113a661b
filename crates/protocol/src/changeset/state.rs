//! State of a changeset channel, and its entry in the catalogue of a session or chat.

use crate::common::{ErrorInfo, FileEdit, Meta};
use crate::ids::{ChangesetFileId, OperationId};
use crate::list::List;
use crate::text::MaybeMarkdown;
use crate::wire::{Object, Wire};

/// A changeset that a session or chat offers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Changeset {
    /// Display name for the user interface.
    pub label: String,
    /// URI template (RFC 6570) of the channel. Its variables: none, `{turnId}`, or
    /// `{originalTurnId}` with `{modifiedTurnId}`.
    pub uri_template: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
    /// Kind of changes: `session`, `branch`, `uncommitted`, `turn`, `compare-turns` …
    pub change_kind: String,
    /// Optional features of the changeset.
    pub capabilities: Option<ChangesetCapabilities>,
}

/// Optional features of a changeset. A present field means that the feature is supported.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ChangesetCapabilities {
    /// Clients can set the reviewed flag of files.
    pub review: Option<Object>,
}

/// The state of a changeset channel. A clone shares the files with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetState {
    /// Status of the computation.
    pub status: ChangesetStatus,
    /// Error of the computation; present if and only if `status` is `error`.
    pub error: Option<ErrorInfo>,
    /// The files that have changed.
    pub files: List<ChangesetFile>,
    /// Operations that can be invoked on the changes.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// Status of the computation of a changeset.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetStatus {
    /// The changeset is computed for the first time.
    Computing,
    /// The changeset is computed again; the files are those of the previous computation.
    Recomputing,
    /// The changeset is up to date.
    Ready,
    /// The computation failed with an error.
    Error,
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// A changed file of a changeset.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFile {
    /// Id of the file in the changeset; by convention its URI after the change.
    pub id: ChangesetFileId,
    /// The change of the file.
    pub edit: FileEdit,
    /// `true` if a user has reviewed the file. The host must reset the flag explicitly when the
    /// content changes (CHS-10).
    pub reviewed: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// An operation that clients can invoke on the changes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperation {
    /// Id of the operation, unique in the changeset.
    pub id: OperationId,
    /// Display name for the user interface.
    pub label: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
    /// Targets that the operation accepts.
    pub scopes: Vec<ChangesetOperationScope>,
    /// Confirmation question for the user. If present, the operation is destructive.
    pub confirmation: Option<MaybeMarkdown>,
    /// Icon hint, such as `check` or `trash`.
    pub icon: Option<String>,
    /// Group name; clients show operations of a group together.
    pub group: Option<String>,
    /// Status of the operation.
    pub status: ChangesetOperationStatus,
    /// Error of the last run; present if and only if `status` is `error`.
    pub error: Option<ErrorInfo>,
}

/// A kind of target that an operation accepts.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetOperationScope {
    /// The changeset as a whole.
    Changeset,
    /// One file of the changeset.
    Resource,
    /// A range of lines in a file.
    Range,
    /// A scope that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// Status of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetOperationStatus {
    /// The operation can be invoked.
    Idle,
    /// The operation is running.
    Running,
    /// The last run of the operation failed.
    Error,
    /// The operation can't be invoked now.
    Disabled,
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}
