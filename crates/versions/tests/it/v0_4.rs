//! Tests for 0.5.0 ↔ 0.4: the state of sessions and their active clients.

use std::sync::Arc;

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::worlds::{TestClient, chat_with};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

fn client() -> TestClient {
    TestClient::of(Release::V0_4)
}

fn active(id: &str, tools: &[&str]) -> Json {
    let tools: Vec<Json> = tools.iter().map(|name| json!({ "name": name })).collect();
    json!({ "clientId": id, "tools": tools })
}

fn session(clients: &[Json]) -> Json {
    json!({
        "provider": "p", "title": "T", "status": 1, "activity": "idle", "lifecycle": "ready",
        "activeClients": clients, "defaultChat": CHAT,
        "chats": [{
            "resource": CHAT, "title": "", "status": 1, "modifiedAt": "1970-01-01T00:00:05Z",
        }],
    })
}

fn summary() -> Json {
    json!({
        "resource": SESSION, "provider": "p", "title": "T", "status": 1,
        "createdAt": "1970-01-01T00:00:01.000Z", "modifiedAt": "1970-01-01T00:00:02Z",
        "changes": { "files": 3 }, "_meta": { "a": 1 },
    })
}

fn chosen() -> Json {
    let mut chat = chat_with(8, &[]);
    let model = json!({ "id": "m", "config": { "effort": 3, "tone": "dry" } });
    chat["activeTurn"]["message"]["model"] = model;
    chat["activeTurn"]["message"]["agent"] = json!({ "uri": "file:///a" });
    chat
}

/// Returns the model in [`chosen`], as 0.4 encodes it.
fn old_model() -> Json {
    json!({ "id": "m", "config": { "effort": "3", "tone": "dry" } })
}

#[test]
fn a_session_has_its_summary_inside() {
    let mut client = client().knows(CHAT, Some(SESSION), &chosen());
    client = client.knows(SESSION, None, &session(&[]));
    let listed = wire::from_str(&summary().to_string()).unwrap();
    client.scene.summaries.push(Arc::new(listed));
    let seen = client.sees(SESSION, &session(&[active("x", &[])])).unwrap();
    let expected = json!({
        "resource": SESSION, "provider": "p", "title": "T", "status": 1, "activity": "idle",
        "createdAt": 1000, "modifiedAt": 2000, "changes": { "files": 3 },
        "model": old_model(), "agent": { "uri": "file:///a" },
    });
    assert_eq!(seen["summary"], expected);
    assert_eq!(seen["activeClient"], active("x", &[]));
    assert_eq!(seen["chats"][0]["model"], old_model());
    assert_eq!(seen["chats"][0]["modifiedAt"], "1970-01-01T00:00:05Z");
    for gone in ["activeClients", "title", "provider", "status", "activity"] {
        assert_eq!(seen.get(gone), None);
    }
}

#[test]
fn a_session_that_no_list_knows_has_the_times_of_its_chats() {
    let seen = client().sees(SESSION, &session(&[])).unwrap();
    assert_eq!(seen["summary"]["createdAt"], 5000);
    assert_eq!(seen["summary"]["modifiedAt"], 5000);
    assert_eq!(seen.get("activeClient"), None);
}

#[test]
fn lists_have_times_as_numbers() {
    let client = client()
        .knows(CHAT, Some(SESSION), &chosen())
        .knows(SESSION, None, &session(&[]));
    let list = client.gets("listSessions", json!({ "items": [summary()] }));
    let expected = json!({
        "resource": SESSION, "provider": "p", "title": "T", "status": 1, "changes": { "files": 3 },
        "createdAt": 1000, "modifiedAt": 2000, "model": old_model(), "agent": { "uri": "file:///a" },
    });
    assert_eq!(list["items"][0], expected);
    let changes = json!({ "modifiedAt": "1970-01-01T00:00:02Z", "title": "U" });
    let changed = json!({ "channel": "ahp-root://", "session": SESSION, "changes": changes });
    let told = client.is_told("root/sessionSummaryChanged", changed);
    assert_eq!(told[0].1["changes"]["modifiedAt"], 2000);
    assert_eq!(told[0].1["changes"]["model"], old_model());
}

#[test]
fn a_client_sees_itself_among_the_active_ones_or_else_the_first() {
    let both = session(&[active("x", &[]), active("c", &["t"])]);
    let client = client();
    let seen = client.sees(SESSION, &both).unwrap();
    assert_eq!(seen["activeClient"], active("c", &["t"]));
    assert!(client.viewer.take_client_specific());
    let others = session(&[active("x", &[]), active("y", &[])]);
    let seen = client.sees(SESSION, &others).unwrap();
    assert_eq!(seen["activeClient"], active("x", &[]));
}

#[test]
fn what_is_the_same_for_everybody_is_not_made_for_each() {
    let client = client();
    client.sees(SESSION, &session(&[active("x", &[])])).unwrap();
    assert!(!client.viewer.take_client_specific());
}

