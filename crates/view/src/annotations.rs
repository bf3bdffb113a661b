//! Comment threads on changed files: their files, authors, places in a diff, and the review that
//! sends them to the agent.
//!
//! The protocol has no fields for the author, the time, the side of a diff and the quoted code, so
//! they are in `_meta`. Other clients may leave them out, and a peer may claim anything.

mod meta;
mod place;
mod review;

use agenthost_protocol::annotations::{Annotation, AnnotationEntry, AnnotationsState};
use agenthost_protocol::changeset::ChangesetState;
use agenthost_protocol::common::TextRange;
use agenthost_protocol::ids::{AnnotationEntryId, AnnotationId, ChangesetFileId};
use agenthost_protocol::sorted::{SortedMap, SortedSet, sort_by_key};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

pub use meta::{CommentAuthor, annotation_meta, entry_meta};
pub use place::{ThreadPlace, line_range, quote_lines, thread_places};
pub use review::{MAX_REVIEW_BYTES, ReviewText, compose_review};

use crate::diff::TextSide;
use crate::location::path_of;
use crate::visible_text::{visible_label, visible_prose, visible_text};

/// Threads that are shown; further ones are counted.
pub const MAX_SHOWN_THREADS: usize = 2_000;

/// Comments of a thread that are shown; further ones are counted.
const MAX_SHOWN_ENTRIES: usize = 200;

/// Maximum number of characters of a path or a name.
const MAX_COMMENT_LABEL_CHARS: usize = 300;

/// Maximum number of bytes of a comment that is shown. The host has the same limit.
const MAX_SHOWN_BYTES: usize = 64 * 1024;

/// A comment with its answers on lines of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentThread {
    /// Id of the annotation.
    pub key: AnnotationId,
    /// The file in the open changeset, if it has one with this URI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ChangesetFileId>,
    /// Path of the file.
    pub path: String,
    /// The text of the diff that has the lines.
    pub side: TextSide,
    /// First and last line; the first line of a file is 1. Absent for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The code that the comment is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// `true` if the thread is resolved.
    pub resolved: bool,
    /// Progress of the thread's last change by this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<ThreadDelivery>,
    pub entries: Vec<CommentRow>,
    /// Number of comments that are not shown.
    pub hidden_entries: usize,
    /// Place in the open diff, if the file is the open one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<ThreadPlace>,
}

/// A change that the host has not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ThreadDelivery {
    /// The thread, or a comment in it, was changed.
    Unconfirmed,
    /// The thread is part of a review that is being sent.
    InReview,
}

/// A comment of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentRow {
    /// Id of the entry.
    pub id: AnnotationEntryId,
    /// The text with hidden characters escaped.
    pub text: String,
    /// The text as it was written, if it has hidden characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `true` if the text is cut. It can't be edited then.
    pub cut: bool,
    /// Name of the author's device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// `true` if this client has written the comment.
    pub own: bool,
    /// Time at which the comment was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// `true` if the text was changed later.
    pub edited: bool,
}

/// The numbers of threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentTotals {
    /// Threads that are not resolved.
    pub open: usize,
    pub total: usize,
    /// Threads that are not shown.
    pub hidden: usize,
    /// Open threads by file of the open changeset.
    pub files: SortedMap<ChangesetFileId, usize>,
}

/// The surroundings of threads.
#[derive(Debug, Clone, Copy)]
pub struct ThreadContext<'a> {
    /// Id of this client.
    pub client_id: &'a str,
    pub changeset: Option<&'a ChangesetState>,
    /// Threads with changes of this client that the host has not confirmed.
    pub unconfirmed: &'a SortedSet<AnnotationId>,
    /// Threads in reviews that are being sent.
    pub in_review: &'a SortedSet<AnnotationId>,
}

