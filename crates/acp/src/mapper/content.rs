//! Converts ACP content blocks to AHP tool results and content references.

use std::path::{Path, PathBuf};

use agenthost_core::code_block;
use agenthost_protocol::chat::{ToolResultContent, ToolResultEmbeddedResource, ToolResultText};
use agenthost_protocol::common::{ContentRef, FileEdit, FileEditDiffStats, FileEditSide};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::uri_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::events::EventCollector;
use super::line_diff::unified_diff;
use super::terminal_views::CallTerminals;
use crate::transport::schema::{
    ContentBlock, Diff, EmbeddedResourceResource, ToolCallContent as Content,
};

/// The maximum number of bytes of text that are published of a running tool call.
const MAX_RUNNING_OUTPUT_BYTES: usize = 16 * 1024;

/// The maximum number of lines, before or after, for which changed lines are counted. The count
/// takes quadratic time.
const MAX_COUNTED_LINES: usize = 2_000;

/// The maximum number of bytes of all diffs in the message of a permission request. The message is
/// part of the state of its session.
const MAX_MESSAGE_DIFF_BYTES: usize = 128 * 1024;

/// The diffs in the message of a permission request.
#[derive(Debug, Default)]
pub(crate) struct MessageDiffs {
    /// Markdown blocks, one for each file.
    pub(crate) blocks: Vec<String>,
    /// Lines of the diffs that did not fit.
    pub(crate) omitted_lines: usize,
}

/// Converts the content of a tool call to tool results.
pub(crate) fn to_results(
    call: &ToolCallId,
    content: &[Content],
    terminals: &CallTerminals,
    collector: &mut EventCollector<'_>,
) -> Vec<ToolResultContent> {
    let mut shown_ids = Vec::new();
    let results = content.iter().flat_map(|content| match content {
        Content::Content(content) => to_result(&content.content).into_iter().collect(),
        Content::Diff(diff) => {
            let edit = to_file_edit(diff, &terminals.folder, collector);
            vec![ToolResultContent::FileEdit(edit)]
        }
        Content::Terminal(terminal) => {
            let id = terminal.terminal_id.to_string();
            let blocks = terminals.result_blocks(&id);
            shown_ids.push(id);
            blocks
        }
        // A kind that this version does not know.
        _ => Vec::new(),
    });
    let mut results: Vec<_> = results.collect();
    // Some agents report a terminal without referring to it in the content.
    for id in terminals
        .terminals_of(call)
        .filter(|id| !shown_ids.contains(id))
    {
        results.extend(terminals.result_blocks(id));
    }
    results
}

/// Keeps only the end of a long text. Agents send the output of a running tool again and again
/// in full; the result contains all of it.
pub(crate) fn truncate_running_output(result: &mut ToolResultContent) {
    if let ToolResultContent::Text(text) = result
        && text.text.len() > MAX_RUNNING_OUTPUT_BYTES
    {
        let start = text
            .text
            .ceil_char_boundary(text.text.len() - MAX_RUNNING_OUTPUT_BYTES);
        let end = text.text.get(start..).unwrap_or_default();
        text.text = format!("…{end}");
    }
}

/// Converts the diffs in the content of a tool call to file edits.
pub(crate) fn file_edits(
    content: &[Content],
    folder: &Path,
    collector: &mut EventCollector<'_>,
) -> Vec<FileEdit> {
    let diffs = content.iter().filter_map(|content| match content {
        Content::Diff(diff) => Some(diff),
        _ => None,
    });
    diffs
        .map(|diff| to_file_edit(diff, folder, collector))
        .collect()
}

/// Renders the diffs in the content of a tool call as Markdown blocks, for users.
pub(crate) fn message_diffs(content: &[Content], folder: &Path) -> MessageDiffs {
    let mut shown = MessageDiffs::default();
    let mut max_bytes = MAX_MESSAGE_DIFF_BYTES;
    for content in content {
        let Content::Diff(diff) = content else {
            continue;
        };
        let path = diff.path.strip_prefix(folder).unwrap_or(&diff.path);
        let path = path.to_string_lossy();
        let diff = unified_diff(&path, diff.old_text.as_deref(), &diff.new_text, max_bytes);
        max_bytes = max_bytes.saturating_sub(diff.text.len());
        shown.omitted_lines += diff.omitted_lines;
        shown.blocks.push(code_block("diff", &diff.text));
    }
    shown
}

