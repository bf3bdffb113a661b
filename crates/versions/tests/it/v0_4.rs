//! Tests for 0.5.0 ↔ 0.4: the state of sessions and their active clients.

use std::sync::Arc;

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::test_client::{TestClient, chat_with};

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
fn a_session_state_contains_its_summary() {
    let mut client = client().with_channel(CHAT, Some(SESSION), &chosen());
    client = client.with_channel(SESSION, None, &session(&[]));
    let listed = wire::from_str(&summary().to_string()).unwrap();
    client.scene.summaries.push(Arc::new(listed));
    let seen = client
        .downgrade_state(SESSION, &session(&[active("x", &[])]))
        .unwrap();
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
fn an_unlisted_session_has_the_times_of_its_chats() {
    let seen = client().downgrade_state(SESSION, &session(&[])).unwrap();
    assert_eq!(seen["summary"]["createdAt"], 5000);
    assert_eq!(seen["summary"]["modifiedAt"], 5000);
    assert_eq!(seen.get("activeClient"), None);
}

#[test]
fn session_lists_have_numeric_times() {
    let client = client()
        .with_channel(CHAT, Some(SESSION), &chosen())
        .with_channel(SESSION, None, &session(&[]));
    let list = client.downgrade_result("listSessions", json!({ "items": [summary()] }));
    let expected = json!({
        "resource": SESSION, "provider": "p", "title": "T", "status": 1, "changes": { "files": 3 },
        "createdAt": 1000, "modifiedAt": 2000, "model": old_model(), "agent": { "uri": "file:///a" },
    });
    assert_eq!(list["items"][0], expected);
    let changes = json!({ "modifiedAt": "1970-01-01T00:00:02Z", "title": "U" });
    let changed = json!({ "channel": "ahp-root://", "session": SESSION, "changes": changes });
    let told = client.downgrade_notification("root/sessionSummaryChanged", changed);
    assert_eq!(told[0].1["changes"]["modifiedAt"], 2000);
    assert_eq!(told[0].1["changes"]["model"], old_model());
}

#[test]
fn the_active_client_is_the_receiver_or_the_first() {
    let both = session(&[active("x", &[]), active("c", &["t"])]);
    let client = client();
    let seen = client.downgrade_state(SESSION, &both).unwrap();
    assert_eq!(seen["activeClient"], active("c", &["t"]));
    assert!(client.viewer.take_client_specific());
    let others = session(&[active("x", &[]), active("y", &[])]);
    let seen = client.downgrade_state(SESSION, &others).unwrap();
    assert_eq!(seen["activeClient"], active("x", &[]));
}

#[test]
fn a_shared_state_is_not_client_specific() {
    let client = client();
    client
        .downgrade_state(SESSION, &session(&[active("x", &[])]))
        .unwrap();
    assert!(!client.viewer.take_client_specific());
}

/// Returns the actions that a client receives for a change of a session's active clients.
fn downgraded_actions(before: &[Json], after: &[Json], action: &Json) -> Vec<Json> {
    let mut client = client().with_channel(SESSION, None, &session(after));
    client.before = Some(wire::from_str(&session(before).to_string()).unwrap());
    let heard = client.downgrade_action(SESSION, action).into_iter();
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
fn other_active_clients_do_not_replace_the_receiver() {
    let (own, other) = (active("c", &["t"]), active("x", &[]));
    let both = [own.clone(), other.clone()];
    let alone = [own.clone()];
    assert_eq!(
        downgraded_actions(&alone, &both, &set(&other)),
        [] as [Json; 0]
    );
    assert_eq!(
        downgraded_actions(&both, &alone, &removed("x")),
        [] as [Json; 0]
    );
}

#[test]
fn the_next_active_client_replaces_a_removed_one() {
    let (own, other) = (active("c", &["t"]), active("x", &[]));
    let both = [own.clone(), other.clone()];
    let left = downgraded_actions(&both, std::slice::from_ref(&other), &removed("c"));
    assert_eq!(left, [changed(&other)]);
    let nobody = downgraded_actions(std::slice::from_ref(&other), &[], &removed("x"));
    assert_eq!(nobody, [json!({ "type": "session/activeClientChanged" })]);
    let came = downgraded_actions(&[], std::slice::from_ref(&own), &set(&own));
    assert_eq!(came, [changed(&own)]);
}

#[test]
fn without_a_previous_state_the_present_active_client_is_sent() {
    let other = active("x", &[]);
    let client = client().with_channel(SESSION, None, &session(std::slice::from_ref(&other)));
    let heard = client.downgrade_action(SESSION, &removed("c"));
    assert_eq!(heard[0].1, changed(&other));
}

#[test]
fn changed_tools_of_the_active_client_are_a_tools_action() {
    let (before, after) = (active("c", &["t"]), active("c", &["u"]));
    let heard = downgraded_actions(&[before], std::slice::from_ref(&after), &set(&after));
    let tools = json!({ "type": "session/activeClientToolsChanged", "tools": [{ "name": "u" }] });
    assert_eq!(heard, [tools]);
}

#[test]
fn active_client_actions_are_upgraded() {
    let client = client().with_channel(SESSION, None, &session(&[active("c", &["t"])]));
    let (_, said) = client.upgrade_action(SESSION, changed(&active("c", &["t"])));
    assert_eq!(said, set(&active("c", &["t"])));
    let (_, said) =
        client.upgrade_action(SESSION, json!({ "type": "session/activeClientChanged" }));
    assert_eq!(said, removed("c"));
    let null = json!({ "type": "session/activeClientChanged", "activeClient": null });
    assert_eq!(client.upgrade_action(SESSION, null).1, removed("c"));
    let tools = json!({ "type": "session/activeClientToolsChanged", "tools": [{ "name": "u" }] });
    assert_eq!(
        client.upgrade_action(SESSION, tools).1,
        set(&active("c", &["u"]))
    );
}

#[test]
fn tools_of_an_inactive_client_are_rejected() {
    let client = client().with_channel(SESSION, None, &session(&[active("x", &[])]));
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
fn progress_and_activity_are_dropped() {
    let progress = json!({ "channel": "ahp-root://", "progressToken": "p", "progress": 1 });
    assert_eq!(
        client().downgrade_notification("root/progress", progress),
        []
    );
    let activity = json!({ "type": "chat/activityChanged", "activity": "thinking" });
    assert_eq!(client().downgrade_action(CHAT, &activity), []);
}

#[test]
fn config_enum_values_are_strings() {
    let property = json!({ "type": "number", "title": "N", "enum": [1, 2], "default": 1 });
    let schema = json!({ "type": "object", "properties": { "n": property } });
    let root = json!({ "agents": [], "config": { "schema": schema, "values": { "n": 2 } } });
    let client = client().with_channel("ahp-root://", None, &root);
    let seen = client.downgrade_state("ahp-root://", &root).unwrap();
    let property = &seen["config"]["schema"]["properties"]["n"];
    assert_eq!(property["enum"], json!(["1", "2"]));
    assert_eq!(property["default"], "1");
    assert_eq!(seen["config"]["values"]["n"], "2");
    let said = json!({ "type": "root/configChanged", "config": { "n": "1" } });
    let (channel, up) = client.upgrade_action("ahp-root://", said.clone());
    assert_eq!(up["config"]["n"], 1);
    assert_eq!(client.downgrade_action(&channel, &up)[0].1, said);
}