/// Returns the actions that a client receives for a change of a session's active clients.
fn hears(before: &[Json], after: &[Json], action: &Json) -> Vec<Json> {
    let mut client = client().knows(SESSION, None, &session(after));
    client.before = Some(wire::from_str(&session(before).to_string()).unwrap());
    let heard = client.hears(SESSION, action).into_iter();
    heard.map(|(_, action)| action).collect()
}

fn set(client: &Json) -> Json {
    json!({ "type": "session/activeClientSet", "activeClient": client })
}

fn removed(id: &str) -> Json {
    json!({ "type": "session/activeClientRemoved", "clientId": id })
}

fn changed(client: &Json) -> Json {
    json!({ "type": "session/activeClientChanged", "activeClient": client })
}

#[test]
fn others_that_come_and_go_do_not_take_a_client_s_place() {
    let (own, other) = (active("c", &["t"]), active("x", &[]));
    let both = [own.clone(), other.clone()];
    let alone = [own.clone()];
    assert_eq!(hears(&alone, &both, &set(&other)), [] as [Json; 0]);
    assert_eq!(hears(&both, &alone, &removed("x")), [] as [Json; 0]);
}

#[test]
fn when_the_shown_client_leaves_the_next_one_is_shown() {
    let (own, other) = (active("c", &["t"]), active("x", &[]));
    let both = [own.clone(), other.clone()];
    let left = hears(&both, std::slice::from_ref(&other), &removed("c"));
    assert_eq!(left, [changed(&other)]);
    let nobody = hears(std::slice::from_ref(&other), &[], &removed("x"));
    assert_eq!(nobody, [json!({ "type": "session/activeClientChanged" })]);
    let came = hears(&[], std::slice::from_ref(&own), &set(&own));
    assert_eq!(came, [changed(&own)]);
}

#[test]
fn when_what_was_before_is_not_known_whoever_is_here_is_shown() {
    let other = active("x", &[]);
    let client = client().knows(SESSION, None, &session(std::slice::from_ref(&other)));
    let heard = client.hears(SESSION, &removed("c"));
    assert_eq!(heard[0].1, changed(&other));
}

#[test]
fn other_tools_of_the_shown_client_are_told_as_such() {
    let (before, after) = (active("c", &["t"]), active("c", &["u"]));
    let heard = hears(&[before], std::slice::from_ref(&after), &set(&after));
    let tools = json!({ "type": "session/activeClientToolsChanged", "tools": [{ "name": "u" }] });
    assert_eq!(heard, [tools]);
}

#[test]
fn a_client_says_that_it_is_active_has_other_tools_and_is_no_more() {
    let client = client().knows(SESSION, None, &session(&[active("c", &["t"])]));
    let (_, said) = client.says(SESSION, changed(&active("c", &["t"])));
    assert_eq!(said, set(&active("c", &["t"])));
    let (_, said) = client.says(SESSION, json!({ "type": "session/activeClientChanged" }));
    assert_eq!(said, removed("c"));
    let null = json!({ "type": "session/activeClientChanged", "activeClient": null });
    assert_eq!(client.says(SESSION, null).1, removed("c"));
    let tools = json!({ "type": "session/activeClientToolsChanged", "tools": [{ "name": "u" }] });
    assert_eq!(client.says(SESSION, tools).1, set(&active("c", &["u"])));
}

#[test]
fn tools_of_a_client_that_is_not_active_are_refused() {
    let client = client().knows(SESSION, None, &session(&[active("x", &[])]));
    let tools = json!({ "type": "session/activeClientToolsChanged", "tools": [] });
    let Json::Object(action) = tools else {
        unreachable!()
    };
    let mut dispatch = agenthost_versions::JsonDispatch {
        channel: SESSION.to_owned(),
        action,
    };
    assert!(
        client
            .chain
            .upgrade_dispatch(&client.at(), &mut dispatch)
            .is_err()
    );
}

#[test]
fn progress_and_what_a_chat_is_doing_are_not_told() {
    let progress = json!({ "channel": "ahp-root://", "progressToken": "p", "progress": 1 });
    assert_eq!(client().is_told("root/progress", progress), []);
    let activity = json!({ "type": "chat/activityChanged", "activity": "thinking" });
    assert_eq!(client().hears(CHAT, &activity), []);
}

#[test]
fn choices_of_a_configuration_are_texts() {
    let property = json!({ "type": "number", "title": "N", "enum": [1, 2], "default": 1 });
    let schema = json!({ "type": "object", "properties": { "n": property } });
    let root = json!({ "agents": [], "config": { "schema": schema, "values": { "n": 2 } } });
    let client = client().knows("ahp-root://", None, &root);
    let seen = client.sees("ahp-root://", &root).unwrap();
    let property = &seen["config"]["schema"]["properties"]["n"];
    assert_eq!(property["enum"], json!(["1", "2"]));
    assert_eq!(property["default"], "1");
    assert_eq!(seen["config"]["values"]["n"], "2");
    let said = json!({ "type": "root/configChanged", "config": { "n": "1" } });
    let (channel, up) = client.says("ahp-root://", said.clone());
    assert_eq!(up["config"]["n"], 1);
    assert_eq!(client.hears(&channel, &up)[0].1, said);
}
