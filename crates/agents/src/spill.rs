//! Spills tool results that are too large for the state into the content store.

use std::sync::Arc;

use agenthost_core::SessionKey;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::chat::{
    ChatAction, ToolResultContent, ToolResultEmbeddedResource, ToolResultText,
};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ContentStore, MAX_FILE_BYTES};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::agent::HostGone;

/// Maximum size in bytes of a text or embedded data of a tool result that stays in the
/// state. Larger ones would slow down snapshots and the log.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Size in bytes of the preview of a spilled text that stays in the state.
const SPILL_PREVIEW_BYTES: usize = 4 * 1024;

/// The file name of a spilled text.
const SPILL_FILE_NAME: &str = "output.txt";

/// Spills the large blocks of a tool result, and leaves a preview and a reference to the
/// stored content (PRT-4).
pub(crate) async fn spill_large_results(
    contents: &Arc<ContentStore>,
    session: &Uri,
    mut event: AgentEvent,
) -> Result<AgentEvent, HostGone> {
    if result_blocks(&mut event).is_none_or(|blocks| !blocks.iter().any(is_large)) {
        return Ok(event);
    }
    let (contents, session) = (Arc::clone(contents), SessionKey::of(session));
    let work = move || {
        if let Some(blocks) = result_blocks(&mut event) {
            let all = std::mem::take(blocks).into_iter();
            *blocks = all
                .flat_map(|block| truncate_result(&contents, &session, block))
                .collect();
        }
        event
    };
    // The blocking task is only cancelled when the runtime shuts down.
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| HostGone)
}

/// Returns the content blocks of an event that completes a tool call.
fn result_blocks(event: &mut AgentEvent) -> Option<&mut Vec<ToolResultContent>> {
    match event {
        AgentEvent::Chat { action, .. } => match &mut **action {
            ChatAction::ToolCallComplete(complete) => complete.result.content.as_mut(),
            _ => None,
        },
        _ => None,
    }
}

fn is_large(block: &ToolResultContent) -> bool {
    match block {
        ToolResultContent::Text(text) => text.text.len() > MAX_INLINE_BYTES,
        ToolResultContent::EmbeddedResource(embedded) => embedded.data.len() > MAX_INLINE_BYTES,
        ToolResultContent::Resource(_)
        | ToolResultContent::FileEdit(_)
        | ToolResultContent::Terminal(_)
        | ToolResultContent::Subagent(_)
        | ToolResultContent::Unknown(_) => false,
    }
}

/// Returns the preview of a text and a reference to the stored text. Text that can't be
/// stored is dropped, and a note replaces it.
fn truncate_result(
    contents: &ContentStore,
    session: &SessionKey,
    block: ToolResultContent,
) -> Vec<ToolResultContent> {
    if !is_large(&block) {
        return vec![block];
    }
    let whole = match block {
        ToolResultContent::Text(whole) => whole,
        ToolResultContent::EmbeddedResource(embedded) => {
            return vec![store_embedded(contents, session, embedded)];
        }
        other => return vec![other],
    };
    let preview = floor_char_boundary(&whole.text, SPILL_PREVIEW_BYTES);
    let stored = floor_char_boundary(
        &whole.text,
        usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX),
    );
    let mut blocks = vec![text_block(preview)];
    match contents.insert(session, stored.as_bytes(), SPILL_FILE_NAME) {
        Ok(reference) => blocks.push(ToolResultContent::Resource(reference)),
        Err(error) => blocks.push(text_block(&format!("(The rest was not stored: {error})"))),
    }
    if stored.len() < whole.text.len() {
        let lost = whole.text.len() - stored.len();
        blocks.push(text_block(&format!(
            "(The last {lost} bytes were dropped: the result is too large)"
        )));
    }
    blocks
}

/// Stores embedded data, such as an image, and returns a reference to it. Data that is not
/// base64 is replaced by a note, because no client can show it.
fn store_embedded(
    contents: &ContentStore,
    session: &SessionKey,
    embedded: ToolResultEmbeddedResource,
) -> ToolResultContent {
    let Ok(bytes) = STANDARD.decode(&embedded.data) else {
        return text_block("(Embedded data was dropped: it is not base64)");
    };
    let kind = embedded.content_type;
    let ending = kind.split_once('/').map_or("bin", |(_, ending)| ending);
    match contents.insert(session, &bytes, &format!("data.{ending}")) {
        Ok(reference) => ToolResultContent::Resource(ContentRef {
            content_type: Some(kind),
            ..reference
        }),
        Err(error) => text_block(&format!("(Embedded data was not stored: {error})")),
    }
}

fn text_block(text: &str) -> ToolResultContent {
    let text = text.to_owned();
    ToolResultContent::Text(ToolResultText { text })
}

/// Returns the longest prefix of whole characters that fits into a number of bytes.
fn floor_char_boundary(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}