/// Joins the text results of a tool call.
pub(crate) fn joined_text(results: &[ToolResultContent]) -> Option<String> {
    let texts = results.iter().filter_map(|result| match result {
        ToolResultContent::Text(text) => Some(text.text.as_str()),
        ToolResultContent::EmbeddedResource(_)
        | ToolResultContent::Resource(_)
        | ToolResultContent::FileEdit(_)
        | ToolResultContent::Terminal(_)
        | ToolResultContent::Subagent(_)
        | ToolResultContent::Unknown(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

/// Converts a block of a response that is not text to a content reference.
pub(crate) fn to_content_ref(
    block: &ContentBlock,
    collector: &mut EventCollector<'_>,
) -> Option<ContentRef> {
    match block {
        ContentBlock::Image(image) => store_data("image", &image.mime_type, &image.data, collector),
        ContentBlock::Audio(audio) => store_data("audio", &audio.mime_type, &audio.data, collector),
        ContentBlock::ResourceLink(link) => Some(ContentRef {
            uri: Uri::from(link.uri.as_str()),
            size_hint: link.size.and_then(|size| u64::try_from(size).ok()),
            content_type: link.mime_type.clone(),
            nonce: None,
        }),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                let reference =
                    collector.store_content(file_name(&text.uri), text.text.clone().into_bytes());
                Some(with_type(reference, text.mime_type.as_deref()))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let bytes = STANDARD.decode(&blob.blob).ok()?;
                let reference = collector.store_content(file_name(&blob.uri), bytes);
                Some(with_type(reference, blob.mime_type.as_deref()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn to_result(block: &ContentBlock) -> Option<ToolResultContent> {
    let embedded = |data: &str, content_type: &str| {
        ToolResultContent::EmbeddedResource(ToolResultEmbeddedResource {
            data: data.to_owned(),
            content_type: content_type.to_owned(),
        })
    };
    let text = |text: &str| {
        ToolResultContent::Text(ToolResultText {
            text: text.to_owned(),
        })
    };
    match block {
        ContentBlock::Text(content) => Some(text(&content.text)),
        ContentBlock::Image(image) => Some(embedded(&image.data, &image.mime_type)),
        ContentBlock::Audio(audio) => Some(embedded(&audio.data, &audio.mime_type)),
        ContentBlock::ResourceLink(link) => Some(ToolResultContent::Resource(ContentRef {
            uri: Uri::from(link.uri.as_str()),
            size_hint: link.size.and_then(|size| u64::try_from(size).ok()),
            content_type: link.mime_type.clone(),
            nonce: None,
        })),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(content) => Some(text(&content.text)),
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let mime_type = blob.mime_type.as_deref();
                Some(embedded(
                    &blob.blob,
                    mime_type.unwrap_or("application/octet-stream"),
                ))
            }
            _ => None,
        },
        _ => None,
    }
}

fn store_data(
    stem: &str,
    mime_type: &str,
    data: &str,
    collector: &mut EventCollector<'_>,
) -> Option<ContentRef> {
    let bytes = STANDARD.decode(data).ok()?;
    let (_, extension) = mime_type.split_once('/').unwrap_or_default();
    let reference = collector.store_content(&format!("{stem}.{extension}"), bytes);
    Some(with_type(reference, Some(mime_type)))
}

fn with_type(reference: ContentRef, mime_type: Option<&str>) -> ContentRef {
    ContentRef {
        content_type: mime_type.map(str::to_owned).or(reference.content_type),
        ..reference
    }
}

fn file_name(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or_default()
}

/// Converts a diff to a file edit, with the content before and after it.
fn to_file_edit(diff: &Diff, folder: &Path, collector: &mut EventCollector<'_>) -> FileEdit {
    let path: PathBuf = folder.join(&diff.path);
    let uri = uri_of(&path);
    let uri = uri.unwrap_or_else(|| Uri::from(diff.path.to_string_lossy().into_owned()));
    let name = path.to_string_lossy();
    let mut side = |text: &str| FileEditSide {
        uri: uri.clone(),
        content: collector.store_content(&name, text.as_bytes().to_vec()),
    };
    FileEdit {
        before: diff.old_text.as_deref().map(&mut side),
        after: Some(side(&diff.new_text)),
        diff: count_changed_lines(diff.old_text.as_deref().unwrap_or_default(), &diff.new_text),
    }
}

/// Counts the added and removed lines; `None` if there are too many lines.
fn count_changed_lines(before: &str, after: &str) -> Option<FileEditDiffStats> {
    let (mut before, mut after): (Vec<_>, Vec<_>) =
        (before.lines().collect(), after.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = before.iter().zip(&after).take_while(same).count();
    before.drain(..head);
    after.drain(..head);
    let tail = before.iter().rev().zip(after.iter().rev());
    let tail = tail.take_while(same).count();
    before.truncate(before.len() - tail);
    after.truncate(after.len() - tail);
    if before.len().max(after.len()) > MAX_COUNTED_LINES {
        return None;
    }
    // Computes the longest common subsequence of lines, row by row.
    let mut row = vec![0_usize; after.len() + 1];
    for line in &before {
        let mut diagonal = 0;
        let mut left = 0;
        for (cell, other) in row.iter_mut().skip(1).zip(&after) {
            let above = *cell;
            *cell = if line == other {
                diagonal + 1
            } else {
                above.max(left)
            };
            diagonal = above;
            left = *cell;
        }
    }
    let common = row.last().copied().unwrap_or_default();
    Some(FileEditDiffStats {
        added: Some((after.len() - common) as u64),
        removed: Some((before.len() - common) as u64),
    })
}
