//! Spills tool results that are too large for the state into the content store.

use std::sync::Arc;
use std::time::Duration;

use agenthost_core::SessionKey;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::chat::{
    ChatAction, ToolResultContent, ToolResultEmbeddedResource, ToolResultText,
};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::disk_space::StorageProblem;
use agenthost_workspace::{ContentError, ContentStore, MAX_FILE_BYTES};
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

/// Interval at which a result is stored again while the disk is full.
const FULL_DISK_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The large blocks of a tool result could not be stored, because there is no space.
struct NoSpace;

/// Spills the large blocks of a tool result, and leaves a preview and a reference to the
/// stored content (PRT-4). On a full disk it waits until there is space, and so does the agent.
pub(crate) async fn spill_large_results(
    contents: &Arc<ContentStore>,
    session: &Uri,
    mut event: AgentEvent,
) -> Result<AgentEvent, HostGone> {
    if result_blocks(&mut event).is_none_or(|blocks| !blocks.iter().any(is_large)) {
        return Ok(event);
    }
    let session = SessionKey::of(session);
    loop {
        let (contents, session) = (Arc::clone(contents), session.clone());
        let work = move || {
            let spilled = spill_blocks(&contents, &session, &mut event);
            (event, spilled)
        };
        // The blocking task is only cancelled when the runtime shuts down.
        let done = tokio::task::spawn_blocking(work).await;
        let spilled;
        (event, spilled) = done.map_err(|_| HostGone)?;
        match spilled {
            Ok(()) => return Ok(event),
            Err(NoSpace) => tokio::time::sleep(FULL_DISK_RETRY_INTERVAL).await,
        }
    }
}

/// Spills the large blocks of an event. Blocks without space stay as they are.
fn spill_blocks(
    contents: &ContentStore,
    session: &SessionKey,
    event: &mut AgentEvent,
) -> Result<(), NoSpace> {
    let mut result = Ok(());
    if let Some(blocks) = result_blocks(event) {
        for block in std::mem::take(blocks) {
            match truncate_result(contents, session, &block) {
                Ok(Some(replacement)) => blocks.extend(replacement),
                Ok(None) => blocks.push(block),
                Err(NoSpace) => {
                    blocks.push(block);
                    result = Err(NoSpace);
                }
            }
        }
    }
    result
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

/// Returns the preview of a large text and a reference to the stored text; `None` for a small
/// block. Text that can't be stored is dropped, and a note replaces it.
fn truncate_result(
    contents: &ContentStore,
    session: &SessionKey,
    block: &ToolResultContent,
) -> Result<Option<Vec<ToolResultContent>>, NoSpace> {
    if !is_large(block) {
        return Ok(None);
    }
    let whole = match block {
        ToolResultContent::Text(whole) => &whole.text,
        ToolResultContent::EmbeddedResource(embedded) => {
            return Ok(Some(vec![store_embedded(contents, session, embedded)?]));
        }
        _ => return Ok(None),
    };
    let preview = floor_char_boundary(whole, SPILL_PREVIEW_BYTES);
    let stored = floor_char_boundary(whole, usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX));
    let mut blocks = vec![text_block(preview)];
    match insert(contents, session, stored.as_bytes(), SPILL_FILE_NAME)? {
        Ok(reference) => blocks.push(ToolResultContent::Resource(reference)),
        Err(error) => blocks.push(text_block(&format!("(The rest was not stored: {error})"))),
    }
    if stored.len() < whole.len() {
        let lost = whole.len() - stored.len();
        blocks.push(text_block(&format!(
            "(The last {lost} bytes were dropped: the result is too large)"
        )));
    }
    Ok(Some(blocks))
}

/// Stores embedded data, such as an image, and returns a reference to it. Data that is not
/// base64 is replaced by a note, because no client can show it.
fn store_embedded(
    contents: &ContentStore,
    session: &SessionKey,
    embedded: &ToolResultEmbeddedResource,
) -> Result<ToolResultContent, NoSpace> {
    let Ok(bytes) = STANDARD.decode(&embedded.data) else {
        return Ok(text_block("(Embedded data was dropped: it is not base64)"));
    };
    let kind = &embedded.content_type;
    let ending = kind.split_once('/').map_or("bin", |(_, ending)| ending);
    let stored = insert(contents, session, &bytes, &format!("data.{ending}"))?;
    Ok(match stored {
        Ok(reference) => ToolResultContent::Resource(ContentRef {
            content_type: Some(kind.clone()),
            ..reference
        }),
        Err(error) => text_block(&format!("(Embedded data was not stored: {error})")),
    })
}

/// Stores content. A full disk is a temporary failure, unlike any other error.
fn insert(
    contents: &ContentStore,
    session: &SessionKey,
    bytes: &[u8],
    name: &str,
) -> Result<Result<ContentRef, ContentError>, NoSpace> {
    match contents.insert(session, bytes, name) {
        Err(ContentError::Io(error)) if StorageProblem::of(&error).is_some() => Err(NoSpace),
        stored => Ok(stored),
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
