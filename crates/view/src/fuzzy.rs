//! Fuzzy search over labels: session titles, file names and commands.

mod pattern;
mod score;
#[cfg(test)]
mod tests;

use agenthost_protocol::sorted::{SortedSet, sort_by_key};
use serde::Serialize;

use self::pattern::QueryWord;
use self::score::LabelScorer;

/// Characters of a query that count.
pub const MAX_QUERY_CHARS: usize = 128;

/// Characters of a label that are searched.
pub const MAX_LABEL_CHARS: usize = 1024;

/// A label that matches a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FuzzyMatch {
    /// The place of the label in the input.
    pub index: usize,
    /// Higher is better. Scores of different queries are not comparable.
    pub score: u32,
    /// Ranges of the label that match, in UTF-16 code units, in order and not adjacent.
    pub ranges: Vec<(u32, u32)>,
}

/// The kind of text in the labels, which decides where a match counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// Titles and commands: starts of words count more.
    Words,
    /// Paths: starts of names of files and folders count more.
    Paths,
}

/// Finds labels. It has buffers, so callers keep and reuse it.
#[derive(Debug)]
pub struct FuzzyFinder {
    kind: LabelKind,
    scorer: LabelScorer,
}

impl FuzzyFinder {
    /// Creates a finder for labels of one kind.
    pub fn new(kind: LabelKind) -> Self {
        Self {
            kind,
            scorer: LabelScorer::default(),
        }
    }

    /// Returns the best `limit` matches, best first; of equal ones, the first of the input.
    ///
    /// Words of the query, in any order, must all be in the label, each with its characters in
    /// order. A word with capital letters distinguishes them, and a word with accents those.
    /// `^word`, `word$`, `'word` and `!word` mean the start, the end, the exact word and its
    /// absence. An empty query matches all labels in the order of the input.
    pub fn find<'a>(
        &mut self,
        query: &str,
        labels: impl IntoIterator<Item = &'a str>,
        limit: usize,
    ) -> Vec<FuzzyMatch> {
        let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
        let words = QueryWord::parse_all(&query);
        let mut found = Vec::new();
        let mut label_chars = Vec::new();
        for (index, label) in labels.into_iter().enumerate() {
            if words.is_empty() && found.len() >= limit {
                break;
            }
            label_chars.clear();
            label_chars.extend(label.chars().take(MAX_LABEL_CHARS));
            found.extend(self.match_label(&words, &label_chars, index));
        }
        sort_by_key(&mut found, |found| -i128::from(found.score));
        found.truncate(limit);
        found
    }

    fn match_label(
        &mut self,
        words: &[QueryWord],
        label: &[char],
        index: usize,
    ) -> Option<FuzzyMatch> {
        self.scorer.start_label(label, self.kind);
        let mut places = SortedSet::new();
        let mut score = 0;
        for word in words {
            score += self.scorer.score(word, label, &mut places)?;
        }
        Some(FuzzyMatch {
            index,
            score: u32::try_from(score).unwrap_or_default(),
            ranges: to_ranges(&places, label),
        })
    }
}

/// Joins adjacent characters to ranges in UTF-16 code units.
fn to_ranges(places: &SortedSet<usize>, label: &[char]) -> Vec<(u32, u32)> {
    let mut places = places.iter().peekable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut unit = 0;
    for (at, c) in label.iter().enumerate() {
        let next_unit = unit + c.len_utf16() as u32;
        if places.next_if_eq(&&at).is_some() {
            match ranges.last_mut() {
                Some((_, end)) if *end == unit => *end = next_unit,
                _ => ranges.push((unit, next_unit)),
            }
        }
        unit = next_unit;
    }
    ranges
}
