//! Large states are cheap to share, and what is shared does not change.

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ActiveTurn, ChatState};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;
use serde_json::json;

fn message() -> serde_json::Value {
    json!({"text": "go", "origin": {"kind": "user"}})
}

fn chat(turns: usize, parts: usize) -> ChannelState {
    let turn = |n: usize| {
        json!({
            "id": format!("t{n}"), "message": message(), "state": "complete",
            "responseParts": [{"kind": "markdown", "id": "p", "content": "x"}],
        })
    };
    let part = |n: usize| json!({"kind": "markdown", "id": format!("p{n}"), "content": "x"});
    let chat = json!({
        "resource": "ahp-chat:/1", "title": "", "status": 8,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": (0..turns).map(turn).collect::<Vec<_>>(),
        "activeTurn": {
            "id": "now", "startedAt": "2026-01-01T00:00:00.000Z", "message": message(),
            "responseParts": (0..parts).map(part).collect::<Vec<_>>(),
        },
    });
    wire::from_str(&chat.to_string()).unwrap()
}

fn state(channel: &ChannelState) -> &ChatState {
    let ChannelState::Chat(chat) = channel else {
        panic!("expected a chat");
    };
    chat
}

fn active(channel: &ChannelState) -> &ActiveTurn {
    state(channel).active_turn.as_ref().unwrap()
}

fn delta(part: &str) -> Action {
    let json = json!({"type": "chat/delta", "turnId": "now", "partId": part, "content": "!"});
    wire::from_str(&json.to_string()).unwrap()
}

#[test]
fn a_snapshot_shares_the_state() {
    let original = chat(100, 10);
    let snapshot = original.clone();
    assert!(std::ptr::eq(state(&original), state(&snapshot)));
}

#[test]
fn a_change_copies_only_the_parts_that_it_modifies() {
    let mut original = chat(100, 10);
    let snapshot = original.clone();
    assert_eq!(original.reduce(&delta("p9")), Outcome::Applied);

    let text = |channel: &ChannelState, part: usize| {
        serde_json::to_value(active(channel).response_parts.item(part)).unwrap()["content"].clone()
    };
    assert_eq!(text(&original, 9), json!("x!"));
    assert_eq!(text(&snapshot, 9), json!("x"));
    // The turns are still the same list, and so is every other part.
    let (before, after) = (state(&snapshot), state(&original));
    assert!(std::ptr::eq(&before.turns[..], &after.turns[..]));
    for index in 0..9 {
        assert!(Arc::ptr_eq(
            &active(&snapshot).response_parts[index],
            &active(&original).response_parts[index],
        ));
    }
    assert!(!Arc::ptr_eq(
        &active(&snapshot).response_parts[9],
        &active(&original).response_parts[9],
    ));
}

#[test]
fn a_change_of_an_unshared_state_copies_nothing() {
    let mut original = chat(100, 10);
    let pointer = Arc::as_ptr(&active(&original).response_parts[3]);
    assert_eq!(original.reduce(&delta("p3")), Outcome::Applied);
    assert_eq!(Arc::as_ptr(&active(&original).response_parts[3]), pointer);
}

#[test]
fn the_end_of_a_turn_moves_its_parts_without_copying() {
    let mut original = chat(3, 10);
    let pointer = Arc::as_ptr(&active(&original).response_parts[3]);
    let end: Action =
        wire::from_str(r#"{"type": "chat/turnComplete", "turnId": "now", "duration": 1}"#).unwrap();
    assert_eq!(original.reduce(&end), Outcome::Applied);
    let turn = state(&original).turns.last_item().unwrap();
    assert_eq!(Arc::as_ptr(&turn.response_parts[3]), pointer);
}

/// The index of a running turn follows every change: what is found through it
/// is what a search would find.
#[test]
fn the_part_index_follows_every_change() {
    let mut original = chat(0, 3);
    let push = |id: &str| -> Action {
        let json = json!({
            "type": "chat/responsePart", "turnId": "now",
            "part": {"kind": "markdown", "id": id, "content": ""},
        });
        wire::from_str(&json.to_string()).unwrap()
    };
    for id in ["p1", "a", "a", "b", "p0"] {
        assert_eq!(original.reduce(&push(id)), Outcome::Applied);
        let parts = &active(&original).response_parts;
        for key in ["p0", "p1", "p2", "a", "b", "nobody"] {
            let searched = parts.items().position(|part| part.key() == Some(key));
            assert_eq!(parts.position(key), searched, "{key}");
        }
    }
}
