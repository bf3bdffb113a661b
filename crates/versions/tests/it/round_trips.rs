//! Tests that actions of clients of 0.4 to 0.5.2 are echoed to them as they were sent.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::test_client::{TestClient, chat_with};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

const RELEASES: &[Release] = &[
    Release::V0_5_2,
    Release::V0_5_1,
    Release::V0_5_0,
    Release::V0_4,
];

fn message() -> Json {
    json!({
        "text": "hi", "origin": { "kind": "user" },
        "attachments": [{ "type": "resource", "label": "x", "uri": "file:///x" }],
    })
}

/// Returns the chat actions that all of these releases have.
fn of_chats() -> Vec<Json> {
    let call = |kind: &str, more: Json| {
        let mut action = json!({ "type": kind, "turnId": "t", "toolCallId": "k" });
        let Json::Object(more) = more else {
            panic!("fields are an object");
        };
        action.as_object_mut().unwrap().extend(more);
        action
    };
    let text = json!([{ "type": "text", "text": "x" }]);
    let result = json!({ "success": true, "pastTenseMessage": "did", "content": text });
    let draft = json!({ "state": "draft", "value": { "kind": "text", "value": "a" } });
    vec![
        json!({ "type": "chat/turnStarted", "turnId": "u", "message": message() }),
        json!({ "type": "chat/turnCancelled", "turnId": "t" }),
        call(
            "chat/toolCallConfirmed",
            json!({ "approved": true, "confirmed": "user-action" }),
        ),
        call(
            "chat/toolCallConfirmed",
            json!({ "approved": false, "reason": "denied", "userSuggestion": message() }),
        ),
        call("chat/toolCallComplete", json!({ "result": result })),
        call("chat/toolCallResultConfirmed", json!({ "approved": false })),
        call("chat/toolCallContentChanged", json!({ "content": text })),
        json!({ "type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": message() }),
        json!({ "type": "chat/pendingMessageRemoved", "kind": "steering", "id": "q" }),
        json!({ "type": "chat/queuedMessagesReordered", "order": ["q"] }),
        json!({ "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "a", "answer": draft }),
        json!({ "type": "chat/inputCompleted", "requestId": "r", "response": "decline" }),
        json!({ "type": "chat/truncated", "turnId": "t" }),
    ]
}

/// Returns the session actions that all of these releases have.
fn of_sessions() -> Vec<Json> {
    vec![
        json!({ "type": "session/titleChanged", "title": "T" }),
        json!({ "type": "session/isReadChanged", "isRead": true }),
        json!({ "type": "session/isArchivedChanged", "isArchived": true }),
        json!({ "type": "session/configChanged", "config": { "a": 1 } }),
    ]
}

#[test]
fn actions_are_echoed_as_they_were_sent() {
    let session = json!({
        "provider": "p", "title": "", "status": 8, "lifecycle": "ready", "activeClients": [],
        "chats": [], "defaultChat": CHAT,
    });
    let mut chat = chat_with(8, &[]);
    chat["activeTurn"]["message"]["model"] = json!({ "id": "m" });
    for release in RELEASES {
        let mut client = TestClient::of(*release)
            .with_channel(CHAT, Some(SESSION), &chat)
            .with_channel(SESSION, None, &session);
        for (channel, actions) in [(CHAT, of_chats()), (SESSION, of_sessions())] {
            let before = client.scene.channels.iter();
            let mut before = before.filter(|(uri, ..)| uri.as_str() == channel);
            client.before = before.next().map(|(_, _, state)| state.clone());
            for said in actions {
                let (up, action) = client.upgrade_action(channel, said.clone());
                let heard = client.downgrade_action(&up, &action);
                assert_eq!(heard, [(Some(channel.to_owned()), said)], "{release:?}");
            }
        }
    }
}
