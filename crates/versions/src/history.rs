//! Older turns, as they were asked for up to 0.5.0.
//!
//! Newer clients have a page loaded into the state that all of them see. These
//! name the turn that they want to look behind, and get what was before it in
//! the answer.

use std::sync::Arc;

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::chain::Chain;
use crate::edit::text;
use crate::step::Refused;
use crate::world::Moment;

/// Most turns in one answer.
const MOST: usize = 100;

/// Answers `fetchTurns{before, limit}` of a client of 0.5.0 or older:
/// `{turns, hasMore}`, the oldest turn first. Up to 0.3 the channel is a
/// session, and what is meant is the chat that the client sees as one.
pub fn turns(chain: Chain, at: &Moment<'_>, params: &Object) -> Result<Json, Refused> {
    let channel = text(params, "channel").or_else(|| text(params, "session"));
    let Some(channel) = channel else {
        return Err(Refused::Invalid("`fetchTurns` names no channel".to_owned()));
    };
    let Some(chat) = chat(at, &Uri::from(channel)) else {
        let channel: String = channel.chars().take(100).collect();
        return Err(Refused::Unknown(format!("there is no chat `{channel}`")));
    };
    let end = match params.get("before") {
        Some(Json::String(turn)) => end_before(&chat, turn)?,
        None | Some(Json::Null) => chat.turns.len(),
        Some(_) => return Err(wrong("before", "the name of a turn")),
    };
    let limit = match params.get("limit") {
        None | Some(Json::Null) => MOST,
        Some(limit) => {
            let limit = limit.as_u64().filter(|limit| *limit > 0);
            let limit = limit.ok_or_else(|| wrong("limit", "a whole number of turns"))?;
            usize::try_from(limit).unwrap_or(MOST).min(MOST)
        }
    };
    let start = end.saturating_sub(limit);
    let mut turns = Vec::new();
    for turn in chat.turns.items().take(end).skip(start) {
        let turn = chain.part(at, "Turn", turn);
        let turn = turn.map_err(|lost| Refused::Invalid(lost.to_string()))?;
        turns.extend(turn.map(Json::Object));
    }
    Ok(json!({ "turns": turns, "hasMore": start > 0 }))
}

fn wrong(field: &str, expected: &str) -> Refused {
    Refused::Invalid(format!("{field}: expected {expected}"))
}

fn chat(at: &Moment<'_>, channel: &Uri) -> Option<Arc<ChatState>> {
    at.world.chat(channel).or_else(|| {
        let shown = at.viewer.chat_of(channel).cloned();
        let chat = shown.or_else(|| at.world.default_chat(channel))?;
        at.world.chat(&chat)
    })
}

/// How many turns there are before the one of a name.
fn end_before(chat: &ChatState, turn: &str) -> Result<usize, Refused> {
    if let Some(index) = chat.turns.find(|other| other.id.as_str() == turn) {
        return Ok(index);
    }
    let active = chat.active_turn.as_ref();
    if active.is_some_and(|active| active.id.as_str() == turn) {
        return Ok(chat.turns.len());
    }
    let turn: String = turn.chars().take(100).collect();
    Err(Refused::Invalid(format!("there is no turn `{turn}`")))
}
