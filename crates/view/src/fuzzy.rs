//! Fuzzy search over labels: session titles, file names and commands.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use serde::Serialize;

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

/// Finds labels. It has a buffer of about 100 KB, so callers keep and reuse it.
pub struct FuzzyFinder {
    matcher: Matcher,
    chars: Vec<char>,
}

impl FuzzyFinder {
    /// Creates a finder for labels of one kind.
    pub fn new(kind: LabelKind) -> Self {
        let config = match kind {
            LabelKind::Words => Config::DEFAULT,
            LabelKind::Paths => Config::DEFAULT.match_paths(),
        };
        Self {
            matcher: Matcher::new(config),
            chars: Vec::new(),
        }
    }

    /// Returns the best `limit` matches, best first; of equal ones, the first of the input.
    ///
    /// Words of the query, in any order, must all be in the label, each with its characters in
    /// order. Capital letters in the query match capital letters only. `^word`, `word$`, `'word`
    /// and `!word` mean the start, the end, the exact word and its absence. An empty query matches
    /// all labels in the order of the input.
    pub fn find<'a>(
        &mut self,
        query: &str,
        labels: impl IntoIterator<Item = &'a str>,
        limit: usize,
    ) -> Vec<FuzzyMatch> {
        let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
        let pattern = Pattern::parse(&query, CaseMatching::Smart, Normalization::Smart);
        let mut found = Vec::new();
        for (index, label) in labels.into_iter().enumerate() {
            if pattern.atoms.is_empty() && found.len() >= limit {
                break;
            }
            self.read_label(label);
            let score = pattern.score(Utf32Str::Unicode(&self.chars), &mut self.matcher);
            if let Some(score) = score {
                found.push((score, index, label));
            }
        }
        found.sort_by_key(|(score, index, _)| (Reverse(*score), *index));
        found.truncate(limit);
        let with_ranges = found.into_iter().map(|(score, index, label)| FuzzyMatch {
            index,
            score,
            ranges: self.ranges(&pattern, label),
        });
        with_ranges.collect()
    }

    fn read_label(&mut self, label: &str) {
        self.chars.clear();
        self.chars.extend(label.chars().take(MAX_LABEL_CHARS));
    }

    fn ranges(&mut self, pattern: &Pattern, label: &str) -> Vec<(u32, u32)> {
        self.read_label(label);
        let mut places = Vec::new();
        let haystack = Utf32Str::Unicode(&self.chars);
        if pattern
            .indices(haystack, &mut self.matcher, &mut places)
            .is_none()
        {
            return Vec::new();
        }
        places.sort_unstable();
        places.dedup();
        let mut places = places.into_iter().peekable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut unit = 0;
        for (at, c) in (0_u32..).zip(&self.chars) {
            let next_unit = unit + c.len_utf16() as u32;
            if places.next_if_eq(&at).is_some() {
                match ranges.last_mut() {
                    Some((_, end)) if *end == unit => *end = next_unit,
                    _ => ranges.push((unit, next_unit)),
                }
            }
            unit = next_unit;
        }
        ranges
    }
}
