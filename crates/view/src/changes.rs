//! Changed files of a changeset, and the changesets to choose from.

use agenthost_protocol::changeset::{
    Changeset, ChangesetFile, ChangesetOperation, ChangesetOperationScope,
    ChangesetOperationStatus, ChangesetState, ChangesetStatus,
};
use agenthost_protocol::ids::{ChangesetFileId, OperationId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde::Serialize;

use crate::file_edit::EditSummary;

/// The changed files of a changeset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangesView {
    /// URI of the changeset channel.
    pub uri: Uri,
    /// Display name of the changeset.
    pub label: String,
    /// Status of the computation.
    pub status: ChangesStatus,
    /// Error of the computation, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Changed files in the order of the host.
    pub files: Vec<ChangeFileRow>,
    /// Number of added lines of all files.
    pub added: u64,
    /// Number of removed lines of all files.
    pub removed: u64,
    /// Number of files that were reviewed.
    pub reviewed: usize,
    /// Operations that can be invoked on the changes.
    pub operations: Vec<OperationRow>,
}

/// The status of the computation of a changeset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangesStatus {
    /// The changeset is computed; files of an earlier computation stay listed.
    Computing,
    /// The changeset is up to date.
    Ready,
    /// The computation failed with an error.
    Error,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFileRow {
    pub key: ChangesetFileId,
    /// The change of the file.
    #[serde(flatten)]
    pub edit: EditSummary,
    /// `true` if a user has reviewed the file.
    pub reviewed: bool,
    /// `true` if the file is too large for a checkpoint, so operations do not change it.
    pub not_kept: bool,
}

/// An operation on a changeset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRow {
    pub id: OperationId,
    /// Display name of the operation.
    pub label: String,
    /// Longer description of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Targets that the operation accepts.
    pub scope: Vec<OperationScope>,
    /// Question to the user before a destructive operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    pub status: OperationStatus,
    /// Error of the last run, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A kind of target of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OperationScope {
    /// The changeset as a whole.
    Changeset,
    /// One file of the changeset.
    Resource,
    /// A range of lines in a file.
    Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OperationStatus {
    /// The operation can be invoked.
    Idle,
    /// The operation is running now.
    Running,
    /// The last run of the operation failed.
    Error,
    /// The operation can't be invoked now.
    Disabled,
}

/// A changeset that the user can open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangesetChoice {
    /// URI of the changeset channel.
    pub uri: Uri,
    /// Display name of the changeset.
    pub label: String,
    /// `true` if clients can mark files as reviewed.
    pub review: bool,
}

impl ChangesView {
    /// Computes the view of a changeset.
    pub fn compute(uri: &Uri, label: &str, state: &ChangesetState) -> Self {
        let status = match state.status {
            ChangesetStatus::Computing | ChangesetStatus::Recomputing => ChangesStatus::Computing,
            ChangesetStatus::Ready | ChangesetStatus::Unknown(_) => ChangesStatus::Ready,
            ChangesetStatus::Error => ChangesStatus::Error,
        };
        let files: Vec<_> = state.files.items().map(file_row).collect();
        let sum = |count: fn(&EditSummary) -> Option<u64>| {
            files.iter().filter_map(|file| count(&file.edit)).sum()
        };
        let operations = state.operations.iter().flatten().map(operation_row);
        ChangesView {
            uri: uri.clone(),
            label: label.to_owned(),
            status,
            error: state.error.as_ref().map(|error| error.message.clone()),
            added: sum(|edit| edit.added),
            removed: sum(|edit| edit.removed),
            reviewed: files.iter().filter(|file| file.reviewed).count(),
            files,
            operations: operations.collect(),
        }
    }
}

/// Returns the changesets of a catalogue that need no turn.
pub fn changeset_choices(catalogue: &[Changeset]) -> Vec<ChangesetChoice> {
    let fixed = catalogue
        .iter()
        .filter(|changeset| !changeset.uri_template.contains('{'));
    fixed
        .map(|changeset| choice_of(changeset, changeset.uri_template.clone()))
        .collect()
}

/// Returns the changeset of a turn, if the catalogue offers one.
pub fn turn_changeset(catalogue: &[Changeset], turn: &TurnId) -> Option<ChangesetChoice> {
    const VARIABLE: &str = "{turnId}";
    let mut offered = catalogue.iter();
    let changeset = offered.find(|changeset| changeset.uri_template.contains(VARIABLE))?;
    let id = escape_variable(turn.as_str());
    Some(choice_of(
        changeset,
        changeset.uri_template.replace(VARIABLE, &id),
    ))
}

/// Returns the changeset from the end of one turn to the end of another, if the catalogue offers
/// one.
pub fn compare_changeset(
    catalogue: &[Changeset],
    original: &TurnId,
    modified: &TurnId,
) -> Option<ChangesetChoice> {
    const ORIGINAL: &str = "{originalTurnId}";
    const MODIFIED: &str = "{modifiedTurnId}";
    let mut offered = catalogue.iter();
    let changeset = offered.find(|changeset| {
        let template = &changeset.uri_template;
        template.contains(ORIGINAL) && template.contains(MODIFIED)
    })?;
    let uri = changeset
        .uri_template
        .replace(ORIGINAL, &escape_variable(original.as_str()));
    let uri = uri.replace(MODIFIED, &escape_variable(modified.as_str()));
    Some(choice_of(changeset, uri))
}

fn choice_of(changeset: &Changeset, uri: String) -> ChangesetChoice {
    let capabilities = changeset.capabilities.as_ref();
    ChangesetChoice {
        uri: Uri::from(uri),
        label: changeset.label.clone(),
        review: capabilities.is_some_and(|capabilities| capabilities.review.is_some()),
    }
}

/// Escapes the value of a variable as RFC 6570 requires for a simple expansion.
fn escape_variable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(byte.into());
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn file_row(file: &ChangesetFile) -> ChangeFileRow {
    let not_kept = file
        .meta
        .as_ref()
        .and_then(|meta| meta.get("agenthost.notKept"));
    ChangeFileRow {
        key: file.id.clone(),
        edit: EditSummary::of_edit(&file.edit),
        reviewed: file.reviewed == Some(true),
        not_kept: not_kept == Some(&Json::Bool(true)),
    }
}

fn operation_row(operation: &ChangesetOperation) -> OperationRow {
    let scopes = operation.scopes.iter().filter_map(|scope| match scope {
        ChangesetOperationScope::Changeset => Some(OperationScope::Changeset),
        ChangesetOperationScope::Resource => Some(OperationScope::Resource),
        ChangesetOperationScope::Range => Some(OperationScope::Range),
        ChangesetOperationScope::Unknown(_) => None,
    });
    let status = match operation.status {
        ChangesetOperationStatus::Idle => OperationStatus::Idle,
        ChangesetOperationStatus::Running => OperationStatus::Running,
        ChangesetOperationStatus::Error => OperationStatus::Error,
        // A client that does not know the status can't tell if the operation is possible.
        ChangesetOperationStatus::Disabled | ChangesetOperationStatus::Unknown(_) => {
            OperationStatus::Disabled
        }
    };
    let confirmation = operation.confirmation.as_ref();
    OperationRow {
        id: operation.id.clone(),
        label: operation.label.clone(),
        description: operation.description.clone(),
        scope: scopes.collect(),
        confirmation: confirmation.map(|text| text.as_str().to_owned()),
        status,
        error: operation.error.as_ref().map(|error| error.message.clone()),
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
