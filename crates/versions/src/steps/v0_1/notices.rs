//! Notifications in an answer, which 0.1 has as text of the agent.
//!
//! A part of text has an id in 0.1. That of a notification is made from what
//! it says, so that it is the same in an action and in every snapshot after;
//! if a turn says the same twice, the second has a number.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ActiveTurn, ResponsePart};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::edit::{list_mut, object_mut, remove, set, text};
use crate::world::Moment;

/// Makes the notifications of a turn text.
pub(super) fn in_turn(turn: &mut Object) {
    let id = text(turn, "id").unwrap_or_default().to_owned();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let parts = list_mut(turn, "responseParts").into_iter().flatten();
    for part in parts.filter_map(Json::as_object_mut) {
        if let Some(said) = notice(part) {
            let count = times.entry(said.clone()).or_default();
            *count += 1;
            make_text(part, &id, said, *count);
        }
    }
}

/// Makes the part that an action adds text, if it is a notification.
pub(super) fn in_action(at: &Moment<'_>, channel: &Uri, action: &mut Object) {
    let id = text(action, "turnId").unwrap_or_default().to_owned();
    let Some(part) = object_mut(action, "part") else {
        return;
    };
    let Some(said) = notice(part) else {
        return;
    };
    let chat = at.world.chat(channel).or_else(|| {
        let behind = at.chat_behind(channel)?;
        at.world.chat(&behind)
    });
    let turn = chat.and_then(|chat| chat.active_turn.clone());
    let times = turn.map_or(1, |turn| times_said(&turn, &said));
    make_text(part, &id, said, times.max(1));
}

/// What a part says, if it is a notification.
fn notice(part: &Object) -> Option<String> {
    if text(part, "kind") != Some("systemNotification") {
        return None;
    }
    let content = part.get("content")?;
    let markdown = content.get("markdown").unwrap_or(content);
    markdown.as_str().map(str::to_owned)
}

fn times_said(turn: &ActiveTurn, said: &str) -> usize {
    let parts = turn.response_parts.items();
    let same = parts.filter(|part| match part {
        ResponsePart::SystemNotification(notice) => notice.content.as_str() == said,
        // The error of a turn that goes on is told as a notification.
        ResponsePart::Error(failed) => failed.error.message == said,
        _ => false,
    });
    same.count()
}

fn make_text(part: &mut Object, turn: &str, said: String, times: usize) {
    let mut id = format!("notification-{turn}-{:016x}", fingerprint(&said));
    if times > 1 {
        id = format!("{id}-{times}");
    }
    remove(part, &["_meta"]);
    set(part, "kind", "markdown");
    set(part, "id", id);
    set(part, "content", said);
}

/// FNV-1a: a host that was started anew has to come to the same.
fn fingerprint(said: &str) -> u64 {
    said.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
