//! Tests with states in the 0.4 encoding, as produced by the previous step.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Object;
use serde_json::{Value, json};

use super::StepV0_3;
use crate::state_source::{TargetClient, TranslationContext};
use crate::step::VersionStep as _;

const SESSION: &str = "ahp-session:/s";
const CHAT: &str = "ahp-chat:/c";

/// Downgrades a state of 0.4, with a chat of the session to look up.
fn down(kind: ChannelKind, resource: &str, state: &Value) -> Value {
    let chat = json!({
        "resource": CHAT, "title": "Main", "status": 8, "turns": [],
        "modifiedAt": "2026-01-01T00:00:01.500Z",
        "activeTurn": {
            "id": "t", "startedAt": "2026-01-01T00:00:01Z", "responseParts": [],
            "message": { "text": "", "origin": { "kind": "user" } },
        },
    });
    let mut viewer = TargetClient::new(Release::V0_3, ClientId::from("c"));
    viewer.map_session(Uri::from(SESSION), Uri::from(CHAT));
    let chat = wire::from_str(&chat.to_string()).unwrap();
    let channels = vec![(Uri::from(CHAT), Some(Uri::from(SESSION)), chat)];
    let world = StateView {
        channels,
        summaries: Vec::new(),
    };
    let at = TranslationContext {
        client: &viewer,
        states: &world,
        state_before: None,
    };
    let mut state: Object = wire::from_str(&state.to_string()).unwrap();
    StepV0_3.downgrade_state(&at, kind, &mut resource.to_owned(), &mut state);
    Value::Object(state)
}

#[test]
fn a_status_combines_chat_activity_and_session_flags() {
    let model = json!({ "id": "m" });
    let state = down(
        ChannelKind::Session,
        SESSION,
        &json!({
            "summary": { "resource": SESSION, "status": 97, "model": model },
            "lifecycle": "ready", "chats": [],
        }),
    );
    assert_eq!(state["summary"]["status"], 96 | 8);
    assert_eq!(state["summary"]["model"], model);
    assert_eq!(state["turns"], json!([]));
}

#[test]
fn a_status_is_derived_from_the_state() {
    let status = |status: u64, rest: Value| {
        let mut chat = json!({
            "resource": CHAT, "title": "Main", "status": status, "turns": [],
            "modifiedAt": "2026-01-01T00:00:01.500Z",
        });
        let rest = rest.as_object().unwrap().clone();
        chat.as_object_mut().unwrap().extend(rest);
        let state = down(ChannelKind::Chat, CHAT, &chat);
        state["summary"]["status"].as_u64().unwrap()
    };
    let turn = |call: &str| {
        let call = json!({ "kind": "toolCall", "toolCall": { "status": call } });
        json!({ "activeTurn": { "id": "t", "responseParts": [call] } })
    };
    assert_eq!(status(32 | 24, turn("running")), 32 | 8);
    assert_eq!(status(8, turn("pending-confirmation")), 24);
    assert_eq!(status(8, json!({ "inputRequests": [{ "id": "r" }] })), 24);
    assert_eq!(status(2, json!({})), 2);
    assert_eq!(status(8, json!({})), 1);
}

#[test]
fn a_chat_of_an_unknown_session_is_downgraded_to_a_session() {
    let state = down(
        ChannelKind::Chat,
        CHAT,
        &json!({
            "resource": CHAT, "title": "Main", "status": 1, "turns": [], "activity": "Thinking",
            "modifiedAt": "2026-01-01T00:00:01.500Z", "workingDirectory": "file:///w",
        }),
    );
    let modified = 1_767_225_601_500_u64;
    assert_eq!(
        state,
        json!({
            "summary": {
                "resource": CHAT, "title": "Main", "status": 1, "activity": "Thinking",
                "workingDirectory": "file:///w", "modifiedAt": modified, "createdAt": modified,
                "provider": "",
            },
            "lifecycle": "ready",
            "turns": [],
        })
    );
}
