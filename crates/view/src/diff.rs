//! The difference of two texts as rows, unified or side by side.
//!
//! [`FileDiff`] keeps the texts and a few bytes per row. Rows with their text and the words that
//! changed are made for a window, when a client shows it: a diff of 100,000 lines is never
//! serialized at once.
//!
//! Texts of rows have no line ending. Rows whose line does not end with `\n` have a [`LineEnding`],
//! so that the rows and the old text give the new text.

mod layout;
mod line_places;
mod word;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use imara_diff::{Algorithm, Diff, InternedInput, Token};
use serde::Serialize;

use self::layout::{RowLayout, SplitPlace, UnifiedPlace};
pub use self::line_places::{LinePlace, TextSide};
use self::word::changed_words;
use crate::visible_text::visible_text;

/// Unchanged lines that are shown around changes by default.
pub const DEFAULT_CONTEXT: u32 = 3;

/// Both texts together have at most this many bytes.
pub const MAX_DIFF_BYTES: usize = 32 * 1024 * 1024;

/// Both texts together have at most this many lines.
pub const MAX_DIFF_LINES: usize = 1_000_000;

/// The histogram algorithm has the clearest results, and takes quadratic time for changes that are
/// spread over the text. It compares at most this many lines of both texts together.
const MAX_HISTOGRAM_LINES: usize = 6_000;

/// A NUL in this many bytes at the start of a text makes it binary, as in git.
const BINARY_PROBE_BYTES: usize = 8000;

/// A row of the unified layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DiffRow {
    /// The start of a group of changes with their context.
    Hunk(HunkStart),
    /// A line of one text, or of both.
    Line(DiffLine),
}

/// A row of the layout with both texts side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SplitRow {
    /// The start of a group of changes with their context.
    Hunk(HunkStart),
    /// A line of the old text, of the new text, or of both.
    Pair {
        /// The line of the old text.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<SplitSide>,
        /// The line of the new text.
        #[serde(skip_serializing_if = "Option::is_none")]
        right: Option<SplitSide>,
    },
}

/// The row above a group of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HunkStart {
    /// Number of the next line of the old text; the first line is 1.
    pub before: u32,
    /// Number of the next line of the new text.
    pub after: u32,
    /// Unchanged lines that are left out above this row.
    pub hidden: u32,
}

/// A line of the unified layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    /// Number of the line in the old text. Added lines have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// Number of the line in the new text. Removed lines have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// The texts that have this line.
    pub mark: LineMark,
    /// The line without its ending.
    pub text: String,
    /// The ending, if it is not a newline alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<LineEnding>,
    /// Ranges of words that changed, in UTF-16 code units, if a similar line replaces this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<(u32, u32)>>,
}

/// A line on one side of the split layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SplitSide {
    /// Number of the line in the text of this side.
    pub number: u32,
    /// The texts that have this line.
    pub mark: LineMark,
    /// The line without its ending.
    pub text: String,
    /// The ending, if it is not a newline alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<LineEnding>,
    /// Ranges of words that changed, in UTF-16 code units, if the other side is similar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<(u32, u32)>>,
}

/// The texts that have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LineMark {
    /// Both texts have the line.
    Same,
    /// Only the new text has the line.
    Added,
    /// Only the old text has the line.
    Removed,
}

/// The ending of a line that does not end with a newline alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LineEnding {
    /// A carriage return and a newline.
    Crlf,
    /// The last line of a text that has no newline at its end.
    None,
}

/// The numbers of a diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffStats {
    /// Lines that only the new text has.
    pub added: u32,
    /// Lines that only the old text has.
    pub removed: u32,
    /// Rows of the unified layout.
    pub unified_rows: usize,
    /// Rows of the split layout.
    pub split_rows: usize,
    /// Unchanged lines that are left out after the last row.
    pub hidden: u32,
}

