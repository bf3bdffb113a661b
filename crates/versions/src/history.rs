//! Answers `fetchTurns` for clients up to 0.5.0.
//!
//! In later releases, `fetchTurns` loads a page into the state that all subscribers share. Up
//! to 0.5.0, the request names a turn, and the response contains the turns before it.

use std::sync::Arc;

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::chain::VersionChain;
use crate::edit::text_field;
use crate::state_source::TranslationContext;
use crate::step::UpgradeRefusal;

/// Maximum number of turns in a response, which bounds its size.
const MAX_TURNS_PER_PAGE: usize = 100;

/// Answers `fetchTurns{before, limit}` of a client up to 0.5.0 with `{turns, hasMore}`, oldest
/// turn first. Up to 0.3 the channel is a session, and the request refers to the chat that is
/// merged with this session for the client.
pub fn answer_fetch_turns(
    chain: VersionChain,
    context: &TranslationContext<'_>,
    params: &Object,
) -> Result<Json, UpgradeRefusal> {
    let channel = text_field(params, "channel").or_else(|| text_field(params, "session"));
    let Some(channel) = channel else {
        return Err(UpgradeRefusal::Invalid(
            "`fetchTurns` names no channel".to_owned(),
        ));
    };
    let Some(chat) = find_chat(context, &Uri::from(channel)) else {
        let channel: String = channel.chars().take(100).collect();
        return Err(UpgradeRefusal::Unknown(format!(
            "there is no chat `{channel}`"
        )));
    };
    let end = match params.get("before") {
        Some(Json::String(turn)) => turn_count_before(&chat, turn)?,
        None | Some(Json::Null) => chat.turns.len(),
        Some(_) => return Err(invalid_field("before", "the id of a turn")),
    };
    let limit = match params.get("limit") {
        None | Some(Json::Null) => MAX_TURNS_PER_PAGE,
        Some(limit) => {
            let limit = limit.as_u64().filter(|limit| *limit > 0);
            let limit = limit.ok_or_else(|| invalid_field("limit", "a whole number of turns"))?;
            usize::try_from(limit)
                .unwrap_or(MAX_TURNS_PER_PAGE)
                .min(MAX_TURNS_PER_PAGE)
        }
    };
    let start = end.saturating_sub(limit);
    let mut turns = Vec::new();
    for turn in chat.turns.items().take(end).skip(start) {
        let turn = chain.downgrade_part(context, "Turn", turn);
        let turn = turn.map_err(|lost| UpgradeRefusal::Invalid(lost.to_string()))?;
        turns.extend(turn.map(Json::Object));
    }
    Ok(json!({ "turns": turns, "hasMore": start > 0 }))
}

fn invalid_field(field: &str, expected: &str) -> UpgradeRefusal {
    UpgradeRefusal::Invalid(format!("{field}: expected {expected}"))
}

fn find_chat(context: &TranslationContext<'_>, channel: &Uri) -> Option<Arc<ChatState>> {
    context.states.chat(channel).or_else(|| {
        let shown = context.client.chat_of(channel).cloned();
        let chat = shown.or_else(|| context.states.default_chat(channel))?;
        context.states.chat(&chat)
    })
}

/// Returns the number of turns before the turn with the given id.
fn turn_count_before(chat: &ChatState, turn: &str) -> Result<usize, UpgradeRefusal> {
    if let Some(index) = chat.turns.find(|other| other.id.as_str() == turn) {
        return Ok(index);
    }
    let active = chat.active_turn.as_ref();
    if active.is_some_and(|active| active.id.as_str() == turn) {
        return Ok(chat.turns.len());
    }
    let turn: String = turn.chars().take(100).collect();
    Err(UpgradeRefusal::Invalid(format!(
        "there is no turn `{turn}`"
    )))
}
