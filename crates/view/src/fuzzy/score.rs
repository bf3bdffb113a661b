//! The best place of a word in a label, in the manner of fzf: starts of words and consecutive
//! characters count more, gaps count less.

use agenthost_protocol::sorted::SortedSet;

use super::LabelKind;
use super::pattern::{QueryWord, WordKind};

const MATCH: i32 = 16;
const GAP_START: i32 = -3;
const GAP_EXTENSION: i32 = -1;
const CONSECUTIVE: i32 = 6;
const WORD_START: i32 = 8;
const PATH_START: i32 = 10;
const CAMEL_CASE: i32 = 7;

/// The bonus of the first character of a word counts this many times.
const FIRST_CHAR_FACTOR: i32 = 2;

/// The score of a prefix of the word that ends at one character of the label.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    score: i32,
    /// Index of the character of the label that matches the last character of the prefix.
    end: usize,
}

/// Scores words in labels. It keeps its buffers between labels.
#[derive(Debug, Default)]
pub(super) struct LabelScorer {
    folded: Vec<char>,
    bonuses: Vec<i32>,
    /// For each prefix of the word and each character of the label: the best match that ends
    /// there, as its score and the end of the prefix before.
    matches: Vec<Option<Prefix>>,
}

impl LabelScorer {
    /// Prepares the scorer for a label.
    pub(super) fn start_label(&mut self, label: &[char], kind: LabelKind) {
        let before = std::iter::once(None).chain(label.iter().copied().map(Some));
        self.bonuses.clear();
        self.bonuses.extend(
            label
                .iter()
                .zip(before)
                .map(|(c, before)| bonus(before, *c, kind)),
        );
    }

    /// Returns the score of a word, and adds the indices of the characters that match. `None` if
    /// the label does not match.
    pub(super) fn score(
        &mut self,
        word: &QueryWord,
        label: &[char],
        places: &mut SortedSet<usize>,
    ) -> Option<i32> {
        word.fold_label(label, &mut self.folded);
        match word.kind {
            WordKind::Scattered => self.score_scattered(&word.chars, places),
            WordKind::Contained => {
                let (score, start) = self.find_contained(word)?;
                places.extend(start..start + word.chars.len());
                Some(score)
            }
            WordKind::Absent => self.find_contained(word).is_none().then_some(0),
        }
    }

    /// Returns the best score and the start of a word without gaps.
    fn find_contained(&self, word: &QueryWord) -> Option<(i32, usize)> {
        let length = word.chars.len();
        let starts = self
            .folded
            .windows(length)
            .enumerate()
            .filter(|(start, part)| {
                *part == word.chars
                    && (!word.at_start || *start == 0)
                    && (!word.at_end || start + length == self.folded.len())
            });
        let rest = length.saturating_sub(1) as i32;
        starts
            .map(|(start, _)| {
                let bonus = self.bonuses.get(start).copied().unwrap_or_default();
                let first = MATCH + FIRST_CHAR_FACTOR * bonus;
                (first + rest * (MATCH + CONSECUTIVE), start)
            })
            .max_by_key(|(score, start)| (*score, std::cmp::Reverse(*start)))
    }

    /// Finds the best match of the characters of a word in their order.
    fn score_scattered(&mut self, word: &[char], places: &mut SortedSet<usize>) -> Option<i32> {
        let mut label = self.folded.iter();
        if !word.iter().all(|c| label.any(|other| other == c)) {
            return None;
        }
        let width = self.folded.len();
        self.matches.clear();
        for (row, c) in word.iter().enumerate() {
            // The best match of the shorter prefix before the last character, with its gap.
            let mut best: Option<Prefix> = None;
            for (end, (other, bonus)) in self.folded.iter().zip(&self.bonuses).enumerate() {
                let last = match (row.checked_sub(1), end.checked_sub(1)) {
                    (Some(row), Some(end)) => {
                        let cell = self.matches.get(row * width + end).copied().flatten();
                        cell.map(|cell| Prefix {
                            score: cell.score,
                            end,
                        })
                    }
                    _ => None,
                };
                let gapped = best.map(|best| best.score + MATCH + bonus);
                let joined = last.map(|last| last.score + MATCH + (*bonus).max(CONSECUTIVE));
                let found = if c != other {
                    None
                } else if row == 0 {
                    let score = MATCH + FIRST_CHAR_FACTOR * bonus;
                    Some(Prefix { score, end })
                } else if joined >= gapped {
                    joined.zip(last).map(|(score, last)| Prefix {
                        score,
                        end: last.end,
                    })
                } else {
                    gapped.zip(best).map(|(score, best)| Prefix {
                        score,
                        end: best.end,
                    })
                };
                self.matches.push(found);
                best = [
                    best.map(|best| Prefix {
                        score: best.score + GAP_EXTENSION,
                        ..best
                    }),
                    last.map(|last| Prefix {
                        score: last.score + GAP_START,
                        ..last
                    }),
                ]
                .into_iter()
                .flatten()
                .max_by_key(|prefix| prefix.score);
            }
        }
        self.trace_back(word.len(), places)
    }

    /// Adds the indices of the best match of the whole word, and returns its score.
    fn trace_back(&self, rows: usize, places: &mut SortedSet<usize>) -> Option<i32> {
        let width = self.folded.len();
        let cell = |row: usize, end: usize| self.matches.get(row * width + end).copied().flatten();
        let last_row = rows.checked_sub(1)?;
        let ends = (0..width).filter_map(|end| Some((cell(last_row, end)?.score, end)));
        let (score, mut end) = ends.max_by_key(|(score, end)| (*score, std::cmp::Reverse(*end)))?;
        for row in (0..rows).rev() {
            places.insert(end);
            end = cell(row, end)?.end;
        }
        Some(score)
    }
}

fn bonus(before: Option<char>, c: char, kind: LabelKind) -> i32 {
    let Some(before) = before else {
        return WORD_START;
    };
    if !c.is_alphanumeric() {
        0
    } else if kind == LabelKind::Paths && matches!(before, '/' | '\\') {
        PATH_START
    } else if !before.is_alphanumeric() {
        WORD_START
    } else if before.is_lowercase() && c.is_uppercase() {
        CAMEL_CASE
    } else {
        0
    }
}
