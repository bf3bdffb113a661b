//! Two actions made one do what both did (SUB-11, SUB-14).

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::wire;
use proptest::prelude::*;
use serde_json::{Value, json};

fn chat() -> ChannelState {
    let call = json!({"kind": "toolCall", "toolCall": {
        "status": "streaming", "toolCallId": "c", "toolName": "n", "displayName": "N",
    }});
    let state = json!({
        "resource": "ahp-chat:/1", "title": "", "status": 8,
        "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": [],
        "activeTurn": {
            "id": "t", "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": "go", "origin": {"kind": "user"}},
            "responseParts": [
                {"kind": "markdown", "id": "p1", "content": ""},
                {"kind": "markdown", "id": "p2", "content": ""},
                {"kind": "reasoning", "id": "r", "content": ""},
                call,
            ],
        },
    });
    wire::from_str(&state.to_string()).unwrap()
}

fn terminal() -> ChannelState {
    let state = json!({
        "title": "", "content": [], "lifecycle": {"status": "running"},
        "claim": {"kind": "client", "clientId": "a"},
    });
    wire::from_str(&state.to_string()).unwrap()
}

/// Few kinds and places, so that neighbours often fit together.
fn chat_action() -> impl Strategy<Value = Value> {
    let text = "[a-zé]{0,3}";
    let turn = prop_oneof![9 => Just("t"), 1 => Just("other")];
    let part = prop_oneof![Just("p1"), Just("p2"), Just("r"), Just("none")];
    let meta = prop_oneof![9 => Just(None), 1 => Just(Some(json!({"a": 1})))];
    prop_oneof![
        8 => (turn.clone(), part.clone(), text, meta).prop_map(|(turn, part, text, meta)| {
            let mut action =
                json!({"type": "chat/delta", "turnId": turn, "partId": part, "content": text});
            if let Some(meta) = meta {
                action["_meta"] = meta;
            }
            action
        }),
        4 => (turn, text).prop_map(|(turn, text)| json!({
            "type": "chat/reasoning", "turnId": turn, "partId": "r", "content": text,
        })),
        4 => (prop::option::of(text), prop::option::of(text)).prop_map(|(text, message)| {
            let mut action = json!({"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "c"});
            if let Some(text) = text {
                action["content"] = json!(text);
            }
            if let Some(message) = message {
                action["invocationMessage"] = json!(message);
            }
            action
        }),
        1 => text.prop_map(|text| json!({"type": "chat/activityChanged", "activity": text})),
        1 => Just(json!({"type": "chat/turnComplete", "turnId": "t", "duration": 1})),
    ]
}

fn terminal_action() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => "[a-zé]{0,3}".prop_map(|text| json!({"type": "terminal/data", "data": text})),
        1 => Just(json!({
            "type": "terminal/commandExecuted", "commandId": "1", "commandLine": "ls", "timestamp": 1,
        })),
        1 => Just(json!({"type": "terminal/commandFinished", "commandId": "1"})),
        1 => Just(json!({"type": "terminal/cleared"})),
    ]
}

/// Reduces one by one, and merged; returns how many were merged away.
fn compare(mut state: ChannelState, actions: Vec<Value>) -> Result<usize, TestCaseError> {
    let actions: Vec<Action> = actions
        .iter()
        .map(|action| wire::from_str(&action.to_string()).unwrap())
        .collect();
    let mut merged: Vec<Action> = Vec::new();
    for action in &actions {
        if !merged.last_mut().is_some_and(|last| last.merge(action)) {
            merged.push(action.clone());
        }
    }
    let mut other = state.clone();
    for action in &actions {
        drop(state.reduce(action));
    }
    for action in &merged {
        drop(other.reduce(action));
    }
    prop_assert_eq!(state, other);
    Ok(actions.len() - merged.len())
}

proptest! {
    #[test]
    fn merged_chat_actions_do_the_same(actions in prop::collection::vec(chat_action(), 0..40)) {
        compare(chat(), actions)?;
    }

    #[test]
    fn merged_terminal_actions_do_the_same(
        actions in prop::collection::vec(terminal_action(), 0..40)
    ) {
        compare(terminal(), actions)?;
    }
}

#[test]
fn adjacent_deltas_are_merged() {
    let delta = json!({"type": "chat/delta", "turnId": "t", "partId": "p1", "content": "a"});
    let reasoning = json!({"type": "chat/reasoning", "turnId": "t", "partId": "r", "content": "a"});
    let call =
        json!({"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "c", "content": "a"});
    for action in [delta, reasoning, call] {
        assert_eq!(compare(chat(), vec![action; 5]).unwrap(), 4);
    }
    let data = json!({"type": "terminal/data", "data": "a"});
    assert_eq!(compare(terminal(), vec![data; 5]).unwrap(), 4);
}
