//! 0.8 ↔ 0.7.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::JsonCall;
use serde_json::json;

use crate::test_client::TestClient;

const SESSION: &str = "ahp-session:/s";

fn session() -> Json {
    let server = json!({
        "type": "mcpServer", "id": "m", "uri": "mcp://m", "name": "M",
        "state": { "kind": "ready" },
        "enablement": [
            { "kind": "session", "enabled": true },
            { "kind": "workspace", "uri": "file:///w", "enabled": false },
        ],
    });
    let plugin = json!({
        "type": "plugin", "id": "p", "uri": "virtual://p", "name": "P", "children": [server],
        "enablement": [{ "kind": "global", "enabled": false }],
    });
    json!({
        "provider": "a", "title": "", "status": 8, "lifecycle": "ready", "activeClients": [],
        "chats": [], "customizations": [plugin],
        "workingDirectories": ["file:///a", "file:///b", "file:///c"],
    })
}

fn client() -> TestClient {
    TestClient::of(Release::V0_7).with_channel(SESSION, None, &session())
}

/// A tool that a client is to run.
fn tool_of(client: &str) -> Json {
    let call = json!({
        "status": "running", "toolCallId": "k", "toolName": "t", "displayName": "T",
        "invocationMessage": "runs", "confirmed": "not-needed",
    });
    json!({
        "kind": "toolClientExecution", "id": client, "chat": "ahp-chat:/c", "turnId": "t",
        "clientId": client, "toolCall": call,
    })
}

#[test]
fn enablement_decisions_are_downgraded_to_a_flag() {
    let seen = client().downgrade_state(SESSION, &session()).unwrap();
    let plugin = &seen["customizations"][0];
    assert_eq!(plugin["enabled"], false);
    assert_eq!(plugin.get("enablement"), None);
    assert_eq!(plugin["children"][0]["enabled"], true);
    assert_eq!(plugin["children"][0].get("enablement"), None);
}

#[test]
fn a_client_plugin_without_decisions_is_enabled() {
    let plugin = json!({
        "type": "plugin", "id": "p", "uri": "virtual://p", "name": "P",
        "childEnablement": { "x": [{ "kind": "global", "enabled": false }] },
    });
    let set = json!({
        "type": "session/activeClientSet",
        "activeClient": { "clientId": "c", "tools": [], "customizations": [plugin] },
    });
    let heard = client().downgrade_action(SESSION, &set);
    let plugin = &heard[0].1["activeClient"]["customizations"][0];
    assert_eq!(plugin["enabled"], true);
    assert_eq!(plugin.get("childEnablement"), None);
}

#[test]
fn a_client_decision_about_its_own_plugin_is_global() {
    let client = client();
    let plugin = json!({
        "type": "plugin", "id": "p", "uri": "virtual://p", "name": "P", "enabled": false,
    });
    let own = json!({ "clientId": "c", "tools": [], "customizations": [plugin] });
    let set = json!({ "type": "session/activeClientSet", "activeClient": own });
    let (_, said) = client.upgrade_action(SESSION, set.clone());
    let plugin = &said["activeClient"]["customizations"][0];
    assert_eq!(
        plugin["enablement"],
        json!([{ "kind": "global", "enabled": false }])
    );
    assert_eq!(plugin.get("enabled"), None);
    assert_eq!(client.downgrade_action(SESSION, &said)[0].1, set);

    let (_, asked) = client.upgrade_request(
        "createSession",
        json!({ "channel": SESSION, "activeClient": own }),
    );
    let plugin = &asked["activeClient"]["customizations"][0];
    assert_eq!(
        plugin["enablement"],
        json!([{ "kind": "global", "enabled": false }])
    );
}

#[test]
fn a_toggle_keeps_the_decisions_of_wider_scopes() {
    let client = client();
    let toggle = |id: &str, enabled: bool| json!({ "type": "session/customizationToggled", "id": id, "enabled": enabled });
    let decided = |id: &str, enabled: bool| {
        let (_, said) = client.upgrade_action(SESSION, toggle(id, enabled));
        assert_eq!(
            client.downgrade_action(SESSION, &said)[0].1,
            toggle(id, enabled)
        );
        said["enablement"].clone()
    };
    let own = |enabled: bool| json!({ "kind": "session", "enabled": enabled });
    assert_eq!(
        decided("p", true),
        json!([own(true), { "kind": "global", "enabled": false }])
    );
    let workspace = json!({ "kind": "workspace", "uri": "file:///w", "enabled": false });
    assert_eq!(decided("m", false), json!([own(false), workspace]));
    assert_eq!(decided("unheard-of", true), json!([own(true)]));
}

