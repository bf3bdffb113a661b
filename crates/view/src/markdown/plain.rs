//! Finds the place after which a text is shown unparsed, because parsing it could be slow.

/// Text after this many bytes is not parsed.
pub const MAX_MARKDOWN_BYTES: usize = 4 * 1024 * 1024;

/// A line may open this many quotes and items. With more, each following blank line costs time
/// for every open level.
const MAX_LINE_MARKERS: usize = 32;

/// The delimiter row of a table may have this many columns. Short rows are filled up with
/// empty cells, so that a wide table costs its width for every row.
const MAX_TABLE_COLUMNS: usize = 128;

/// The start of a line that is examined.
const MAX_EXAMINED_BYTES: usize = 2048;

/// Reads the lines of a growing text and finds the first one that must not be parsed.
///
/// The result depends on the text alone, not on the pieces in which it arrived: a line that is
/// not complete is rejected only if no continuation of it could be accepted.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainScanner {
    /// The start of the last line, which may not be complete.
    line_start: usize,
    /// No newline is between the start of the last line and here.
    searched_to: usize,
    found: Option<usize>,
}

impl PlainScanner {
    /// Examines the text that was added, and returns the start of the unparsed rest, if any.
    /// `text` is the whole text.
    pub(super) fn scan(&mut self, text: &str) -> Option<usize> {
        while self.found.is_none() {
            let unsearched = text.get(self.searched_to..).unwrap_or_default();
            let line_end = unsearched.find('\n').map(|at| self.searched_to + at);
            let end = line_end.unwrap_or(text.len());
            let line = text.get(self.line_start..end).unwrap_or_default();
            self.searched_to = end;
            if self.line_start >= MAX_MARKDOWN_BYTES
                || count_markers(line) > MAX_LINE_MARKERS
                || (line_end.is_some() && is_wide_delimiter_row(line))
            {
                self.found = Some(self.line_start);
            } else if let Some(end) = line_end {
                self.line_start = end + 1;
                self.searched_to = self.line_start;
            } else {
                break;
            }
        }
        self.found
    }
}

/// Counts the quotes and list items that a line may open at most.
fn count_markers(line: &str) -> usize {
    let examined = line.as_bytes().get(..MAX_EXAMINED_BYTES);
    let mut bytes = examined.unwrap_or(line.as_bytes()).iter().peekable();
    let mut count = 0;
    while let Some(byte) = bytes.next() {
        let is_before_space = matches!(bytes.peek(), Some(b' ' | b'\t'));
        match byte {
            b' ' | b'\t' | b'0'..=b'9' => {}
            b'>' => count += 1,
            b'-' | b'+' | b'*' | b'.' | b')' if is_before_space => count += 1,
            _ => break,
        }
    }
    count
}

fn is_wide_delimiter_row(line: &str) -> bool {
    let examined = line.as_bytes().get(..MAX_EXAMINED_BYTES);
    let bytes = examined.unwrap_or(line.as_bytes());
    let is_delimiter = |b: &u8| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t' | b'>' | b'\r');
    bytes.iter().filter(|b| **b == b'|').count() > MAX_TABLE_COLUMNS
        && bytes.iter().all(is_delimiter)
}
