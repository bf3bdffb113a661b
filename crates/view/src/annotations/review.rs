//! The review: open comments as one message to the agent.

use agenthost_protocol::annotations::{Annotation, AnnotationsState};
use agenthost_protocol::ids::AnnotationId;
use agenthost_protocol::sorted::SortedSet;
use serde::Serialize;

use super::{MAX_COMMENT_LABEL_CHARS, lines_of_range, meta, sorted_annotations};
use crate::diff::TextSide;
use crate::location::path_of;
use crate::visible_text::{visible_label, visible_prose};

/// Maximum size of a review. Comments that do not fit stay open.
pub const MAX_REVIEW_BYTES: usize = 256 * 1024;

/// A review that can be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewText {
    pub text: String,
    /// The message with hidden characters escaped.
    pub visible: String,
    /// The threads in it.
    pub keys: Vec<AnnotationId>,
    /// Number of open threads that do not fit.
    pub left_out: usize,
}

/// Composes a review of the open threads, except those in `excluded`. `folder` is the path that
/// file names are relative to.
pub fn compose_review(
    state: &AnnotationsState,
    excluded: &SortedSet<AnnotationId>,
    folder: Option<&str>,
    summary: &str,
) -> ReviewText {
    let open = sorted_annotations(state);
    let open = open.into_iter();
    let open = open.filter(|annotation| !annotation.resolved && !excluded.contains(&annotation.id));
    let mut size = summary.len();
    let mut sections = Vec::new();
    let mut keys = Vec::new();
    let mut paths = SortedSet::new();
    let mut left_out = 0;
    for annotation in open {
        let section = thread_section(annotation, keys.len() + 1, folder);
        if size + section.len() > MAX_REVIEW_BYTES {
            left_out += 1;
            continue;
        }
        size += section.len();
        sections.push(section);
        keys.push(annotation.id.clone());
        paths.insert(&annotation.resource);
    }
    let title = format!(
        "Please work on my review: {} in {}.",
        counted(keys.len(), "comment"),
        counted(paths.len(), "file")
    );
    let summary = summary.trim();
    let mut parts = vec![title];
    if !summary.is_empty() {
        parts.push(summary.to_owned());
    }
    parts.extend(sections);
    let text = parts.join("\n\n");
    ReviewText {
        visible: visible_prose(&text),
        text,
        keys,
        left_out,
    }
}

fn thread_section(annotation: &Annotation, number: usize, folder: Option<&str>) -> String {
    let path = path_of(&annotation.resource);
    let inner = folder
        .and_then(|folder| path.strip_prefix(folder.trim_end_matches('/')))
        .and_then(|rest| rest.strip_prefix('/'));
    let path = visible_label(inner.unwrap_or(&path), MAX_COMMENT_LABEL_CHARS);
    let lines = annotation.range.map(lines_of_range);
    let lines = match lines {
        None => String::new(),
        Some((first, last)) if first == last => format!(", line {first}"),
        Some((first, last)) => format!(", lines {first}-{last}"),
    };
    let version = match meta::side_of(annotation) {
        TextSide::Before if annotation.range.is_some() => " of the old version",
        TextSide::Before | TextSide::After => "",
    };
    let mut section = format!("{number}. {path}{lines}{version}");
    if let Some(quote) = meta::quote_of(annotation).filter(|quote| !quote.is_empty()) {
        let fence = fence_of(quote);
        section.push_str(&format!("\n\n{fence}\n{quote}\n{fence}"));
    }
    for entry in &annotation.entries {
        section.push_str("\n\n");
        section.push_str(entry.text.as_str().trim());
    }
    section
}

/// Returns a fence that is longer than every run of backticks in the code.
fn fence_of(code: &str) -> String {
    let runs = code.split(|letter| letter != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or_default().max(2) + 1)
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
