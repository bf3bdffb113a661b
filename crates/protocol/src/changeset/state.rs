//! The state of a changeset, and its entry in a catalogue.

use crate::common::{ErrorInfo, FileEdit, Meta};
use crate::ids::{ChangesetFileId, OperationId};
use crate::list::List;
use crate::text::MaybeMarkdown;
use crate::wire::{Object, Wire};

/// A view that a session or chat offers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Changeset {
    /// Name for people.
    pub label: String,
    /// The channel to subscribe to, with variables to fill in (RFC 6570):
    /// none, `{turnId}`, or `{originalTurnId}` with `{modifiedTurnId}`.
    pub uri_template: String,
    /// More about it.
    pub description: Option<String>,
    /// `session`, `branch`, `uncommitted`, `turn`, `compare-turns` …
    pub change_kind: String,
    /// What it can do.
    pub capabilities: Option<ChangesetCapabilities>,
}

/// What a changeset can do. Presence means yes.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ChangesetCapabilities {
    /// Files can be marked as reviewed.
    pub review: Option<Object>,
}

/// A view of file changes. A clone shares the files with the original.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetState {
    /// How current it is.
    pub status: ChangesetStatus,
    /// Why it could not be computed; there if and only if `status` says so.
    pub error: Option<ErrorInfo>,
    /// The files.
    pub files: List<ChangesetFile>,
    /// What can be done about them.
    pub operations: Option<Vec<ChangesetOperation>>,
}

/// How current a changeset is.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetStatus {
    /// It is being computed for the first time.
    Computing,
    /// It is being computed again; the files are those of last time.
    Recomputing,
    /// It is current.
    Ready,
    /// It could not be computed.
    Error,
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetFile {
    /// Its name in the changeset; by custom the URI it has afterwards.
    pub id: ChangesetFileId,
    /// The change.
    pub edit: FileEdit,
    /// Whether someone has looked at it. A new content does not reset it by
    /// itself (CHS-10).
    pub reviewed: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Something that can be done about changes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesetOperation {
    /// Its name in the changeset.
    pub id: OperationId,
    /// Name for people.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
    /// What it can be done to.
    pub scopes: Vec<ChangesetOperationScope>,
    /// A question to ask first. Present means it destroys something.
    pub confirmation: Option<MaybeMarkdown>,
    /// A hint for an icon, such as `check` or `trash`.
    pub icon: Option<String>,
    /// Operations of the same group belong together.
    pub group: Option<String>,
    /// Whether it is being done.
    pub status: ChangesetOperationStatus,
    /// Why it failed; there if and only if `status` says so.
    pub error: Option<ErrorInfo>,
}

/// What an operation can be done to.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetOperationScope {
    /// The whole changeset.
    Changeset,
    /// One file.
    Resource,
    /// Some lines of a file.
    Range,
    /// A scope of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// Whether an operation is being done.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ChangesetOperationStatus {
    /// It can be done.
    Idle,
    /// It is being done.
    Running,
    /// It failed last time.
    Error,
    /// It can't be done now.
    Disabled,
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(String),
}
