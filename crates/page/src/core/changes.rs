//! The panel of changes: the selected changeset, and the open diff of one file.

use agenthost_client::ClientResponse;
use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetFilesReviewChanged, ChangesetOperationTarget,
    ChangesetResourceTarget, ChangesetState, InvokeChangesetOperationParams,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::FileEdit;
use agenthost_protocol::ids::{ChangesetFileId, OperationId};
use agenthost_protocol::resource::{ContentEncoding, ResourceReadParams, ResourceReadResult};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::changes::{ChangesetChoice, changeset_choices};
use agenthost_view::diff::{DiffRefusal, FileDiff};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::PageCore;
use super::responses::{RequestError, ResponsePurpose, decode, encode};
use crate::input::DiffLayout;

/// Unchanged lines around a change.
const DIFF_CONTEXT_LINES: u32 = 3;

/// Rows that the page may read at once.
const MAX_WINDOW_ROWS: usize = 2_000;

/// The panel of changes.
#[derive(Debug, Default)]
pub(super) struct ChangesPanel {
    pub(super) changeset: Option<Uri>,
    pub(super) diff: Option<OpenDiff>,
    last_revision: u64,
}

/// A file whose diff is open.
pub(super) struct OpenDiff {
    file: String,
    path: String,
    layout: DiffLayout,
    revision: u64,
    before: DiffSide,
    after: DiffSide,
    result: Option<Result<FileDiff, DiffProblem>>,
    is_binary: bool,
}

/// The reason for which there is no diff.
#[derive(Debug, thiserror::Error)]
enum DiffProblem {
    #[error(transparent)]
    Unreadable(RequestError),
    #[error("the file is too large to compare")]
    TooLarge,
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

/// Slice `diff`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiffView {
    file: String,
    path: String,
    layout: DiffLayout,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    total: usize,
    width: usize,
    added: u64,
    removed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    revision: u64,
}

impl ChangesPanel {
    pub(super) fn is_open(&self, channel: &Uri) -> bool {
        self.changeset.as_ref() == Some(channel)
    }

    /// Makes the page read the open diff again.
    pub(super) fn invalidate_diff(&mut self) {
        if let Some(diff) = &mut self.diff {
            self.last_revision += 1;
            diff.revision = self.last_revision;
        }
    }

    /// Adds the content of one side, and computes the diff when both are there.
    pub(super) fn add_side(
        &mut self,
        revision: u64,
        is_after: bool,
        content: Result<ResourceReadResult, RequestError>,
    ) {
        let Some(diff) = &mut self.diff else {
            return;
        };
        if diff.revision != revision {
            return;
        }
        let text = match content {
            Ok(content) => match content.encoding {
                ContentEncoding::Utf8 => content.data,
                ContentEncoding::Base64 => {
                    diff.is_binary = true;
                    String::new()
                }
            },
            Err(error) => {
                diff.result = Some(Err(DiffProblem::Unreadable(error)));
                String::new()
            }
        };
        let side = if is_after {
            &mut diff.after
        } else {
            &mut diff.before
        };
        *side = DiffSide::Loaded(text);
        diff.compute();
    }

    pub(super) fn view(&self) -> Option<DiffView> {
        self.diff.as_ref().map(OpenDiff::view)
    }
}

impl OpenDiff {
    fn compute(&mut self) {
        if self.result.is_some() || self.is_binary {
            return;
        }
        if let (DiffSide::Loaded(before), DiffSide::Loaded(after)) = (&self.before, &self.after) {
            match FileDiff::compute(before.as_str(), after.as_str(), DIFF_CONTEXT_LINES) {
                Ok(diff) => self.result = Some(Ok(diff)),
                Err(DiffRefusal::Binary) => self.is_binary = true,
                Err(DiffRefusal::TooLarge { .. }) => {
                    self.result = Some(Err(DiffProblem::TooLarge));
                }
            }
        }
    }

    fn view(&self) -> DiffView {
        let (status, error) = match &self.result {
            _ if self.is_binary => ("binary", None),
            None => ("loading", None),
            Some(Ok(_)) => ("ready", None),
            Some(Err(error)) => ("error", Some(error.to_string())),
        };
        let stats = self
            .result
            .as_ref()
            .and_then(|result| Some(result.as_ref().ok()?.stats()));
        let longest = |side: &DiffSide| match side {
            DiffSide::Loading => 0,
            DiffSide::Loaded(text) => text.lines().map(str::len).max().unwrap_or_default(),
        };
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
            width: longest(&self.before).max(longest(&self.after)),
            added: stats.as_ref().map_or(0, |stats| u64::from(stats.added)),
            removed: stats.as_ref().map_or(0, |stats| u64::from(stats.removed)),
            language: extension,
            revision: self.revision,
        }
    }
}

impl PageCore {
    /// Returns the changesets of the selected session.
    pub(super) fn changeset_choices(&self) -> Vec<ChangesetChoice> {
        let session = self.session.as_ref();
        let state = session.and_then(|session| self.session_state(session));
        let catalogue = state.and_then(|state| state.changesets.as_deref());
        changeset_choices(catalogue.unwrap_or_default())
    }