/// The reason why two texts have no diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DiffRefusal {
    /// A text has a NUL byte near its start.
    Binary,
    /// The texts exceed [`MAX_DIFF_BYTES`] or [`MAX_DIFF_LINES`].
    TooLarge {
        /// Size of the old text in bytes.
        before: usize,
        /// Size of the new text in bytes.
        after: usize,
    },
}

/// The difference of two texts. `Debug` leaves out the texts, which are contents of files.
pub struct FileDiff {
    before: LineTable,
    after: LineTable,
    layout: RowLayout,
}

/// A text and the ends of its lines.
struct LineTable {
    text: Arc<str>,
    /// The end of each line, including its line ending.
    ends: Vec<usize>,
}

impl FileDiff {
    /// Compares two texts. `context` unchanged lines are shown around each change; with
    /// `u32::MAX` all lines are.
    pub fn compute(
        before: impl Into<Arc<str>>,
        after: impl Into<Arc<str>>,
        context: u32,
    ) -> Result<Self, DiffRefusal> {
        let (before, after) = (before.into(), after.into());
        let refusal = DiffRefusal::TooLarge {
            before: before.len(),
            after: after.len(),
        };
        if before.len().saturating_add(after.len()) > MAX_DIFF_BYTES {
            return Err(refusal);
        }
        if is_binary(before.as_bytes()) || is_binary(after.as_bytes()) {
            return Err(DiffRefusal::Binary);
        }
        let (before, after) = (LineTable::new(before), LineTable::new(after));
        if before.ends.len() + after.ends.len() > MAX_DIFF_LINES {
            return Err(refusal);
        }
        let input = InternedInput::new(&*before.text, &*after.text);
        let mut diff = Diff::compute(algorithm(&input.before, &input.after), &input);
        diff.postprocess_lines(&input);
        let layout = RowLayout::new(diff.hunks(), before.count(), after.count(), context);
        Ok(Self {
            before,
            after,
            layout,
        })
    }

    /// Returns the numbers of lines and rows.
    pub fn stats(&self) -> DiffStats {
        DiffStats {
            added: self.layout.added,
            removed: self.layout.removed,
            unified_rows: self.layout.unified.len(),
            split_rows: self.layout.split.len(),
            hidden: self.layout.hidden,
        }
    }

    /// Returns the rows of the unified layout in `window`, which is cut to the existing rows.
    pub fn unified_rows(&self, window: Range<usize>) -> Vec<DiffRow> {
        let places = window_of(&self.layout.unified, window);
        places.iter().map(|place| self.unified_row(place)).collect()
    }

    /// Returns the rows of [`Self::unified_rows`] with their hidden characters escaped, for a user
    /// who decides upon the change.
    pub fn visible_rows(&self, window: Range<usize>) -> Vec<DiffRow> {
        let mut rows = self.unified_rows(window);
        for row in &mut rows {
            if let DiffRow::Line(line) = row {
                let text = visible_text(&line.text);
                if text != line.text {
                    // The ranges are those of the text as it is.
                    line.words = None;
                    line.text = text;
                }
            }
        }
        rows
    }

    /// Returns the rows of the split layout in `window`, which is cut to the existing rows.
    pub fn split_rows(&self, window: Range<usize>) -> Vec<SplitRow> {
        let places = window_of(&self.layout.split, window);
        places.iter().map(|place| self.split_row(place)).collect()
    }

