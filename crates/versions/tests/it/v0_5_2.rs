//! 0.6 ↔ 0.5.2.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::worlds::{TestClient, call, chat_with, question};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

fn client() -> TestClient {
    TestClient::of(Release::V0_5_2)
}

/// A client that hears what happens to a chat.
fn after(chat: &Json) -> TestClient {
    let mut client = client().knows(CHAT, Some(SESSION), chat);
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
fn open_questions_stand_beside_the_turn_and_answered_ones_in_it() {
    let mut answered = question("q1");
    answered["response"] = json!("accept");
    let chat = chat_with(24, &[question("q2"), answered.clone()]);
    let seen = client().sees(CHAT, &chat).unwrap();
    assert_eq!(
        seen["inputRequests"],
        json!([{ "id": "q2", "message": "?" }])
    );
    assert_eq!(seen["activeTurn"]["responseParts"], json!([answered]));
    assert_eq!(seen["status"], 24);
}

#[test]
fn questions_that_were_never_answered_are_not_in_turns_that_are_over() {
    let mut chat = chat_with(1, &[]);
    let turn = json!({
        "id": "t0", "startedAt": "2026-01-01T00:00:00Z", "duration": 5, "state": "complete",
        "message": { "text": "", "origin": { "kind": "user" } }, "responseParts": [question("q")],
    });
    chat["turns"] = json!([turn]);
    let seen = client().sees(CHAT, &chat).unwrap();
    let message = json!({ "text": "", "origin": { "kind": "user" } });
    let expected =
        json!([{ "id": "t0", "message": message, "responseParts": [], "state": "complete" }]);
    assert_eq!(seen["turns"], expected);
    assert_eq!(seen["activeTurn"].get("startedAt"), None);
}

#[test]
fn a_question_that_comes_as_a_part_is_asked() {
    let part = json!({ "type": "chat/responsePart", "turnId": "t", "part": question("q") });
    let heard = after(&chat_with(8, &[])).hears(CHAT, &part);
    let asked = json!({ "type": "chat/inputRequested", "request": { "id": "q", "message": "?" } });
    assert_eq!(heard, [(Some(CHAT.to_owned()), asked)]);
}

#[test]
fn a_question_without_a_turn_is_not_asked() {
    let mut chat = chat_with(1, &[]);
    chat.as_object_mut().unwrap().shift_remove("activeTurn");
    let asked = json!({ "type": "chat/inputRequested", "request": { "id": "q" } });
    assert_eq!(after(&chat).hears(CHAT, &asked), []);
}

#[test]
fn a_call_that_waits_for_a_token_looks_as_if_it_ran() {
    let chat = chat_with(24, &[authenticating("k")]);
    let seen = client().sees(CHAT, &chat).unwrap();
    let call = &seen["activeTurn"]["responseParts"][0]["toolCall"];
    assert_eq!(call["status"], "running");
    assert_eq!(call.get("auth"), None);
    assert_eq!(seen["status"], 8);
    let needs = json!({
        "type": "chat/toolCallAuthRequired", "turnId": "t", "toolCallId": "k",
        "auth": { "reason": "required", "resource": { "resource": "https://x" } },
    });
    assert_eq!(after(&chat).hears(CHAT, &needs), []);
}

#[test]
fn a_chat_that_waits_for_something_else_too_still_does() {
    let chat = chat_with(24 | 32, &[authenticating("k"), pending("l")]);
    let seen = client().sees(CHAT, &chat).unwrap();
    assert_eq!(seen["status"], 24 | 32);
}

#[test]
fn what_fails_before_it_got_its_token_keeps_what_it_had_produced() {
    let mut waiting = authenticating("k");
    waiting["toolCall"]["content"] = json!([{ "type": "text", "text": "half" }]);
    let failed = json!({
        "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "k",
        "result": { "success": false, "pastTenseMessage": "failed" },
        "requiresResultConfirmation": true,
    });
    let heard = after(&chat_with(24, &[waiting])).hears(CHAT, &failed);
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
        .sees(SESSION, &session(24, &[token_needed("a")]))
        .unwrap();
    assert_eq!(seen["status"], 8);
    assert_eq!(seen["chats"][0]["status"], 8);
    assert_eq!(seen.get("inputNeeded"), None);
    let both = session(24, &[token_needed("a"), answer_needed("b")]);
    let seen = client().sees(SESSION, &both).unwrap();
    assert_eq!(seen["status"], 24);
    assert_eq!(seen["chats"][0]["status"], 24);
    assert_eq!(seen["inputNeeded"], json!([answer_needed("b")]));
}

#[test]
fn lists_say_the_same_of_a_session_that_waits_for_a_token() {
    let client = client().knows(SESSION, None, &session(24, &[token_needed("a")]));
    let updated =
        json!({ "type": "session/chatUpdated", "chat": CHAT, "changes": { "status": 24 } });
    assert_eq!(client.hears(SESSION, &updated)[0].1["changes"]["status"], 8);
    let changed =
        json!({ "channel": "ahp-root://", "session": SESSION, "changes": { "status": 24 } });
    let told = client.is_told("root/sessionSummaryChanged", changed);
    assert_eq!(told[0].1["changes"]["status"], 8);
}

#[test]
fn a_session_that_now_waits_for_a_token_no_longer_waits_for_what_had_that_name() {
    let mut client = client();
    let before = session(24, &[answer_needed("a"), token_needed("b")]);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let set = |id| json!({ "type": "session/inputNeededSet", "request": token_needed(id) });
    let removed = |id| json!({ "type": "session/inputNeededRemoved", "id": id });
    let heard = client.hears(SESSION, &set("a"));
    assert_eq!(heard, [(Some(SESSION.to_owned()), removed("a"))]);
    assert_eq!(client.hears(SESSION, &set("b")), []);
    assert_eq!(client.hears(SESSION, &removed("b")), []);
    assert_eq!(client.hears(SESSION, &removed("a")).len(), 1);
}

#[test]
fn a_chat_that_turns_out_to_wait_for_a_token_alone_is_in_progress() {
    let mut client = client().knows(SESSION, None, &session(24, &[token_needed("a")]));
    let before = session(24, &[]);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let set = json!({ "type": "session/inputNeededSet", "request": token_needed("a") });
    let updated =
        json!({ "type": "session/chatUpdated", "chat": CHAT, "changes": { "status": 8 } });
    let heard = client.hears(SESSION, &set);
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
fn a_judgement_of_a_call_that_asks_already_is_not_told() {
    let client = after(&chat_with(24, &[pending("l")]));
    let judged = ready(&json!({ "riskAssessment": { "status": "loading", "kind": "judge" } }));
    assert_eq!(client.hears(CHAT, &judged), []);
}

#[test]
fn another_question_about_a_call_is_asked_by_way_of_running_it() {
    let client = after(&chat_with(24, &[pending("l")]));
    let heard = client.hears(CHAT, &ready(&json!({ "confirmationTitle": "sure?" })));
    assert_eq!(heard[0].1["type"], "chat/toolCallConfirmed");
    assert_eq!(heard[1].1["type"], "chat/toolCallReady");
    assert_eq!(heard[1].1["confirmationTitle"], "sure?");
    assert_eq!(heard[1].1["editable"], true);
    let agreed = client.hears(CHAT, &ready(&json!({ "confirmed": "setting" })));
    assert_eq!(agreed.len(), 1);
    assert_eq!(agreed[0].1["type"], "chat/toolCallConfirmed");
    assert_eq!(agreed[0].1["confirmed"], "setting");
}

#[test]
fn a_client_is_not_told_to_run_its_tool_just_to_be_asked_again() {
    let mut own = pending("l");
    own["toolCall"]["contributor"] = json!({ "kind": "client", "clientId": "c" });
    let client = after(&chat_with(24, &[own]));
    let again = ready(&json!({ "confirmationTitle": "sure?" }));
    assert_eq!(client.hears(CHAT, &again), []);
}

#[test]
fn what_a_client_says_comes_back_as_it_was() {
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
        let (up, action) = client.says(channel, said.clone());
        assert_eq!(
            client.hears(&up, &action),
            [(Some(channel.to_owned()), said)]
        );
    }
}
