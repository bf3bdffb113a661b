//! The open diff of one file of a changeset.

use std::sync::Arc;

use agenthost_protocol::common::FileEdit;
use agenthost_protocol::resource::{ContentEncoding, ResourceReadParams, ResourceReadResult};
use agenthost_protocol::uri::RootChannel;
use agenthost_view::diff::{DiffRefusal, FileDiff};
use agenthost_view::location::path_of;
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::Frontend;
use super::changes::ChangesPanel;
use super::responses::{RequestError, ResponsePurpose};
use crate::input::DiffLayout;

/// Unchanged lines around a change.
const DIFF_CONTEXT_LINES: u32 = 3;

/// Rows that the page may read at once.
const MAX_WINDOW_ROWS: usize = 2_000;

/// A file whose diff is open. While its texts are read again, the page keeps the last diff.
pub(super) struct OpenDiff {
    file: String,
    path: String,
    layout: DiffLayout,
    /// The edit whose texts are shown or being read.
    edit: FileEdit,
    /// Number of the requests for the texts; responses to earlier ones are ignored.
    reading: u64,
    before: DiffSide,
    after: DiffSide,
    /// Number of the rows: the page reads them again when it changes.
    revision: u64,
    result: Option<Result<Arc<FileDiff>, DiffProblem>>,
    /// Length of the longest line.
    width: usize,
}

/// The reason for which there is no diff.
#[derive(Debug, thiserror::Error)]
enum DiffProblem {
    #[error(transparent)]
    Unreadable(RequestError),
    #[error("the file is too large to compare")]
    TooLarge,
    #[error("the file is not text")]
    Binary,
}

/// One side of a diff.
enum DiffSide {
    Loading,
    /// The text; empty if the file does not exist on this side.
    Loaded(String),
}

/// Leaves out the contents of files.
impl std::fmt::Debug for OpenDiff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenDiff")
            .field("file", &self.file)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

/// The open diff, without its rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    /// Id of the file in its changeset.
    pub file: String,
    pub path: String,
    pub layout: DiffLayout,
    /// `loading`, `ready`, `binary` or `error`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of rows in the layout.
    pub total: usize,
    /// Length of the longest line.
    pub width: usize,
    pub added: u64,
    pub removed: u64,
    /// Extension of the file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Number that changes with the rows.
    pub revision: u64,
}

impl ChangesPanel {
    /// Returns the file whose diff is open and computed.
    pub(super) fn ready_diff(&self) -> Option<(&str, DiffLayout, &Arc<FileDiff>)> {
        let open = self.diff.as_ref()?;
        let diff = open.result.as_ref()?.as_ref().ok()?;
        Some((&open.file, open.layout, diff))
    }

    /// Adds the content of one side, and computes the diff when both are there.
    pub(super) fn add_side(
        &mut self,
        reading: u64,
        is_after: bool,
        content: Result<ResourceReadResult, RequestError>,
    ) {
        let Some(diff) = self.diff.as_mut().filter(|diff| diff.reading == reading) else {
            return;
        };
        let side = match content {
            Ok(content) if content.encoding == ContentEncoding::Utf8 => Ok(content.data),
            Ok(_) => Err(DiffProblem::Binary),
            Err(error) => Err(DiffProblem::Unreadable(error)),
        };
        let result = match side {
            Ok(text) => {
                let side = if is_after {
                    &mut diff.after
                } else {
                    &mut diff.before
                };
                *side = DiffSide::Loaded(text);
                diff.compute()
            }
            Err(problem) => {
                // The other side does not matter any more.
                diff.reading = 0;
                Some(Err(problem))
            }
        };
        if result.is_some() {
            self.last_revision += 1;
            diff.revision = self.last_revision;
            diff.result = result;
        }
    }

    pub(super) fn diff_view(&self) -> Option<DiffView> {
        self.diff.as_ref().map(OpenDiff::view)
    }
}

impl OpenDiff {
    /// Compares the texts, if both are there.
    fn compute(&mut self) -> Option<Result<Arc<FileDiff>, DiffProblem>> {
        let (DiffSide::Loaded(before), DiffSide::Loaded(after)) = (&self.before, &self.after)
        else {
            return None;
        };
        let lines = before.lines().chain(after.lines());
        self.width = lines.map(str::len).max().unwrap_or_default();
        let diff = FileDiff::compute(before.as_str(), after.as_str(), DIFF_CONTEXT_LINES);
        Some(diff.map(Arc::new).map_err(|refusal| match refusal {
            DiffRefusal::Binary => DiffProblem::Binary,
            DiffRefusal::TooLarge { .. } => DiffProblem::TooLarge,
        }))
    }