#[test]
fn auth_required_has_the_uri_of_the_resource() {
    let client = client();
    let params = json!({
        "channel": "ahp-root://", "reason": "required",
        "resource": { "resource": "https://api.example", "resource_name": "API" },
    });
    let call = JsonCall {
        method: "auth/required".to_owned(),
        params: params.as_object().unwrap().clone(),
    };
    let told = client.chain.downgrade_notification(&client.at(), call);
    assert_eq!(told[0].params["resource"], "https://api.example");
}

#[test]
fn a_replaced_directory_is_sent_with_all_that_follow() {
    let mut client = client();
    client.before = Some(wire::from_str(&session().to_string()).unwrap());
    let replaced = json!({
        "type": "session/workingDirectoryReplaced",
        "directory": "file:///b", "replacement": "file:///x",
    });
    let heard = client.downgrade_action(SESSION, &replaced);
    let told: Vec<(&str, &str)> = heard
        .iter()
        .map(|(_, it)| {
            (
                it["type"].as_str().unwrap(),
                it["directory"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("session/workingDirectoryRemoved", "file:///b"),
        ("session/workingDirectoryRemoved", "file:///c"),
        ("session/workingDirectorySet", "file:///x"),
        ("session/workingDirectorySet", "file:///c"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn tools_of_another_client_are_not_needed_input() {
    let client = client();
    let set = |request: Json| json!({ "type": "session/inputNeededSet", "request": request });
    assert_eq!(
        client.downgrade_action(SESSION, &set(tool_of("another"))),
        []
    );
    assert_eq!(
        client.downgrade_action(SESSION, &set(tool_of("c"))).len(),
        1
    );
    assert!(client.viewer.take_client_specific());

    let mut state = session();
    state["inputNeeded"] = json!([tool_of("another")]);
    let seen = client.downgrade_state(SESSION, &state).unwrap();
    assert_eq!(
        (seen.get("inputNeeded"), &seen["status"]),
        (None, &json!(8))
    );
    state["inputNeeded"] = json!([tool_of("another"), tool_of("c")]);
    let seen = client.downgrade_state(SESSION, &state).unwrap();
    assert_eq!(
        (&seen["inputNeeded"][0]["id"], &seen["status"]),
        (&json!("c"), &json!(24))
    );
}

#[test]
fn needed_input_that_becomes_work_of_another_client_is_removed() {
    let mut before = session();
    let mut question = tool_of("another");
    question["kind"] = json!("toolConfirmation");
    question["toolCall"]["status"] = json!("pending-confirmation");
    before["inputNeeded"] = json!([question]);
    let mut client = client();
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let set = json!({ "type": "session/inputNeededSet", "request": tool_of("another") });
    let removed = json!({ "type": "session/inputNeededRemoved", "id": "another" });
    assert_eq!(client.downgrade_action(SESSION, &set)[0].1, removed);

    before["inputNeeded"] = json!([tool_of("another")]);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    assert_eq!(client.downgrade_action(SESSION, &removed), []);
}

#[test]
fn a_session_without_client_tools_is_not_client_specific() {
    let client = client();
    client.downgrade_state(SESSION, &session()).unwrap();
    assert!(!client.viewer.take_client_specific());
}

#[test]
fn the_primary_replacement_capability_is_omitted() {
    let directories = json!({ "immutablePrimary": true, "primaryReplacement": true });
    let agent = json!({
        "provider": "a", "displayName": "A", "description": "", "models": [],
        "capabilities": { "multipleWorkingDirectories": directories },
    });
    let seen = client()
        .downgrade_state("ahp-root://", &json!({ "agents": [agent] }))
        .unwrap();
    let directories = &seen["agents"][0]["capabilities"]["multipleWorkingDirectories"];
    assert_eq!(*directories, json!({ "immutablePrimary": true }));
}
