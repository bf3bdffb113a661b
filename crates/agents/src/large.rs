//! Tool results that are too large for a state.

use std::sync::Arc;

use agenthost_core::SessionKey;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::chat::{ChatAction, ToolResultContent, ToolResultText};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{Contents, LARGEST};

use crate::agent::HostGone;

/// Longest text of a tool result that is part of the state.
const LONGEST: usize = 64 * 1024;

/// How much of a longer one is.
const BEGINNING: usize = 4 * 1024;

/// What text that was put aside is called.
const NAME: &str = "output.txt";

/// Puts the texts of a tool result aside that are too long, and leaves their
/// beginnings and where the whole is (PRT-4).
pub(crate) async fn put_aside(
    contents: &Arc<Contents>,
    session: &Uri,
    mut event: AgentEvent,
) -> Result<AgentEvent, HostGone> {
    if blocks(&mut event).is_none_or(|blocks| !blocks.iter().any(is_long)) {
        return Ok(event);
    }
    let (contents, session) = (Arc::clone(contents), SessionKey::of(session));
    let work = move || {
        if let Some(blocks) = blocks(&mut event) {
            let all = std::mem::take(blocks).into_iter();
            *blocks = all
                .flat_map(|block| shorten(&contents, &session, block))
                .collect();
        }
        event
    };
    // It is ended half-way only when everything is.
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| HostGone)
}

/// The content of a tool result, if that is what happened.
fn blocks(event: &mut AgentEvent) -> Option<&mut Vec<ToolResultContent>> {
    match event {
        AgentEvent::Chat { action, .. } => match &mut **action {
            ChatAction::ToolCallComplete(complete) => complete.result.content.as_mut(),
            _ => None,
        },
        _ => None,
    }
}

fn is_long(block: &ToolResultContent) -> bool {
    matches!(block, ToolResultContent::Text(text) if text.text.len() > LONGEST)
}

/// The beginning of a text that is too long, and where the whole is. What can't
/// be kept is gone, and said to be.
fn shorten(
    contents: &Contents,
    session: &SessionKey,
    block: ToolResultContent,
) -> Vec<ToolResultContent> {
    let ToolResultContent::Text(whole) = block else {
        return vec![block];
    };
    if whole.text.len() <= LONGEST {
        return vec![ToolResultContent::Text(whole)];
    }
    let beginning = up_to(&whole.text, BEGINNING);
    let kept = up_to(&whole.text, usize::try_from(LARGEST).unwrap_or(usize::MAX));
    let mut blocks = vec![text(beginning)];
    match contents.put(session, kept.as_bytes(), NAME) {
        Ok(reference) => blocks.push(ToolResultContent::Resource(reference)),
        Err(error) => blocks.push(text(&format!("(The rest is lost: {error})"))),
    }
    if kept.len() < whole.text.len() {
        let lost = whole.text.len() - kept.len();
        blocks.push(text(&format!("(The last {lost} bytes were too many)")));
    }
    blocks
}

fn text(text: &str) -> ToolResultContent {
    let text = text.to_owned();
    ToolResultContent::Text(ToolResultText { text })
}

/// As much of a text, in whole characters.
fn up_to(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}
