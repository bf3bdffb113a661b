//! 0.3 ↔ 0.2: messages of users, tools of clients.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use serde_json::json;

use crate::older::{CHAT, SESSION, follower, session};

#[test]
fn a_message_is_the_user_s_and_is_called_so() {
    let client = follower(Release::V0_2);
    let state = client.sees(SESSION, &session()).unwrap();
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
    let heard = client.hears(CHAT, &started);
    assert_eq!(heard[0].1["type"], "session/turnStarted");
    assert_eq!(heard[0].1["userMessage"], json!({ "text": "Hello" }));
    assert_eq!(heard[0].1.get("message"), None);
}

#[test]
fn what_a_user_says_comes_back_as_it_was() {
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
        let (channel, mut meant) = client.says(SESSION, said.clone());
        if said["type"] == "session/turnStarted" {
            assert_eq!(meant["message"]["origin"], json!({ "kind": "user" }));
            meant["startedAt"] = json!("2026-01-01T00:00:00Z");
        }
        let mut echo = client.hears(&channel, &meant).remove(0).1;
        for echo in [&mut echo, &mut said] {
            echo.as_object_mut().unwrap().remove("startedAt");
        }
        assert_eq!(echo, said);
    }
}

#[test]
fn a_tool_is_a_client_s_or_nobody_s() {
    let client = follower(Release::V0_2);
    let state = client.sees(SESSION, &session()).unwrap();
    let call = &state["turns"][0]["responseParts"][3]["toolCall"];
    assert_eq!(call["toolClientId"], "c");
    assert_eq!(call.get("contributor"), None);

    let of_server = json!({ "kind": "mcp", "customizationId": "m" });
    let started = json!({
        "type": "chat/toolCallStart", "turnId": "t", "toolCallId": "k", "toolName": "ls",
        "displayName": "List", "contributor": of_server,
    });
    let heard = client.hears(CHAT, &started);
    assert_eq!(heard[0].1.get("toolClientId"), None);
    assert_eq!(heard[0].1.get("contributor"), None);
}

#[test]
fn a_server_of_tools_stands_in_a_plugin_or_nowhere() {
    let mut client = follower(Release::V0_2);
    let state = client.sees(SESSION, &session()).unwrap();
    let customizations = state["customizations"].as_array().unwrap();
    assert_eq!(customizations.len(), 1);
    let server = json!({
        "type": "mcpServer", "id": "in", "uri": "file:///plugins/p/m", "name": "Inner",
    });
    assert_eq!(customizations[0]["children"][1], server);

    let updated = json!({
        "type": "session/customizationUpdated", "customization": session()["customizations"][1],
    });
    assert_eq!(client.hears(SESSION, &updated), []);
    client.before = Some(wire::from_str(&session().to_string()).unwrap());
    assert_eq!(client.hears(SESSION, &updated), []);
    let mut other = updated.clone();
    other["customization"]["id"] = json!("p");
    let heard = client.hears(SESSION, &other);
    let none_left = json!({ "type": "session/customizationsChanged", "customizations": [] });
    assert_eq!(heard, [(Some(SESSION.to_owned()), none_left)]);
    let ready = json!({
        "type": "session/mcpServerStateChanged", "id": "in", "state": { "kind": "ready" },
    });
    assert_eq!(client.hears(SESSION, &ready), []);
}

#[test]
fn a_server_in_a_client_s_plugin_is_stopped_until_the_host_says_otherwise() {
    let server = json!({ "type": "mcpServer", "id": "x", "uri": "virtual://x", "name": "X" });
    let plugin = json!({
        "id": "p", "uri": "virtual://p", "name": "P", "enabled": true, "children": [server],
    });
    let client = json!({ "clientId": "c", "tools": [], "customizations": [plugin] });
    let (_, asked) = follower(Release::V0_2).asks(
        "createSession",
        json!({ "channel": "ahp-session:/n", "activeClient": client }),
    );
    let server = &asked["activeClient"]["customizations"][0]["children"][0];
    assert_eq!(server["state"], json!({ "kind": "stopped" }));
}

#[test]
fn operations_on_changes_have_no_status() {
    let client = follower(Release::V0_2);
    let state = json!({
        "status": "ready", "files": [],
        "operations": [{
            "id": "o", "label": "Keep", "scopes": ["changeset"], "status": "running",
        }],
    });
    let seen = client.sees("ahp-session:/s/changeset/x", &state).unwrap();
    assert_eq!(
        seen["operations"],
        json!([{ "id": "o", "label": "Keep", "scopes": ["changeset"] }])
    );
    let change = json!({
        "type": "changeset/operationStatusChanged", "operationId": "o", "status": "idle",
    });
    assert_eq!(client.hears("ahp-session:/s/changeset/x", &change), []);
}
