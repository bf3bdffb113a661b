//! Collects the files that a turn refers to, for rules that apply to certain files.

use std::collections::BTreeSet;

use agenthost_protocol::chat::{Attachment, ChatState, Message, ResponsePart, ToolCall};
use agenthost_protocol::chat::{ToolResultContent, Turn};
use agenthost_protocol::uri::Uri;

/// Number of turns whose edits count. Edits before that are unlikely to concern the next turn.
const RULE_FILE_TURNS: usize = 50;

/// Maximum number of changed files, so that a chat with many edits does not slow down each
/// turn.
const MAX_RULE_FILES: usize = 200;

/// Returns the files that a message refers to, then those that the chat has changed, the latest
/// first.
pub(super) fn rule_files(message: &Message, chat: Option<&ChatState>) -> Vec<Uri> {
    let attachments = message.attachments.iter().flatten();
    let attached = attachments.filter_map(|attachment| match attachment {
        Attachment::Resource(resource) => Some(&resource.content.uri),
        Attachment::Simple(_)
        | Attachment::EmbeddedResource(_)
        | Attachment::Annotations(_)
        | Attachment::Chat(_)
        | Attachment::Unknown(_) => None,
    });
    let turns = chat.into_iter().flat_map(|chat| chat.turns.items().rev());
    let changed = turns
        .take(RULE_FILE_TURNS)
        .flat_map(changed_files)
        .take(MAX_RULE_FILES);
    let mut seen = BTreeSet::new();
    let all = attached.chain(changed);
    all.filter(|uri| seen.insert(*uri)).cloned().collect()
}

/// Returns the files that a turn has changed, as its agent reported them.
fn changed_files(turn: &Turn) -> impl Iterator<Item = &Uri> {
    let parts = turn.response_parts.items().rev();
    let calls = parts.filter_map(ResponsePart::as_tool_call);
    let content = calls.flat_map(|call| {
        let ToolCall::Completed(call) = call else {
            return [].as_slice();
        };
        call.result.content.as_deref().unwrap_or_default()
    });
    content.filter_map(|content| {
        let ToolResultContent::FileEdit(edit) = content else {
            return None;
        };
        edit.after.as_ref().map(|after| &after.uri)
    })
}