    fn view(&self) -> DiffView {
        let (status, error) = match &self.result {
            None => ("loading", None),
            Some(Ok(_)) => ("ready", None),
            Some(Err(DiffProblem::Binary)) => ("binary", None),
            Some(Err(error @ (DiffProblem::Unreadable(_) | DiffProblem::TooLarge))) => {
                ("error", Some(error.to_string()))
            }
        };
        let stats = self
            .result
            .as_ref()
            .and_then(|result| Some(result.as_ref().ok()?.stats()));
        let extension = self.path.rsplit_once('.').map(|(_, name)| name.to_owned());
        DiffView {
            file: self.file.clone(),
            path: self.path.clone(),
            layout: self.layout,
            status,
            error,
            total: stats.as_ref().map_or(0, |stats| match self.layout {
                DiffLayout::Unified => stats.unified_rows,
                DiffLayout::Split => stats.split_rows,
            }),
            width: self.width,
            added: stats.as_ref().map_or(0, |stats| u64::from(stats.added)),
            removed: stats.as_ref().map_or(0, |stats| u64::from(stats.removed)),
            language: extension,
            revision: self.revision,
        }
    }
}

impl Frontend {
    pub(super) fn open_diff(&mut self, id: u64, file: &str, layout: DiffLayout) {
        if let Some(diff) = &mut self.changes.diff
            && diff.file == file
            && diff.result.is_some()
        {
            diff.layout = layout;
            self.changes.last_revision += 1;
            diff.revision = self.changes.last_revision;
            self.dirty.changes = true;
            return self.done(id);
        }
        let Some(edit) = self.changed_file(file) else {
            return self.fail(id, "the file has no changes any more".to_owned());
        };
        let shown = edit.after.as_ref().or(edit.before.as_ref());
        let path = shown.map(|side| path_of(&side.uri)).unwrap_or_default();
        self.changes.diff = Some(OpenDiff {
            file: file.to_owned(),
            path,
            layout,
            edit,
            reading: 0,
            before: DiffSide::Loading,
            after: DiffSide::Loading,
            revision: 0,
            result: None,
            width: 0,
        });
        self.read_sides();
        self.done(id);
    }

    /// Reads the texts of the open diff again, if the changeset has others. A file without
    /// changes keeps its last diff.
    pub(super) fn refresh_diff(&mut self) {
        let Some(file) = self.changes.diff.as_ref().map(|diff| diff.file.clone()) else {
            return;
        };
        let edit = self.changed_file(&file);
        if let (Some(edit), Some(diff)) = (edit, &mut self.changes.diff)
            && diff.edit != edit
        {
            diff.edit = edit;
            self.read_sides();
        }
    }

    /// Requests the texts of the open diff.
    fn read_sides(&mut self) {
        self.changes.last_revision += 1;
        let reading = self.changes.last_revision;
        self.dirty.changes = true;
        let Some(diff) = &mut self.changes.diff else {
            return;
        };
        diff.reading = reading;
        let sides = [diff.edit.before.clone(), diff.edit.after.clone()];
        let [before, after] = sides.each_ref().map(|side| match side {
            Some(_) => DiffSide::Loading,
            None => DiffSide::Loaded(String::new()),
        });
        (diff.before, diff.after) = (before, after);
        for (side, is_after) in sides.into_iter().zip([false, true]) {
            let Some(side) = side else { continue };
            let params = ResourceReadParams {
                channel: RootChannel,
                uri: side.content.uri,
                encoding: None,
                meta: None,
            };
            self.request(&params, ResponsePurpose::DiffSide { reading, is_after });
        }
    }

    pub(super) fn close_diff(&mut self, id: u64) {
        self.changes.diff = None;
        self.dirty.changes = true;
        self.done(id);
    }

    pub(super) fn read_diff_rows(&mut self, id: u64, start: usize, end: usize) {
        let end = end.min(start.saturating_add(MAX_WINDOW_ROWS));
        let rows = self
            .changes
            .ready_diff()
            .map(|(_, layout, diff)| match layout {
                DiffLayout::Unified => to_raw_value(&diff.unified_rows(start..end)),
                DiffLayout::Split => to_raw_value(&diff.split_rows(start..end)),
            });
        match rows {
            Some(Ok(rows)) => self.reply(id, &rows),
            Some(Err(error)) => self.fail(id, error.to_string()),
            None => self.fail(id, "no diff is open".to_owned()),
        }
    }

    /// Reports the row of the next hunk, or of the previous one; nothing if there is none.
    pub(super) fn find_hunk(&mut self, id: u64, row: usize, is_forward: bool) {
        let Some((_, layout, diff)) = self.changes.ready_diff() else {
            return self.fail(id, "no diff is open".to_owned());
        };
        let hunks = match layout {
            DiffLayout::Unified => diff.unified_hunks(),
            DiffLayout::Split => diff.split_hunks(),
        };
        let mut hunks = hunks.into_iter();
        let found = if is_forward {
            hunks.find(|hunk| *hunk > row)
        } else {
            hunks.rfind(|hunk| *hunk < row)
        };
        self.reply(id, &found);
    }
}
