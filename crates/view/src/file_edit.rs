//! Edits of files, without the contents of the files.

use agenthost_protocol::common::{FileEdit, FileEditSide};
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::location::path_of;

/// An edit of one file. The contents are read by their URIs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditSummary {
    /// Path of the file after the edit; of a removed file, its path before.
    pub path: String,
    /// Kind of the edit, derived from its sides.
    pub status: EditStatus,
    /// URI of the content before the edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Uri>,
    /// URI of the content after the edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Uri>,
    /// Path before the edit, if the file was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Number of added lines, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Number of removed lines, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The kind of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EditStatus {
    /// The edit creates the file.
    Added,
    /// The edit deletes the file.
    Removed,
    /// The edit changes the content.
    Changed,
    /// The edit moves the file, and may change it.
    Renamed,
}

impl EditSummary {
    /// Summarizes an edit of the protocol.
    pub fn of_edit(edit: &FileEdit) -> Self {
        let content = |side: &Option<FileEditSide>| Some(side.as_ref()?.content.uri.clone());
        let path = |side: &Option<FileEditSide>| Some(path_of(&side.as_ref()?.uri));
        let (old, new) = (path(&edit.before), path(&edit.after));
        let (status, renamed_from) = match (&old, &new) {
            (None, _) => (EditStatus::Added, None),
            (Some(_), None) => (EditStatus::Removed, None),
            (Some(old), Some(new)) if old == new => (EditStatus::Changed, None),
            (Some(old), Some(_)) => (EditStatus::Renamed, Some(old.clone())),
        };
        let (added, removed) = match &edit.diff {
            Some(stats) => (stats.added, stats.removed),
            None => (None, None),
        };
        EditSummary {
            path: new.or(old).unwrap_or_default(),
            status,
            before: content(&edit.before),
            after: content(&edit.after),
            renamed_from,
            added,
            removed,
        }
    }
}