    pub(super) fn changeset_state(&self) -> Option<&ChangesetState> {
        match self.state(self.changes.changeset.as_ref()?)? {
            ChannelState::Changeset(state) => Some(state),
            _ => None,
        }
    }

    fn changed_file(&self, file: &str) -> Option<FileEdit> {
        let mut files = self.changeset_state()?.files.items();
        let found = files.find(|other| other.id.as_str() == file)?;
        Some(found.edit.clone())
    }

    /// Opens the first changeset of the selected session, as soon as it has one.
    pub(super) fn select_default_changeset(&mut self) {
        let choices = self.changeset_choices();
        if let Some(choice) = choices.into_iter().next() {
            self.follow(&choice.uri);
            self.changes.changeset = Some(choice.uri);
            self.dirty.changes = true;
            self.send_pending();
        }
    }

    pub(super) fn select_changeset(&mut self, id: u64, changeset: Uri) {
        if !self.changes.is_open(&changeset) {
            self.leave_changeset();
            self.follow(&changeset);
            self.changes.changeset = Some(changeset);
            self.dirty.changes = true;
        }
        self.done(id);
    }

    pub(super) fn leave_changeset(&mut self) {
        self.changes.diff = None;
        if let Some(before) = self.changes.changeset.take() {
            self.unfollow(&before);
        }
    }

    pub(super) fn open_diff(&mut self, id: u64, file: &str, layout: DiffLayout) {
        if let Some(diff) = &mut self.changes.diff
            && diff.file == file
            && diff.result.is_some()
        {
            diff.layout = layout;
            self.changes.invalidate_diff();
            self.dirty.changes = true;
            return self.done(id);
        }
        let Some(edit) = self.changed_file(file) else {
            return self.fail(id, "the file has no changes any more".to_owned());
        };
        let shown = edit.after.as_ref().or(edit.before.as_ref());
        let path = shown.map(|side| agenthost_view::location::path_of(&side.uri));
        self.changes.last_revision += 1;
        let revision = self.changes.last_revision;
        let empty = || DiffSide::Loaded(String::new());
        self.changes.diff = Some(OpenDiff {
            file: file.to_owned(),
            path: path.unwrap_or_default(),
            layout,
            revision,
            before: edit
                .before
                .as_ref()
                .map_or_else(empty, |_| DiffSide::Loading),
            after: edit
                .after
                .as_ref()
                .map_or_else(empty, |_| DiffSide::Loading),
            result: None,
            is_binary: false,
        });
        for (side, is_after) in [(edit.before, false), (edit.after, true)] {
            let Some(side) = side else { continue };
            let params = ResourceReadParams {
                channel: RootChannel,
                uri: side.content.uri,
                encoding: None,
                meta: None,
            };
            self.request(&params, ResponsePurpose::DiffSide { revision, is_after });
        }
        self.dirty.changes = true;
        self.done(id);
    }

    pub(super) fn close_diff(&mut self, id: u64) {
        self.changes.diff = None;
        self.dirty.changes = true;
        self.done(id);
    }

    pub(super) fn read_diff_rows(&mut self, id: u64, start: usize, end: usize) {
        let end = end.min(start.saturating_add(MAX_WINDOW_ROWS));
        let open = self.changes.diff.as_ref();
        let rows = open.and_then(|open| {
            let diff = open.result.as_ref()?.as_ref().ok()?;
            Some(match open.layout {
                DiffLayout::Unified => to_raw_value(&diff.unified_rows(start..end)),
                DiffLayout::Split => to_raw_value(&diff.split_rows(start..end)),
            })
        });
        match rows {
            Some(Ok(rows)) => self.reply(id, &rows),
            Some(Err(error)) => self.fail(id, error.to_string()),
            None => self.fail(id, "no diff is open".to_owned()),
        }
    }

    pub(super) fn review(&mut self, id: u64, file: &str, reviewed: bool) {
        let Some(changeset) = self.changes.changeset.clone() else {
            return self.fail(id, "no changes are open".to_owned());
        };
        let action = ChangesetFilesReviewChanged {
            files: vec![ChangesetFileId::from(file)],
            reviewed,
        };
        let action = ChangesetAction::FilesReviewChanged(action);
        self.dispatch(id, &changeset, action.into(), None);
    }

    /// Runs an operation on the changeset, or on one file of it.
    pub(super) fn run_operation(&mut self, id: u64, operation: &str, file: Option<&str>) {
        let Some(channel) = self.changes.changeset.clone() else {
            return self.fail(id, "no changes are open".to_owned());
        };
        let target = file.and_then(|file| {
            let edit = self.changed_file(file)?;
            let resource = edit.after.or(edit.before)?.uri;
            let target = ChangesetResourceTarget {
                resource,
                side: None,
            };
            Some(ChangesetOperationTarget::Resource(target))
        });
        let params = InvokeChangesetOperationParams {
            channel,
            operation_id: OperationId::from(operation),
            target,
            meta: None,
        };
        self.request_for(id, &params, to_operation_message);
    }
}

/// The result of an operation.
#[derive(Debug, Serialize)]
struct OperationResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MaybeMarkdown>,
}

fn to_operation_message(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    let result = decode::<InvokeChangesetOperationParams>(response)?;
    encode(&OperationResult {
        message: result.message,
    })
}
