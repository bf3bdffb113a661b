//! 0.5.1 ↔ 0.5.0, and the older turns that clients ask for.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use agenthost_versions::{UpgradeRefusal, answer_fetch_turns};
use serde_json::json;

use crate::test_client::{TestClient, call, chat_with};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

fn client() -> TestClient {
    TestClient::of(Release::V0_5_0)
}

fn turn(id: &str) -> Json {
    json!({
        "id": id, "startedAt": "2026-01-01T00:00:00Z", "duration": 5, "state": "complete",
        "message": { "text": id, "origin": { "kind": "user" } }, "responseParts": [],
    })
}

fn long_chat() -> Json {
    let mut chat = chat_with(8, &[]);
    chat["turns"] = json!([turn("t1"), turn("t2"), turn("t3"), turn("t4")]);
    chat
}

/// The turns that a client gets, and whether there are more.
fn fetched(client: &TestClient, params: &Json) -> Result<(Vec<String>, bool), UpgradeRefusal> {
    let params = params.as_object().unwrap();
    let result = answer_fetch_turns(client.chain, &client.at(), params)?;
    let found = result["turns"].as_array().unwrap().iter();
    let ids = found.map(|turn| turn["id"].as_str().unwrap().to_owned());
    Ok((ids.collect(), result["hasMore"].as_bool().unwrap()))
}

fn page(ids: &[&str], more: bool) -> Result<(Vec<String>, bool), UpgradeRefusal> {
    Ok((ids.iter().map(|id| (*id).to_owned()).collect(), more))
}

#[test]
fn fetched_turns_are_in_the_response() {
    let client = client().with_channel(CHAT, Some(SESSION), &long_chat());
    let all = json!({ "channel": CHAT });
    assert_eq!(
        fetched(&client, &all),
        page(&["t1", "t2", "t3", "t4"], false)
    );
    let last = json!({ "channel": CHAT, "limit": 2 });
    assert_eq!(fetched(&client, &last), page(&["t3", "t4"], true));
    let before = json!({ "channel": CHAT, "before": "t3", "limit": 2 });
    assert_eq!(fetched(&client, &before), page(&["t1", "t2"], false));
    let behind_the_running = json!({ "channel": CHAT, "before": "t", "limit": 1 });
    assert_eq!(fetched(&client, &behind_the_running), page(&["t4"], true));
    let first = json!({ "channel": CHAT, "before": "t1" });
    assert_eq!(fetched(&client, &first), page(&[], false));
}

#[test]
fn fetched_turns_are_downgraded() {
    let client = client().with_channel(CHAT, Some(SESSION), &long_chat());
    let params = json!({ "channel": CHAT, "limit": 1 });
    let params = params.as_object().unwrap();
    let result = answer_fetch_turns(client.chain, &client.at(), params).unwrap();
    let expected = json!({
        "id": "t4", "state": "complete", "responseParts": [],
        "message": { "text": "t4", "origin": { "kind": "user" } },
    });
    assert_eq!(result["turns"][0], expected);
}

#[test]
fn fetching_turns_before_an_unknown_turn_is_an_error() {
    let client = client().with_channel(CHAT, Some(SESSION), &long_chat());
    let unknown = fetched(&client, &json!({ "channel": CHAT, "before": "t9" }));
    assert!(matches!(unknown, Err(UpgradeRefusal::Invalid(_))));
    let nowhere = fetched(&client, &json!({ "channel": "ahp-chat:/none" }));
    assert!(matches!(nowhere, Err(UpgradeRefusal::Unknown(_))));
    let nameless = fetched(&client, &json!({}));
    assert!(matches!(nameless, Err(UpgradeRefusal::Invalid(_))));
}

/// Else who asks wrongly would get the same turns for ever.
#[test]
fn invalid_parameters_of_fetch_turns_are_errors() {
    let client = client().with_channel(CHAT, Some(SESSION), &long_chat());
    let strange = [
        json!({ "limit": "x" }),
        json!({ "limit": 1.5 }),
        json!({ "limit": -1 }),
        json!({ "before": 5 }),
        json!({ "before": {} }),
    ];
    for mut params in strange {
        params["channel"] = json!(CHAT);
        let asked = fetched(&client, &params);
        assert!(matches!(asked, Err(UpgradeRefusal::Invalid(_))), "{params}");
    }
    let nothing = json!({ "channel": CHAT, "before": null, "limit": null });
    assert_eq!(
        fetched(&client, &nothing),
        fetched(&client, &json!({ "channel": CHAT }))
    );
}

