//! Places of threads in a diff.
//!
//! A comment stays at its code: if the lines have moved, the quoted code is looked for near the
//! old place. A comment whose code is gone belongs to the file.

use agenthost_protocol::sorted::{SortedMap, SortedSet};
use std::ops::RangeInclusive;

use agenthost_protocol::annotations::{Annotation, AnnotationsState};
use agenthost_protocol::common::{TextPosition, TextRange};
use agenthost_protocol::ids::AnnotationId;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use super::{MAX_SHOWN_THREADS, lines_of_range, meta, sorted_annotations};
use crate::diff::{FileDiff, LinePlace, TextSide};

/// Lines of a quote; the code of further lines is not kept.
const MAX_QUOTE_LINES: u32 = 20;

/// Maximum size of a quoted line.
const MAX_QUOTE_LINE_BYTES: usize = 400;

/// Lines above and below its old place in which moved code is found.
const MAX_MOVED_LINES: u32 = 2_000;

/// The place of a thread in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ThreadPlace {
    Row {
        /// Index of the row.
        row: usize,
        /// First line of the code now.
        first: u32,
        /// Last line of the code now.
        last: u32,
    },
    /// The thread is about the whole file.
    File,
    /// The lines are not in the file any more.
    Gone,
    /// The diff leaves the lines out.
    LeftOut,
}

/// Returns the code of some lines, as an annotation quotes it.
pub fn quote_lines(diff: &FileDiff, side: TextSide, lines: RangeInclusive<u32>) -> String {
    let numbers = lines.take(MAX_QUOTE_LINES as usize);
    let texts = numbers.map_while(|line| diff.line_text(LinePlace { side, line }));
    texts.map(cut_line).collect::<Vec<_>>().join("\n")
}

/// Returns the range of some lines; `None` if the text does not have them.
pub fn line_range(diff: &FileDiff, side: TextSide, first: u32, last: u32) -> Option<TextRange> {
    if first == 0 || first > last {
        return None;
    }
    let end = diff.line_text(LinePlace { side, line: last })?;
    Some(TextRange {
        start: TextPosition {
            line: u64::from(first - 1),
            character: 0,
        },
        end: TextPosition {
            line: u64::from(last - 1),
            character: end.encode_utf16().count() as u64,
        },
    })
}

/// Returns the places of the threads of a file in its diff. `rows_of` finds the rows of lines in
/// the layout that is shown.
pub fn thread_places(
    state: &AnnotationsState,
    sides: &[&Uri],
    diff: &FileDiff,
    rows_of: impl Fn(&SortedSet<LinePlace>) -> SortedMap<LinePlace, usize>,
) -> SortedMap<AnnotationId, ThreadPlace> {
    let sorted = sorted_annotations(state);
    let of_file = sorted.into_iter().take(MAX_SHOWN_THREADS);
    let of_file = of_file.filter(|annotation| sides.contains(&&annotation.resource));
    let found: Vec<_> = of_file
        .map(|annotation| (annotation, find_code(annotation, diff)))
        .collect();
    let wanted = found.iter().filter_map(|(_, code)| code.last_line());
    let rows = rows_of(&wanted.collect());
    let places = found.into_iter().map(|(annotation, code)| {
        let place = match code {
            FoundCode::File => ThreadPlace::File,
            FoundCode::Gone => ThreadPlace::Gone,
            FoundCode::Lines { side, first, last } => {
                let row = rows.get(&LinePlace { side, line: last });
                row.map_or(ThreadPlace::LeftOut, |row| ThreadPlace::Row {
                    row: *row,
                    first,
                    last,
                })
            }
        };
        (annotation.id.clone(), place)
    });
    places.collect()
}

/// The code of an annotation in the present texts.
enum FoundCode {
    File,
    Gone,
    Lines {
        side: TextSide,
        first: u32,
        last: u32,
    },
}

impl FoundCode {
    fn last_line(&self) -> Option<LinePlace> {
        match *self {
            FoundCode::Lines { side, last, .. } => Some(LinePlace { side, line: last }),
            FoundCode::File | FoundCode::Gone => None,
        }
    }
}

fn find_code(annotation: &Annotation, diff: &FileDiff) -> FoundCode {
    let Some((first, last)) = annotation.range.map(lines_of_range) else {
        return FoundCode::File;
    };
    let side = meta::side_of(annotation);
    let found = match meta::quote_of(annotation) {
        Some(quote) => find_quote(diff, side, quote, first),
        None => (last <= diff.line_count(side)).then_some(first),
    };
    match found {
        Some(found) => FoundCode::Lines {
            side,
            first: found,
            last: found
                .saturating_add(last - first)
                .min(diff.line_count(side)),
        },
        None => FoundCode::Gone,
    }
}

/// Returns the first line of the quoted code that is nearest to `first`.
fn find_quote(diff: &FileDiff, side: TextSide, quote: &str, first: u32) -> Option<u32> {
    let quoted: Vec<_> = quote.split('\n').take(MAX_QUOTE_LINES as usize).collect();
    let is_at = |start: u32| {
        (start..).zip(&quoted).all(|(line, text)| {
            let line = diff.line_text(LinePlace { side, line });
            line.is_some_and(|line| cut_line(line) == *text)
        })
    };
    let count = diff.line_count(side);
    (0..=MAX_MOVED_LINES).find_map(|distance| {
        let below = first.saturating_add(distance);
        let above = first.checked_sub(distance).filter(|line| *line > 0);
        let mut near = [above, (below <= count).then_some(below)]
            .into_iter()
            .flatten();
        near.find(|line| is_at(*line))
    })
}

fn cut_line(line: &str) -> &str {
    line.get(..line.floor_char_boundary(MAX_QUOTE_LINE_BYTES))
        .unwrap_or(line)
}
