//! 0.3 ↔ 0.2: messages of users, tools of clients.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use serde_json::json;

use crate::two_chat_session::{CHAT, SESSION, follower, session};

#[test]
fn a_message_is_named_user_message_without_origin() {
    let client = follower(Release::V0_2);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let turn = &state["turns"][0];
    assert_eq!(turn["userMessage"]["text"], "Hello");
    assert_eq!(turn["userMessage"].get("origin"), None);
    assert_eq!(turn.get("message"), None);
    assert_eq!(
        state["activeTurn"]["userMessage"],
        json!({ "text": "More" })
    );
    let queued = json!([{ "id": "q1", "userMessage": { "text": "Later" } }]);
    assert_eq!(state["queuedMessages"], queued);

    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-01T00:00:00Z",
        "message": { "text": "Hello", "origin": { "kind": "systemNotification" } },
    });
    let heard = client.downgrade_action(CHAT, &started);
    assert_eq!(heard[0].1["type"], "session/turnStarted");
    assert_eq!(heard[0].1["userMessage"], json!({ "text": "Hello" }));
    assert_eq!(heard[0].1.get("message"), None);
}

#[test]
fn user_messages_survive_a_round_trip() {
    let client = follower(Release::V0_2);
    for mut said in [
        json!({
            "type": "session/turnStarted", "turnId": "t", "userMessage": { "text": "Hello" },
        }),
        json!({
            "type": "session/pendingMessageSet", "kind": "queued", "id": "q",
            "userMessage": { "text": "Hello" },
        }),
        json!({
            "type": "session/toolCallConfirmed", "turnId": "t", "toolCallId": "k",
            "approved": false, "reason": "denied", "userSuggestion": { "text": "Hello" },
        }),
    ] {
        let (channel, mut meant) = client.upgrade_action(SESSION, said.clone());
        if said["type"] == "session/turnStarted" {
            assert_eq!(meant["message"]["origin"], json!({ "kind": "user" }));
            meant["startedAt"] = json!("2026-01-01T00:00:00Z");
        }
        let mut echo = client.downgrade_action(&channel, &meant).remove(0).1;
        for echo in [&mut echo, &mut said] {
            echo.as_object_mut().unwrap().remove("startedAt");
        }
        assert_eq!(echo, said);
    }
}

#[test]
fn a_tool_call_has_only_a_client_as_contributor() {
    let client = follower(Release::V0_2);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let call = &state["turns"][0]["responseParts"][3]["toolCall"];
    assert_eq!(call["toolClientId"], "c");
    assert_eq!(call.get("contributor"), None);

    let of_server = json!({ "kind": "mcp", "customizationId": "m" });
    let started = json!({
        "type": "chat/toolCallStart", "turnId": "t", "toolCallId": "k", "toolName": "ls",
        "displayName": "List", "contributor": of_server,
    });
    let heard = client.downgrade_action(CHAT, &started);
    assert_eq!(heard[0].1.get("toolClientId"), None);
    assert_eq!(heard[0].1.get("contributor"), None);
}

#[test]
fn mcp_servers_appear_only_inside_of_plugins() {
    let mut client = follower(Release::V0_2);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let customizations = state["customizations"].as_array().unwrap();
    assert_eq!(customizations.len(), 1);
    let server = json!({
        "type": "mcpServer", "id": "in", "uri": "file:///plugins/p/m", "name": "Inner",
    });
    assert_eq!(customizations[0]["children"][1], server);

    let updated = json!({
        "type": "session/customizationUpdated", "customization": session()["customizations"][1],
    });
    assert_eq!(client.downgrade_action(SESSION, &updated), []);
    client.before = Some(wire::from_str(&session().to_string()).unwrap());
    assert_eq!(client.downgrade_action(SESSION, &updated), []);
    let mut other = updated.clone();
    other["customization"]["id"] = json!("p");
    let heard = client.downgrade_action(SESSION, &other);
    let none_left = json!({ "type": "session/customizationsChanged", "customizations": [] });
    assert_eq!(heard, [(Some(SESSION.to_owned()), none_left)]);
    let ready = json!({
        "type": "session/mcpServerStateChanged", "id": "in", "state": { "kind": "ready" },
    });
    assert_eq!(client.downgrade_action(SESSION, &ready), []);
}

#[test]
fn an_mcp_server_in_a_client_plugin_is_initially_stopped() {
    let server = json!({ "type": "mcpServer", "id": "x", "uri": "virtual://x", "name": "X" });
    let plugin = json!({
        "id": "p", "uri": "virtual://p", "name": "P", "enabled": true, "children": [server],
    });
    let client = json!({ "clientId": "c", "tools": [], "customizations": [plugin] });
    let (_, asked) = follower(Release::V0_2).upgrade_request(
        "createSession",
        json!({ "channel": "ahp-session:/n", "activeClient": client }),
    );
    let server = &asked["activeClient"]["customizations"][0]["children"][0];
    assert_eq!(server["state"], json!({ "kind": "stopped" }));
}

#[test]
fn changeset_operations_have_no_status() {
    let client = follower(Release::V0_2);
    let state = json!({
        "status": "ready", "files": [],
        "operations": [{
            "id": "o", "label": "Keep", "scopes": ["changeset"], "status": "running",
        }],
    });
    let seen = client
        .downgrade_state("ahp-session:/s/changeset/x", &state)
        .unwrap();
    assert_eq!(
        seen["operations"],
        json!([{ "id": "o", "label": "Keep", "scopes": ["changeset"] }])
    );
    let change = json!({
        "type": "changeset/operationStatusChanged", "operationId": "o", "status": "idle",
    });
    assert_eq!(
        client.downgrade_action("ahp-session:/s/changeset/x", &change),
        []
    );
}
