//! Tests for the accessors of actions.

use agenthost_protocol::action::Action;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Shape, Wire};
use agenthost_testkit::{Generator, GeneratorOptions};

/// The accessors of a chat action match the fields `turnId` and `toolCallId` of its JSON. Only
/// `chat/truncated` has the id of a turn that it does not belong to.
#[test]
fn accessors_return_the_turn_and_tool_call_of_a_chat_action() {
    let Shape::Union { variants, .. } = Action::shape() else {
        unreachable!("an action is a union");
    };
    let (mut turns, mut calls) = (Vec::new(), Vec::new());
    for (name, shape) in variants {
        let options = GeneratorOptions::default();
        let mut json = Generator::new(1, options).generate(&shape());
        json["type"] = name.into();
        let action = wire::from_str(&json.to_string()).unwrap();
        let Action::Chat(action) = action else {
            continue;
        };
        let call = action.tool_call();
        assert_eq!(
            call.map(|call| call.tool_call_id.as_str()),
            json["toolCallId"].as_str(),
            "{name}"
        );
        let turn = action.turn_id().map(|turn| turn.as_str());
        match name {
            "chat/truncated" => assert_eq!(turn, None),
            _ => assert_eq!(turn, json["turnId"].as_str(), "{name}"),
        }
        if call.is_some() {
            calls.push(name);
        } else if turn.is_some() {
            turns.push(name);
        }
    }
    assert_eq!(
        turns,
        [
            "chat/turnStarted",
            "chat/delta",
            "chat/responsePart",
            "chat/reasoning",
            "chat/usage",
            "chat/turnComplete",
            "chat/turnCancelled",
            "chat/error",
            "chat/turnResume",
        ]
    );
    assert_eq!(
        calls,
        [
            "chat/toolCallStart",
            "chat/toolCallDelta",
            "chat/toolCallReady",
            "chat/toolCallConfirmed",
            "chat/toolCallComplete",
            "chat/toolCallResultConfirmed",
            "chat/toolCallContentChanged",
            "chat/toolCallAuthRequired",
            "chat/toolCallAuthResolved",
        ]
    );
}
