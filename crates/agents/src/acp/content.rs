//! Blocks of content, as the host has them.

use std::path::{Path, PathBuf};

use agenthost_core::code_block;
use agenthost_protocol::chat::{ToolResultContent, ToolResultEmbeddedResource, ToolResultText};
use agenthost_protocol::common::{ContentRef, FileEdit, FileEditDiffStats, FileEditSide};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::uri_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::line_diff::unified;
use super::screens::Scene;
use super::told::Teller;
use super::wire::schema::{
    ContentBlock, Diff, EmbeddedResourceResource, ToolCallContent as Content,
};

/// Longest text of a tool that runs, in bytes.
const RUNNING: usize = 16 * 1024;

/// Most lines of a file, before and after, whose difference is counted.
const COUNTED: usize = 2_000;

/// Most changes of files that are shown with a question.
const MOST_DIFFS: usize = 10;

/// What a tool has produced.
pub(crate) fn results(
    call: &ToolCallId,
    content: &[Content],
    scene: &Scene,
    teller: &mut Teller<'_>,
) -> Vec<ToolResultContent> {
    let mut shown = Vec::new();
    let results = content.iter().flat_map(|content| match content {
        Content::Content(content) => result(&content.content).into_iter().collect(),
        Content::Diff(diff) => {
            let edit = edit(diff, &scene.folder, teller);
            vec![ToolResultContent::FileEdit(edit)]
        }
        Content::Terminal(terminal) => {
            let id = terminal.terminal_id.to_string();
            let blocks = scene.blocks(&id);
            shown.push(id);
            blocks
        }
        // A kind that is not known yet.
        _ => Vec::new(),
    });
    let mut results: Vec<_> = results.collect();
    // Some agents tell of a terminal and never say where to show it.
    for id in scene.of_call(call).filter(|id| !shown.contains(id)) {
        results.extend(scene.blocks(id));
    }
    results
}

/// Leaves only the end of a long text. Agents send what a running tool has
/// written again and again, whole; all of it comes with the result.
pub(crate) fn cut_back(result: &mut ToolResultContent) {
    if let ToolResultContent::Text(text) = result
        && text.text.len() > RUNNING
    {
        let from = text.text.ceil_char_boundary(text.text.len() - RUNNING);
        let end = text.text.get(from..).unwrap_or_default();
        text.text = format!("…{end}");
    }
}

/// The changes of files among what a tool wants to do.
pub(crate) fn edits(content: &[Content], folder: &Path, teller: &mut Teller<'_>) -> Vec<FileEdit> {
    let diffs = content.iter().filter_map(|content| match content {
        Content::Diff(diff) => Some(diff),
        _ => None,
    });
    diffs.map(|diff| edit(diff, folder, teller)).collect()
}

/// The same changes for people to read, as blocks of Markdown.
pub(crate) fn diffs(content: &[Content], folder: &Path) -> Vec<String> {
    let diffs = content.iter().filter_map(|content| match content {
        Content::Diff(diff) => Some(diff),
        _ => None,
    });
    let blocks = diffs.take(MOST_DIFFS).map(|diff| {
        let path = diff.path.strip_prefix(folder).unwrap_or(&diff.path);
        let before = diff.old_text.as_deref();
        let text = unified(&path.to_string_lossy(), before, &diff.new_text);
        code_block("diff", &text)
    });
    blocks.collect()
}

/// The text of what a tool has produced, where it is text.
pub(crate) fn text(results: &[ToolResultContent]) -> Option<String> {
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

/// What is in an answer besides text: content that is referred to.
pub(crate) fn reference(block: &ContentBlock, teller: &mut Teller<'_>) -> Option<ContentRef> {
    match block {
        ContentBlock::Image(image) => data("image", &image.mime_type, &image.data, teller),
        ContentBlock::Audio(audio) => data("audio", &audio.mime_type, &audio.data, teller),
        ContentBlock::ResourceLink(link) => Some(ContentRef {
            uri: Uri::from(link.uri.as_str()),
            size_hint: link.size.and_then(|size| u64::try_from(size).ok()),
            content_type: link.mime_type.clone(),
            nonce: None,
        }),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                let kept = teller.keep(name_of(&text.uri), text.text.clone().into_bytes());
                Some(with_type(kept, text.mime_type.as_deref()))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let bytes = STANDARD.decode(&blob.blob).ok()?;
                let kept = teller.keep(name_of(&blob.uri), bytes);
                Some(with_type(kept, blob.mime_type.as_deref()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn result(block: &ContentBlock) -> Option<ToolResultContent> {
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
                let kind = blob.mime_type.as_deref();
                Some(embedded(
                    &blob.blob,
                    kind.unwrap_or("application/octet-stream"),
                ))
            }
            _ => None,
        },
        _ => None,
    }
}

fn data(what: &str, kind: &str, data: &str, teller: &mut Teller<'_>) -> Option<ContentRef> {
    let bytes = STANDARD.decode(data).ok()?;
    let (_, ending) = kind.split_once('/').unwrap_or_default();
    let kept = teller.keep(&format!("{what}.{ending}"), bytes);
    Some(with_type(kept, Some(kind)))
}

fn with_type(kept: ContentRef, kind: Option<&str>) -> ContentRef {
    ContentRef {
        content_type: kind.map(str::to_owned).or(kept.content_type),
        ..kept
    }
}

fn name_of(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or_default()
}

/// A change of a file, with how it was and how it is to be.
fn edit(diff: &Diff, folder: &Path, teller: &mut Teller<'_>) -> FileEdit {
    let path: PathBuf = folder.join(&diff.path);
    let uri = uri_of(&path);
    let uri = uri.unwrap_or_else(|| Uri::from(diff.path.to_string_lossy().into_owned()));
    let name = path.to_string_lossy();
    let mut side = |text: &str| FileEditSide {
        uri: uri.clone(),
        content: teller.keep(&name, text.as_bytes().to_vec()),
    };
    FileEdit {
        before: diff.old_text.as_deref().map(&mut side),
        after: Some(side(&diff.new_text)),
        diff: count(diff.old_text.as_deref().unwrap_or_default(), &diff.new_text),
    }
}

/// How many lines came and went; nothing for what is too long to tell soon.
fn count(before: &str, after: &str) -> Option<FileEditDiffStats> {
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
    if before.len().max(after.len()) > COUNTED {
        return None;
    }
    // The longest sequence of lines that is in both, row by row.
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
