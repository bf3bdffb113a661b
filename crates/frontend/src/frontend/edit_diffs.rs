//! The diffs of edits that wait for approval, computed from the contents of both sides. A card has
//! only the URIs of the contents, because they are too large for the state of a session.

use std::sync::Arc;

use agenthost_client::ClientResponse;
use agenthost_protocol::resource::{ContentEncoding, ResourceReadParams};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::diff::{DEFAULT_CONTEXT, DiffRefusal, DiffRow, FileDiff};
use serde::Serialize;

use super::Frontend;
use super::responses::{ResponsePurpose, decode};

/// Diffs that are kept. One that is read again after it was dropped is computed again.
const MAX_EDIT_DIFFS: usize = 16;

/// Rows that the page reads at once.
const MAX_EDIT_ROWS: usize = 1_000;

/// The reasons for which a change is not shown.
const TOO_LARGE: &str = "the file is too large to compare";
const NOT_TEXT: &str = "the file is not text";

/// The contents before and after an edit.
type EditSides = [Option<Uri>; 2];

/// The diffs that were computed, the one that was used last at the end.
#[derive(Debug, Default)]
pub(super) struct EditDiffs {
    kept: Vec<(EditSides, Arc<FileDiff>)>,
}

/// A diff whose contents are being read.
#[derive(Debug)]
pub(super) struct EditReading {
    pub(super) command: u64,
    sides: EditSides,
    /// First row that the page asks for.
    start: usize,
    /// Contents that were read, the one before the edit first.
    texts: Vec<String>,
}

/// Rows of the diff of an edit.
#[derive(Debug, Serialize)]
struct EditRows {
    rows: Vec<DiffRow>,
    /// Number of all rows.
    total: usize,
}

impl EditDiffs {
    fn find(&self, sides: &EditSides) -> Option<Arc<FileDiff>> {
        let found = self.kept.iter().find(|(other, _)| other == sides)?;
        Some(Arc::clone(&found.1))
    }

    fn keep(&mut self, sides: EditSides, diff: Arc<FileDiff>) {
        if self.kept.len() >= MAX_EDIT_DIFFS {
            self.kept.remove(0);
        }
        self.kept.push((sides, diff));
    }
}

impl Frontend {
    /// Reports rows of the diff of an edit, from the row `start` on.
    pub(super) fn read_edit(&mut self, id: u64, sides: EditSides, start: usize) {
        match self.edit_diffs.find(&sides) {
            Some(diff) => self.report_edit(id, &diff, start),
            None => self.read_edit_side(EditReading {
                command: id,
                sides,
                start,
                texts: Vec::new(),
            }),
        }
    }

    /// Requests the next content of an edit, or computes its diff if both were read.
    fn read_edit_side(&mut self, mut reading: EditReading) {
        loop {
            match reading.sides.get(reading.texts.len()) {
                Some(Some(uri)) => {
                    let params = ResourceReadParams {
                        channel: RootChannel,
                        uri: uri.clone(),
                        encoding: None,
                        meta: None,
                    };
                    let purpose = ResponsePurpose::EditSide(Box::new(reading));
                    return self.request(&params, purpose);
                }
                Some(None) => reading.texts.push(String::new()),
                None => return self.finish_edit(reading),
            }
        }
    }

    pub(super) fn add_edit_side(&mut self, mut reading: EditReading, response: ClientResponse) {
        match decode::<ResourceReadParams>(response) {
            Ok(content) if content.encoding == ContentEncoding::Utf8 => {
                reading.texts.push(content.data);
                self.read_edit_side(reading);
            }
            Ok(_) => self.fail(reading.command, NOT_TEXT.to_owned()),
            Err(error) => self.fail(reading.command, error.to_string()),
        }
    }

    fn finish_edit(&mut self, reading: EditReading) {
        let mut texts = reading.texts.into_iter();
        let mut next = || texts.next().unwrap_or_default();
        let (before, after) = (next(), next());
        match FileDiff::compute(before, after, DEFAULT_CONTEXT) {
            Ok(diff) => {
                let diff = Arc::new(diff);
                self.edit_diffs.keep(reading.sides, Arc::clone(&diff));
                self.report_edit(reading.command, &diff, reading.start);
            }
            Err(DiffRefusal::Binary) => self.fail(reading.command, NOT_TEXT.to_owned()),
            Err(DiffRefusal::TooLarge { .. }) => self.fail(reading.command, TOO_LARGE.to_owned()),
        }
    }

    fn report_edit(&mut self, id: u64, diff: &FileDiff, start: usize) {
        let end = start.saturating_add(MAX_EDIT_ROWS);
        let rows = EditRows {
            rows: diff.visible_rows(start..end),
            total: diff.stats().unified_rows,
        };
        self.reply(id, &rows);
    }
}
