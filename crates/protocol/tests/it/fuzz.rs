//! Fuzz tests with random bytes: a few thousand cases by default; set `PROPTEST_CASES=1000000` for
//! a night.

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, HostNotification, Message};
use agenthost_protocol::wire::{Document, Json, Limits, Wire};
use agenthost_testkit::{Generator, GeneratorOptions};
use proptest::prelude::*;

/// Does everything that may be done with a text from outside. Must not panic, whatever the text.
fn read(text: &str) {
    let Ok(document) = Document::parse(text, Limits::default()) else {
        return;
    };
    let root = document.root();
    let json = root.to_json();
    // What the parser accepts is JSON for other parsers, too, with the same value.
    let other: Json = serde_json::from_str(text).unwrap();
    assert_eq!(json, other, "{text}");
    let received = ReceivedAction::decode(root).unwrap();
    if let ReceivedAction::Valid(action) = &received {
        let written = serde_json::to_string(action).unwrap();
        let again = Document::parse(&written, Limits::default()).unwrap();
        assert_eq!(Action::decode(again.root()).as_ref(), Ok(action));
    }
    if let Ok(mut state) = ChannelState::decode(root)
        && let ReceivedAction::Valid(action) = &received
    {
        let _outcome = state.reduce(action);
    }
    if let Ok(Message::Request(_, call) | Message::Notification(call)) = Message::decode(&document)
    {
        drop(ClientRequest::decode(&call));
        drop(ClientNotification::decode(&call));
        drop(HostNotification::decode(&call));
    }
}

/// Returns a valid message of the protocol.
fn message(seed: u64) -> String {
    let mut generator = Generator::new(seed, GeneratorOptions::default());
    let shapes = [ClientRequest::shapes(), ClientNotification::shapes()].concat();
    let (method, shape) = *generator.pick(&shapes).unwrap();
    let params = generator.generate(&shape());
    serde_json::json!({"jsonrpc": "2.0", "id": seed, "method": method, "params": params})
        .to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_any_text_does_not_panic(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn decoding_any_json_like_text_does_not_panic(
        text in r#"([\[\]{}:, ]|"[a-z\\"u0-9]{0,4}"|-?[0-9]{1,3}(\.[0-9])?([eE][+-]?[0-9]{1,3})?|true|null){0,24}"#
    ) {
        read(&text);
    }

    /// The parser accepts exactly the texts that `serde_json` accepts.
    #[test]
    fn the_json_grammar_equals_that_of_serde_json(
        text in r#"[\[\]{}:,"0-9.eE+\-\\unltrafs \x00-\x1f]{0,12}"#
    ) {
        let ours = Document::parse(&text, Limits::default()).is_ok();
        let theirs = serde_json::from_str::<Json>(&text).is_ok();
        prop_assert_eq!(ours, theirs, "{:?}", text);
    }

    /// A valid message with a few bytes changed, removed or inserted does not cause a panic.
    #[test]
    fn decoding_a_mutated_message_does_not_panic(
        seed in any::<u64>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 0..6),
    ) {
        let mut bytes = message(seed).into_bytes();
        read(std::str::from_utf8(&bytes).unwrap());
        for (index, kind, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        read(&String::from_utf8_lossy(&bytes));
    }

    /// Any action on any state: no panic, and no change unless the outcome is `Applied`.
    #[test]
    fn reducing_any_action_on_any_state_does_not_panic(seed in any::<u64>()) {
        let options = GeneratorOptions { name_count: 2, ..GeneratorOptions::default() };
        let mut generator = Generator::new(seed, options);
        let decode = |json: &Json| json.to_string();
        let state = decode(&generator.generate(&ChannelState::shape()));
        let action = decode(&generator.generate(&Action::shape()));
        let mut state: ChannelState = agenthost_protocol::wire::from_str(&state).unwrap();
        let action: Action = agenthost_protocol::wire::from_str(&action).unwrap();
        let before = state.clone();
        let outcome = state.reduce(&action);
        if outcome != agenthost_protocol::outcome::Outcome::Applied {
            prop_assert_eq!(before, state);
        }
    }
}
