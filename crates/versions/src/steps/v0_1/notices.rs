//! Notifications in an answer, which 0.1 has as text of the agent.
//!
//! A part of text has an id in 0.1. That of a notification is made from what
//! it says, so that it is the same in an action and in every snapshot after;
//! if a turn says the same twice, the second has a number.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ActiveTurn, ResponsePart};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::edit::{list_mut, object_mut, remove_fields, set_field, text_field};
use crate::state_source::TranslationContext;

/// Makes the notifications of a turn text.
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

/// Makes the part that an action adds text, if it is a notification.
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

/// What a part says, if it is a notification.
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
        // The error of a turn that goes on is told as a notification.
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

/// FNV-1a: a host that was started anew has to come to the same.
fn fingerprint(said: &str) -> u64 {
    said.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