#[test]
fn the_turns_of_a_session_are_those_of_its_chat() {
    let session = json!({
        "provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [], "defaultChat": CHAT,
    });
    let other = "ahp-chat:/other";
    let mut client = TestClient::of(Release::V0_3)
        .with_channel(CHAT, Some(SESSION), &long_chat())
        .with_channel(other, Some(SESSION), &chat_with(8, &[]))
        .with_channel(SESSION, None, &session);
    let params = json!({ "channel": SESSION, "limit": 1 });
    assert_eq!(fetched(&client, &params), page(&["t4"], true));
    client.viewer.map_session(SESSION.into(), other.into());
    assert_eq!(fetched(&client, &params), page(&[], false));
}

#[test]
fn loaded_turns_and_needed_input_are_not_published() {
    let loaded = json!({ "type": "chat/turnsLoaded", "turns": [turn("t")] });
    assert_eq!(client().downgrade_action(CHAT, &loaded), []);
    let removed = json!({ "type": "session/inputNeededRemoved", "id": "a" });
    assert_eq!(client().downgrade_action(SESSION, &removed), []);
}

#[test]
fn the_intention_of_a_tool_call_is_omitted() {
    let mut call = call("running", "k");
    call["intention"] = json!("to see");
    let nonce = json!({ "type": "resource", "uri": "file:///x", "nonce": "1" });
    call["content"] = json!([nonce]);
    let part = json!({ "kind": "toolCall", "toolCall": call });
    let mut chat = chat_with(8, &[part]);
    chat["turnsNextCursor"] = json!("c");
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    let call = &seen["activeTurn"]["responseParts"][0]["toolCall"];
    assert_eq!(call.get("intention"), None);
    assert_eq!(
        call["content"],
        json!([{ "type": "resource", "uri": "file:///x" }])
    );
    assert_eq!(seen.get("turnsNextCursor"), None);
    let start = json!({
        "type": "chat/toolCallStart", "turnId": "t", "toolCallId": "k", "toolName": "x",
        "displayName": "X", "intention": "to see",
    });
    assert_eq!(
        client().downgrade_action(CHAT, &start)[0]
            .1
            .get("intention"),
        None
    );
}

#[test]
fn lists_of_sessions_have_no_pages_and_no_filter() {
    let result =
        client().downgrade_result("listSessions", json!({ "items": [], "nextCursor": "c" }));
    assert_eq!(result, json!({ "items": [] }));
    let (_, asked) = client().upgrade_request(
        "listSessions",
        json!({ "channel": "ahp-root://", "filter": {} }),
    );
    assert_eq!(asked, json!({ "channel": "ahp-root://" }));
}

#[test]
fn a_pending_client_tool_does_not_count_as_needed_input() {
    let mut call = call("running", "k");
    call["contributor"] = json!({ "kind": "client", "clientId": "c" });
    let work = json!({
        "kind": "toolClientExecution", "id": "a", "chat": CHAT, "turnId": "t", "clientId": "c",
        "toolCall": call,
    });
    let session = |needed: &[Json]| {
        json!({
            "provider": "p", "title": "", "status": 24, "lifecycle": "ready",
            "activeClients": [], "chats": [], "inputNeeded": needed,
        })
    };
    let seen = client()
        .downgrade_state(SESSION, &session(std::slice::from_ref(&work)))
        .unwrap();
    assert_eq!(seen["status"], 8);
    assert_eq!(seen.get("inputNeeded"), None);
    let asked = json!({ "kind": "chatInput", "id": "b", "chat": CHAT, "request": { "id": "q" } });
    let seen = client()
        .downgrade_state(SESSION, &session(&[work, asked]))
        .unwrap();
    assert_eq!(seen["status"], 24);
}