    /// Returns the indexes of the hunk rows in the unified layout, in order.
    pub fn unified_hunks(&self) -> Vec<usize> {
        let rows = self.layout.unified.iter().enumerate();
        rows.filter(|(_, place)| matches!(place, UnifiedPlace::Hunk(_)))
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the indexes of the hunk rows in the split layout, in order.
    pub fn split_hunks(&self) -> Vec<usize> {
        let rows = self.layout.split.iter().enumerate();
        rows.filter(|(_, place)| matches!(place, SplitPlace::Hunk(_)))
            .map(|(index, _)| index)
            .collect()
    }

    fn unified_row(&self, place: &UnifiedPlace) -> DiffRow {
        let (before, after, mark) = match *place {
            UnifiedPlace::Hunk(start) => return DiffRow::Hunk(start),
            UnifiedPlace::Same { before, after } => (Some(before), Some(after), LineMark::Same),
            UnifiedPlace::Removed { before, .. } => (Some(before), None, LineMark::Removed),
            UnifiedPlace::Added { after, .. } => (None, Some(after), LineMark::Added),
        };
        let words = match *place {
            UnifiedPlace::Removed {
                before,
                partner: Some(after),
            } => self.words(before, after).map(|(removed, _)| removed),
            UnifiedPlace::Added {
                after,
                partner: Some(before),
            } => self.words(before, after).map(|(_, added)| added),
            _ => None,
        };
        let (text, ending) = match (before, after) {
            (_, Some(after)) => self.after.line(after),
            (Some(before), None) => self.before.line(before),
            (None, None) => ("", None),
        };
        DiffRow::Line(DiffLine {
            before: before.map(|index| index + 1),
            after: after.map(|index| index + 1),
            mark,
            text: text.to_owned(),
            ending,
            words,
        })
    }

    fn split_row(&self, place: &SplitPlace) -> SplitRow {
        let (before, after, is_same) = match *place {
            SplitPlace::Hunk(start) => return SplitRow::Hunk(start),
            SplitPlace::Same { before, after } => (Some(before), Some(after), true),
            SplitPlace::Changed { before, after } => (before, after, false),
        };
        let words = match (before, after) {
            (Some(before), Some(after)) if !is_same => self.words(before, after),
            _ => None,
        };
        let (removed, added) = words.unzip();
        let mark = |changed| if is_same { LineMark::Same } else { changed };
        let side = |table: &LineTable, index: u32, mark, words| {
            let (text, ending) = table.line(index);
            SplitSide {
                number: index + 1,
                mark,
                text: text.to_owned(),
                ending,
                words,
            }
        };
        SplitRow::Pair {
            left: before.map(|index| side(&self.before, index, mark(LineMark::Removed), removed)),
            right: after.map(|index| side(&self.after, index, mark(LineMark::Added), added)),
        }
    }

    fn words(&self, before: u32, after: u32) -> Option<word::WordRanges> {
        changed_words(self.before.line(before).0, self.after.line(after).0)
    }
}

impl std::fmt::Debug for FileDiff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("FileDiff");
        debug.field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl LineTable {
    fn new(text: Arc<str>) -> Self {
        let mut ends = Vec::new();
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            ends.push(end);
        }
        Self { text, ends }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// Returns a line without its ending, and the ending if it is unusual.
    fn line(&self, index: u32) -> (&str, Option<LineEnding>) {
        let index = index as usize;
        let previous = index.checked_sub(1).and_then(|at| self.ends.get(at));
        let start = previous.copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        let line = self.text.get(start..end).unwrap_or_default();
        match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
            (Some(text), _) => (text, Some(LineEnding::Crlf)),
            (None, Some(text)) => (text, None),
            (None, None) => (line, Some(LineEnding::None)),
        }
    }
}

/// Chooses the algorithm by the number of lines between the equal start and the equal end.
fn algorithm(before: &[Token], after: &[Token]) -> Algorithm {
    let pairs = before.iter().zip(after);
    let start = pairs.take_while(|(one, other)| one == other).count();
    let pairs = before.iter().rev().zip(after.iter().rev());
    let end = pairs.take_while(|(one, other)| one == other).count();
    let equal = start.saturating_add(end).saturating_mul(2);
    if (before.len() + after.len()).saturating_sub(equal) <= MAX_HISTOGRAM_LINES {
        Algorithm::Histogram
    } else {
        Algorithm::Myers
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0)
}

fn window_of<T>(places: &[T], window: Range<usize>) -> &[T] {
    let end = window.end.min(places.len());
    places.get(window.start.min(end)..end).unwrap_or_default()
}
