//! Converts system notifications in a response to text parts, because 0.1 has none.
//!
//! A text part has an id in 0.1. The id of a notification is derived from its text, so that it
//! is the same in an action and in every later snapshot. If a turn contains the same text
//! again, the id gets a counter.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ActiveTurn, ResponsePart};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::edit::{list_mut, object_mut, remove_fields, set_field, text_field};
use crate::state_source::TranslationContext;

/// Converts the notifications of a turn to text parts.
pub(super) fn downgrade_turn_notices(turn: &mut Object) {
    let id = text_field(turn, "id").unwrap_or_default().to_owned();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let parts = list_mut(turn, "responseParts").into_iter().flatten();
    for part in parts.filter_map(Json::as_object_mut) {
        if let Some(said) = notice_text(part) {
            let count = times.entry(said.clone()).or_default();
            *count += 1;
            to_text_part(part, &id, said, *count);
        }
    }
}

/// Converts the part that an action adds, if it is a notification.
pub(super) fn downgrade_added_notice(
    context: &TranslationContext<'_>,
    channel: &Uri,
    action: &mut Object,
) {
    let id = text_field(action, "turnId").unwrap_or_default().to_owned();
    let Some(part) = object_mut(action, "part") else {
        return;
    };
    let Some(said) = notice_text(part) else {
        return;
    };
    let chat = context.states.chat(channel).or_else(|| {
        let behind = context.chat_for_session(channel)?;
        context.states.chat(&behind)
    });
    let turn = chat.and_then(|chat| chat.active_turn.clone());
    let times = turn.map_or(1, |turn| count_notice(&turn, &said));
    to_text_part(part, &id, said, times.max(1));
}

/// Returns the text of a part, if it is a notification.
fn notice_text(part: &Object) -> Option<String> {
    if text_field(part, "kind") != Some("systemNotification") {
        return None;
    }
    let content = part.get("content")?;
    let markdown = content.get("markdown").unwrap_or(content);
    markdown.as_str().map(str::to_owned)
}

fn count_notice(turn: &ActiveTurn, said: &str) -> usize {
    let parts = turn.response_parts.items();
    let same = parts.filter(|part| match part {
        ResponsePart::SystemNotification(notice) => notice.content.as_str() == said,
        // The error of a resumed turn is downgraded to a notification.
        ResponsePart::Error(failed) => failed.error.message == said,
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::ToolCall(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Unknown(_) => false,
    });
    same.count()
}

fn to_text_part(part: &mut Object, turn: &str, said: String, times: usize) {
    let mut id = format!("notification-{turn}-{:016x}", fingerprint(&said));
    if times > 1 {
        id = format!("{id}-{times}");
    }
    remove_fields(part, &["_meta"]);
    set_field(part, "kind", "markdown");
    set_field(part, "id", id);
    set_field(part, "content", said);
}

/// FNV-1a hash. It must be stable, because the ids have to be the same after a restart of the
/// host.
fn fingerprint(said: &str) -> u64 {
    said.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
