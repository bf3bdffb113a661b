//! 0.6 ↔ 0.5.2.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::test_client::{TestClient, call, chat_with, question};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

fn client() -> TestClient {
    TestClient::of(Release::V0_5_2)
}

/// A client that hears what happens to a chat.
fn after(chat: &Json) -> TestClient {
    let mut client = client().with_channel(CHAT, Some(SESSION), chat);
    client.before = Some(wire::from_str(&chat.to_string()).unwrap());
    client
}

fn authenticating(id: &str) -> Json {
    let mut call = call("auth-required", id);
    call["contributor"] = json!({ "kind": "mcp", "customizationId": "m" });
    call["auth"] = json!({ "reason": "required", "resource": { "resource": "https://x" } });
    json!({ "kind": "toolCall", "toolCall": call })
}

fn pending(id: &str) -> Json {
    json!({ "kind": "toolCall", "toolCall": call("pending-confirmation", id) })
}

#[test]
fn open_input_requests_are_outside_of_the_turn() {
    let mut answered = question("q1");
    answered["response"] = json!("accept");
    let chat = chat_with(24, &[question("q2"), answered.clone()]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    assert_eq!(
        seen["inputRequests"],
        json!([{ "id": "q2", "message": "?" }])
    );
    assert_eq!(seen["activeTurn"]["responseParts"], json!([answered]));
    assert_eq!(seen["status"], 24);
}

#[test]
fn unanswered_input_requests_are_omitted_from_ended_turns() {
    let mut chat = chat_with(1, &[]);
    let turn = json!({
        "id": "t0", "startedAt": "2026-01-01T00:00:00Z", "duration": 5, "state": "complete",
        "message": { "text": "", "origin": { "kind": "user" } }, "responseParts": [question("q")],
    });
    chat["turns"] = json!([turn]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    let message = json!({ "text": "", "origin": { "kind": "user" } });
    let expected =
        json!([{ "id": "t0", "message": message, "responseParts": [], "state": "complete" }]);
    assert_eq!(seen["turns"], expected);
    assert_eq!(seen["activeTurn"].get("startedAt"), None);
}

#[test]
fn an_input_request_part_becomes_an_input_requested_action() {
    let part = json!({ "type": "chat/responsePart", "turnId": "t", "part": question("q") });
    let heard = after(&chat_with(8, &[])).downgrade_action(CHAT, &part);
    let asked = json!({ "type": "chat/inputRequested", "request": { "id": "q", "message": "?" } });
    assert_eq!(heard, [(Some(CHAT.to_owned()), asked)]);
}

#[test]
fn an_input_request_without_a_turn_is_dropped() {
    let mut chat = chat_with(1, &[]);
    chat.as_object_mut().unwrap().shift_remove("activeTurn");
    let asked = json!({ "type": "chat/inputRequested", "request": { "id": "q" } });
    assert_eq!(after(&chat).downgrade_action(CHAT, &asked), []);
}

#[test]
fn a_call_that_waits_for_a_token_is_shown_as_running() {
    let chat = chat_with(24, &[authenticating("k")]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    let call = &seen["activeTurn"]["responseParts"][0]["toolCall"];
    assert_eq!(call["status"], "running");
    assert_eq!(call.get("auth"), None);
    assert_eq!(seen["status"], 8);
    let needs = json!({
        "type": "chat/toolCallAuthRequired", "turnId": "t", "toolCallId": "k",
        "auth": { "reason": "required", "resource": { "resource": "https://x" } },
    });
    assert_eq!(after(&chat).downgrade_action(CHAT, &needs), []);
}

#[test]
fn a_chat_with_other_needed_input_keeps_its_status() {
    let chat = chat_with(24 | 32, &[authenticating("k"), pending("l")]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    assert_eq!(seen["status"], 24 | 32);
}

#[test]
fn a_call_that_fails_without_its_token_keeps_its_content() {
    let mut waiting = authenticating("k");
    waiting["toolCall"]["content"] = json!([{ "type": "text", "text": "half" }]);
    let failed = json!({
        "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "k",
        "result": { "success": false, "pastTenseMessage": "failed" },
        "requiresResultConfirmation": true,
    });
    let heard = after(&chat_with(24, &[waiting])).downgrade_action(CHAT, &failed);
    let content = json!([{ "type": "text", "text": "half" }]);
    assert_eq!(heard[0].1["result"]["content"], content);
    assert_eq!(heard[0].1.get("requiresResultConfirmation"), None);
}

fn session(status: u32, needed: &[Json]) -> Json {
    json!({
        "provider": "p", "title": "", "status": status, "lifecycle": "ready", "activeClients": [],
        "chats": [{ "resource": CHAT, "title": "", "status": status, "modifiedAt": "2026-01-01T00:00:00Z" }],
        "inputNeeded": needed,
    })
}

fn token_needed(id: &str) -> Json {
    let call = &authenticating("k")["toolCall"];
    json!({ "kind": "toolAuthentication", "id": id, "chat": CHAT, "turnId": "t", "toolCall": call })
}

fn answer_needed(id: &str) -> Json {
    json!({ "kind": "chatInput", "id": id, "chat": CHAT, "request": { "id": "q" } })
}

#[test]
fn a_session_that_waits_for_a_token_alone_is_in_progress() {
    let seen = client()
        .downgrade_state(SESSION, &session(24, &[token_needed("a")]))
        .unwrap();
    assert_eq!(seen["status"], 8);
    assert_eq!(seen["chats"][0]["status"], 8);
    assert_eq!(seen.get("inputNeeded"), None);
    let both = session(24, &[token_needed("a"), answer_needed("b")]);
    let seen = client().downgrade_state(SESSION, &both).unwrap();
    assert_eq!(seen["status"], 24);
    assert_eq!(seen["chats"][0]["status"], 24);
    assert_eq!(seen["inputNeeded"], json!([answer_needed("b")]));
}

#[test]
fn summaries_of_sessions_that_wait_for_a_token_are_in_progress() {
    let client = client().with_channel(SESSION, None, &session(24, &[token_needed("a")]));
    let updated =
        json!({ "type": "session/chatUpdated", "chat": CHAT, "changes": { "status": 24 } });
    assert_eq!(
        client.downgrade_action(SESSION, &updated)[0].1["changes"]["status"],
        8
    );
    let changed =
        json!({ "channel": "ahp-root://", "session": SESSION, "changes": { "status": 24 } });
    let told = client.downgrade_notification("root/sessionSummaryChanged", changed);
    assert_eq!(told[0].1["changes"]["status"], 8);
}

#[test]
fn a_token_request_removes_the_needed_input_that_it_replaces() {
    let mut client = client();
    let before = session(24, &[answer_needed("a"), token_needed("b")]);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let set = |id| json!({ "type": "session/inputNeededSet", "request": token_needed(id) });
    let removed = |id| json!({ "type": "session/inputNeededRemoved", "id": id });
    let heard = client.downgrade_action(SESSION, &set("a"));
    assert_eq!(heard, [(Some(SESSION.to_owned()), removed("a"))]);
    assert_eq!(client.downgrade_action(SESSION, &set("b")), []);
    assert_eq!(client.downgrade_action(SESSION, &removed("b")), []);
    assert_eq!(client.downgrade_action(SESSION, &removed("a")).len(), 1);
}

#[test]
fn a_chat_that_starts_to_wait_for_a_token_alone_is_in_progress() {
    let mut client = client().with_channel(SESSION, None, &session(24, &[token_needed("a")]));
    let before = session(24, &[]);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let set = json!({ "type": "session/inputNeededSet", "request": token_needed("a") });
    let updated =
        json!({ "type": "session/chatUpdated", "chat": CHAT, "changes": { "status": 8 } });
    let heard = client.downgrade_action(SESSION, &set);
    assert_eq!(heard, [(Some(SESSION.to_owned()), updated)]);
}

fn ready(more: &Json) -> Json {
    let mut ready = json!({
        "type": "chat/toolCallReady", "turnId": "t", "toolCallId": "l", "invocationMessage": "do",
    });
    let more = more.as_object().unwrap().clone();
    ready.as_object_mut().unwrap().extend(more);
    ready
}

#[test]
fn a_risk_assessment_of_a_pending_call_is_dropped() {
    let client = after(&chat_with(24, &[pending("l")]));
    let judged = ready(&json!({ "riskAssessment": { "status": "loading", "kind": "judge" } }));
    assert_eq!(client.downgrade_action(CHAT, &judged), []);
}

#[test]
fn a_repeated_confirmation_request_is_preceded_by_an_approval() {
    let client = after(&chat_with(24, &[pending("l")]));
    let heard = client.downgrade_action(CHAT, &ready(&json!({ "confirmationTitle": "sure?" })));
    assert_eq!(heard[0].1["type"], "chat/toolCallConfirmed");
    assert_eq!(heard[1].1["type"], "chat/toolCallReady");
    assert_eq!(heard[1].1["confirmationTitle"], "sure?");
    assert_eq!(heard[1].1["editable"], true);
    let agreed = client.downgrade_action(CHAT, &ready(&json!({ "confirmed": "setting" })));
    assert_eq!(agreed.len(), 1);
    assert_eq!(agreed[0].1["type"], "chat/toolCallConfirmed");
    assert_eq!(agreed[0].1["confirmed"], "setting");
}

#[test]
fn a_repeated_confirmation_of_a_client_tool_is_dropped() {
    let mut own = pending("l");
    own["toolCall"]["contributor"] = json!({ "kind": "client", "clientId": "c" });
    let client = after(&chat_with(24, &[own]));
    let again = ready(&json!({ "confirmationTitle": "sure?" }));
    assert_eq!(client.downgrade_action(CHAT, &again), []);
}

#[test]
fn client_actions_survive_a_round_trip() {
    let client = after(&chat_with(8, &[]));
    for (channel, said) in [
        (
            CHAT,
            json!({
                "type": "chat/turnStarted", "turnId": "t",
                "message": { "text": "hi", "origin": { "kind": "user" } },
            }),
        ),
        (CHAT, json!({ "type": "chat/turnCancelled", "turnId": "t" })),
        (
            CHAT,
            json!({ "type": "chat/inputCompleted", "requestId": "q", "response": "accept" }),
        ),
        (
            "ahp-session:/s/changeset/x",
            json!({ "type": "changeset/filesReviewedChanged", "fileIds": ["a"], "reviewed": true }),
        ),
    ] {
        let (up, action) = client.upgrade_action(channel, said.clone());
        assert_eq!(
            client.downgrade_action(&up, &action),
            [(Some(channel.to_owned()), said)]
        );
    }
}