/// Returns the threads by path and line, without places, and their numbers.
pub fn comment_threads(
    state: &AnnotationsState,
    context: ThreadContext<'_>,
) -> (Vec<CommentThread>, CommentTotals) {
    let files = files_by_uri(context.changeset);
    let mut totals = CommentTotals::default();
    let mut threads = Vec::new();
    for annotation in sorted_annotations(state) {
        let file = files.get(&annotation.resource).copied();
        totals.total += 1;
        if !annotation.resolved {
            totals.open += 1;
            if let Some(file) = file {
                *totals.files.or_default(file.clone()) += 1;
            }
        }
        if threads.len() < MAX_SHOWN_THREADS {
            threads.push(thread_row(annotation, file, context));
        }
    }
    totals.hidden = totals.total - threads.len();
    (threads, totals)
}

/// Returns the first and the last line of a range; the first line of a file is 1.
pub fn lines_of_range(range: TextRange) -> (u32, u32) {
    let number = |line: u64| u32::try_from(line.saturating_add(1)).unwrap_or(u32::MAX);
    let (start, end) = (range.start, range.end);
    // A range that ends before the first character of a line does not have the line.
    let last = match end.character {
        0 if end.line > start.line => end.line - 1,
        _ => end.line,
    };
    (number(start.line), number(last.max(start.line)))
}

/// Returns annotations by path, line and age.
fn sorted_annotations(state: &AnnotationsState) -> Vec<&Annotation> {
    let mut sorted: Vec<_> = state.annotations.items().collect();
    sort_by_key(&mut sorted, |annotation| {
        let first = annotation.range.map_or(0, |range| range.start.line);
        (path_of(&annotation.resource), first)
    });
    sorted
}

fn files_by_uri(changeset: Option<&ChangesetState>) -> SortedMap<&Uri, &ChangesetFileId> {
    let files = changeset
        .into_iter()
        .flat_map(|changeset| changeset.files.items());
    let by_uri = files.flat_map(|file| {
        let sides = [&file.edit.before, &file.edit.after].into_iter().flatten();
        sides.map(move |side| (&side.uri, &file.id))
    });
    by_uri.collect()
}

fn thread_row(
    annotation: &Annotation,
    file: Option<&ChangesetFileId>,
    context: ThreadContext<'_>,
) -> CommentThread {
    let delivery = if context.in_review.contains(&annotation.id) {
        Some(ThreadDelivery::InReview)
    } else if context.unconfirmed.contains(&annotation.id) {
        Some(ThreadDelivery::Unconfirmed)
    } else {
        None
    };
    let entries = annotation.entries.iter().take(MAX_SHOWN_ENTRIES);
    CommentThread {
        key: annotation.id.clone(),
        file: file.cloned(),
        path: visible_label(&path_of(&annotation.resource), MAX_COMMENT_LABEL_CHARS),
        side: meta::side_of(annotation),
        lines: annotation.range.map(lines_of_range),
        quote: meta::quote_of(annotation).map(visible_text),
        resolved: annotation.resolved,
        delivery,
        entries: entries
            .map(|entry| comment_row(entry, context.client_id))
            .collect(),
        hidden_entries: annotation.entries.len().saturating_sub(MAX_SHOWN_ENTRIES),
        place: None,
    }
}

fn comment_row(entry: &AnnotationEntry, client_id: &str) -> CommentRow {
    let whole = entry.text.as_str();
    let source = whole
        .get(..whole.floor_char_boundary(MAX_SHOWN_BYTES))
        .unwrap_or(whole);
    let text = visible_prose(source);
    let author = meta::author_of(entry);
    let name = author
        .as_ref()
        .map(|author| visible_label(&author.name, MAX_COMMENT_LABEL_CHARS));
    CommentRow {
        id: entry.id.clone(),
        source: (text != source).then(|| source.to_owned()),
        text,
        cut: source.len() < whole.len(),
        author: name.filter(|name| !name.is_empty()),
        own: author.is_some_and(|author| author.client_id == client_id),
        at: meta::time_of(entry),
        edited: meta::is_edited(entry),
    }
}

#[cfg(test)]
#[path = "annotations_tests.rs"]
mod tests;
