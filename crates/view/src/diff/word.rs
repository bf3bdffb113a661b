//! The words that differ between two similar lines.

use imara_diff::{Algorithm, Diff, InternedInput};

/// Longer lines are not compared by words: they are mostly generated.
const MAX_WORD_LINE_BYTES: usize = 4096;

/// Lines that share less than one part in this many are shown as replaced, without words.
const MIN_SHARED_PART: usize = 4;

/// Ranges of changed words in UTF-16 code units: of the old line and of the new one.
pub(super) type WordRanges = (Vec<(u32, u32)>, Vec<(u32, u32)>);

/// Compares two lines by words. Returns `None` if they are long, equal or not similar.
pub(super) fn changed_words(before: &str, after: &str) -> Option<WordRanges> {
    if before.len().max(after.len()) > MAX_WORD_LINE_BYTES || before == after {
        return None;
    }
    let mut input = InternedInput::default();
    input.update_before(words(before));
    input.update_after(words(after));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let is_shared = |(index, word): (u32, &str)| {
        let is_space = word.starts_with(char::is_whitespace);
        if is_space || diff.is_removed(index) {
            0
        } else {
            word.len()
        }
    };
    let shared: usize = (0..).zip(words(before)).map(is_shared).sum();
    if shared * MIN_SHARED_PART < before.trim().len().max(after.trim().len()) {
        return None;
    }
    let removed = ranges(before, |index| diff.is_removed(index));
    let added = ranges(after, |index| diff.is_added(index));
    Some((removed, added))
}

/// Divides a line into words, runs of white space and single other characters.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let kind = CharKind::of(first);
        let end = match kind {
            CharKind::Other => first.len_utf8(),
            CharKind::Word | CharKind::Space => {
                rest.find(|c| CharKind::of(c) != kind).unwrap_or(rest.len())
            }
        };
        let (word, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(word)
    })
}

/// The kind of a character, which decides where words end.
#[derive(Clone, Copy, PartialEq)]
enum CharKind {
    Word,
    Space,
    Other,
}

impl CharKind {
    fn of(c: char) -> Self {
        if c.is_alphanumeric() || c == '_' {
            CharKind::Word
        } else if c.is_whitespace() {
            CharKind::Space
        } else {
            CharKind::Other
        }
    }
}

/// Joins the changed words of a line to ranges.
fn ranges(line: &str, is_changed: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut start = 0;
    for (index, word) in (0..).zip(words(line)) {
        let end = start + word.encode_utf16().count() as u32;
        if is_changed(index) {
            match ranges.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => ranges.push((start, end)),
            }
        }
        start = end;
    }
    ranges
}
