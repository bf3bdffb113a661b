//! The wording of comments and docs.

use crate::ceilings::{Measure, Measurement, check};
use crate::lexer::{Comment, is_word};
use crate::sources::Source;
use crate::{SPEC_CRATES, Workspace};

/// Comments are wrapped at this column.
const MAX_COLUMNS: usize = 100;

/// A doc of one line with at most this many words is taken to restate a name.
const THIN_DOC_WORDS: usize = 3;

/// Subjects that hide the actor of a sentence.
const IMPERSONAL: &[&str] = &[
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "nobody",
    "somebody",
    "someone",
    "whoever",
    "whom",
    "whomever",
];

/// First words of docs that ask a question in place of an answer.
const RIDDLES: &[&str] = &["How", "What", "Whether", "Who", "Whom", "Whose"];

/// Terms of the field, without their endings.
const TERMS: &[&str] = &[
    "backoff",
    "buffer",
    "cache",
    "callback",
    "checkpoint",
    "connection",
    "deadline",
    "debounce",
    "descriptor",
    "error",
    "evict",
    "handle",
    "handshake",
    "iterator",
    "lock",
    "mutex",
    "notification",
    "payload",
    "queue",
    "replay",
    "request",
    "response",
    "retries",
    "retry",
    "semaphore",
    "signal",
    "snapshot",
    "socket",
    "spawn",
    "spill",
    "stream",
    "subscriber",
    "task",
    "thread",
    "timeout",
    "transaction",
    "worktree",
];

/// Endings that a term may have.
const TERM_ENDINGS: &[&str] = &["", "s", "d", "ed", "ing"];

/// Adjacent lines of doc comments of one kind.
struct DocBlock<'a> {
    source: &'a Source,
    line: usize,
    /// The first line, without the comment marks.
    text: &'a str,
    is_one_line: bool,
}

/// Measures impersonal subjects per 1,000 words of comments.
pub(crate) fn impersonal_words(workspace: &Workspace) -> Measurement {
    let mut places = Vec::new();
    for (source, comment) in comments(workspace) {
        let found = words(&comment.text).filter(|word| is_impersonal(word));
        let place = || format!("{}: {}", source.place(comment.line), comment.text);
        places.extend(found.map(|_| place()));
    }
    let advice = "say the actor: the subject of a sentence is a noun";
    Measurement::share(places, comment_words(workspace), 1000.0, advice)
}

/// Measures terms of the field per 1,000 words of comments.
pub(crate) fn field_terms(workspace: &Workspace) -> Measurement {
    let mut count = 0;
    for (_, comment) in comments(workspace) {
        count += words(&comment.text).filter(|word| is_term(word)).count();
    }
    Measurement {
        value: 1000.0 * count as f64 / comment_words(workspace).max(1) as f64,
        places: Vec::new(),
        advice: "use the terms of the field (queue, timeout, connection …) in comments",
    }
}

/// Measures the percentage of docs that begin with What, Whether, How or Who.
pub(crate) fn riddle_docs(workspace: &Workspace) -> Measurement {
    let blocks = doc_blocks(workspace);
    let places = blocks
        .iter()
        .filter(|block| {
            words(block.text)
                .next()
                .is_some_and(|word| RIDDLES.contains(&word) && block.text.starts_with(word))
        })
        .map(DocBlock::place)
        .collect();
    let advice = "begin docs with a noun phrase or a verb in the third person";
    Measurement::share(places, blocks.len(), 100.0, advice)
}

/// Counts docs of a few words, outside of the specification.
pub(crate) fn thin_docs(workspace: &Workspace) -> Measurement {
    let places = doc_blocks(workspace)
        .iter()
        .filter(|block| !SPEC_CRATES.contains(&block.source.crate_name.as_str()))
        .filter(|block| block.is_one_line)
        .filter(|block| block.text.split_whitespace().count() <= THIN_DOC_WORDS)
        .map(DocBlock::place)
        .collect();
    let advice = "delete docs that restate a name, or say more";
    Measurement::count(places, advice)
}

/// Counts lines with a comment that are too long.
pub(crate) fn wide_comments(workspace: &Workspace) -> Measurement {
    let mut places = Vec::new();
    for source in workspace.sources() {
        let lines: Vec<_> = source.text.lines().collect();
        for comment in source.docs.iter().chain(&source.comments) {
            if lines[comment.line - 1].chars().count() > MAX_COLUMNS {
                places.push(source.place(comment.line));
            }
        }
    }
    Measurement::count(places, "wrap comments at 100 columns")
}

impl DocBlock<'_> {
    fn place(&self) -> String {
        format!("{}: {}", self.source.place(self.line), self.text)
    }
}

fn comments(workspace: &Workspace) -> impl Iterator<Item = (&Source, &Comment)> {
    workspace.sources().flat_map(|source| {
        let comments = source.docs.iter().chain(&source.comments);
        comments.map(move |comment| (source, comment))
    })
}

/// Counts the words of all comments; an apostrophe is part of a word.
fn comment_words(workspace: &Workspace) -> usize {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '\'';
    let count = |text: &str| {
        let words = text.split(|c| !is_letter(c));
        words.filter(|word| !word.is_empty()).count()
    };
    comments(workspace)
        .map(|(_, comment)| count(&comment.text))
        .sum()
}

fn doc_blocks(workspace: &Workspace) -> Vec<DocBlock<'_>> {
    let mut blocks: Vec<DocBlock<'_>> = Vec::new();
    for source in workspace.sources() {
        let mut previous = None;
        for doc in &source.docs {
            let (mark, text) = doc.text.split_at(3);
            if previous == Some((doc.line - 1, mark)) {
                if let Some(block) = blocks.last_mut() {
                    block.is_one_line = false;
                }
            } else {
                blocks.push(DocBlock {
                    source,
                    line: doc.line,
                    text: text.trim(),
                    is_one_line: true,
                });
            }
            previous = Some((doc.line, mark));
        }
    }
    blocks
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_impersonal(word: &str) -> bool {
    IMPERSONAL.contains(&word.to_ascii_lowercase().as_str())
}

fn is_term(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    TERM_ENDINGS.iter().any(|ending| {
        let stem = word.strip_suffix(ending);
        stem.is_some_and(|stem| TERMS.contains(&stem))
    })
}

#[test]
fn comments_name_the_actor() {
    check(Measure::ImpersonalWords);
}

#[test]
fn comments_use_terms_of_the_field() {
    check(Measure::FieldTerms);
}

#[test]
fn docs_avoid_pronouns_as_subjects() {
    check(Measure::RiddleDocs);
}

#[test]
fn docs_do_not_repeat_the_name() {
    check(Measure::ThinDocs);
}

#[test]
fn comments_are_wrapped() {
    check(Measure::WideComments);
}

#[test]
fn terms_and_impersonal_words_are_recognized() {
    assert!(
        ["retries", "Queued", "spawning", "timeouts"]
            .into_iter()
            .all(is_term)
    );
    assert!(!["queueing_delay", "walk"].into_iter().any(is_term));
    assert!(is_impersonal("Nobody") && !is_impersonal("body"));
}
