//! 1.0 ↔ 0.9.

use agenthost_protocol::version::Release;
use agenthost_versions::JsonCall;
use serde_json::json;

use crate::test_client::TestClient;

#[test]
fn actions_and_values_new_in_1_0_are_omitted() {
    let client = TestClient::of(Release::V0_9);
    let moved = json!({ "type": "chat/movableChanged", "movable": true });
    assert_eq!(client.downgrade_action("ahp-chat:/c", &moved), []);
    // VS Code, finding 16: a change that has nothing in it for 0.9.
    let changes = json!({ "changes": { "additions": 1, "deletions": 0, "files": 1 } });
    let updated =
        json!({ "type": "session/chatUpdated", "chat": "ahp-chat:/c", "changes": changes });
    assert_eq!(client.downgrade_action("ahp-session:/s", &updated), []);
    let recomputing = json!({ "type": "changeset/statusChanged", "status": "recomputing" });
    let heard = client.downgrade_action("ahp-session:/s/changeset/x", &recomputing);
    assert_eq!(heard[0].1["status"], "computing");
}

#[test]
fn a_client_plugin_gets_the_type_plugin() {
    let client = TestClient::of(Release::V0_9);
    let plugin = json!({ "id": "p", "uri": "virtual://p", "name": "P" });
    let (_, said) = client.upgrade_action(
        "ahp-session:/s",
        json!({
            "type": "session/activeClientSet",
            "activeClient": { "clientId": "c", "tools": [], "customizations": [plugin] },
        }),
    );
    assert_eq!(said["activeClient"]["customizations"][0]["type"], "plugin");
}

/// VS Code 1.139.1 reads `nonce` of the plugins in a session's state.
#[test]
fn the_nonce_of_a_client_plugin_is_restored_from_meta() {
    let client = TestClient::of(Release::V0_9);
    let hears = |meta: serde_json::Value| {
        let plugin = json!({
            "type": "plugin", "id": "vscode-synced-customization:/agent-host-shell-1",
            "uri": "vscode-synced-customization:/agent-host-shell-1",
            "name": "VS Code Synced Data", "clientId": "c", "_meta": meta,
        });
        let updated = json!({ "type": "session/customizationUpdated", "customization": plugin });
        client.downgrade_action("ahp-session:/s", &updated)[0].1["customization"].clone()
    };
    let alone = hears(json!({ "agenthost.nonce": "-1592" }));
    assert_eq!(alone["nonce"], "-1592");
    assert_eq!(alone.get("_meta"), None);
    let beside = hears(json!({ "agenthost.nonce": "1", "mcpDefaultCwds": {} }));
    assert_eq!(beside["nonce"], "1");
    assert_eq!(beside["_meta"], json!({ "mcpDefaultCwds": {} }));
    assert_eq!(hears(json!({})).get("nonce"), None);
}

#[test]
fn nested_chat_summaries_are_downgraded() {
    let client = TestClient::of(Release::V0_9);
    let chat = json!({
        "resource": "ahp-chat:/c", "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z",
        "movable": true,
    });
    let added = json!({ "type": "session/chatAdded", "summary": chat });
    let heard = client.downgrade_action("ahp-session:/s", &added);
    assert_eq!(heard[0].1["summary"].get("movable"), None);
}

#[test]
fn summary_changes_without_known_fields_are_dropped() {
    let client = TestClient::of(Release::V0_9);
    let told = |changes: serde_json::Value| {
        let params = json!({ "channel": "ahp-root://", "session": "s:/1", "changes": changes });
        let call = JsonCall {
            method: "root/sessionSummaryChanged".to_owned(),
            params: params.as_object().unwrap().clone(),
        };
        client
            .chain
            .downgrade_notification(&client.at(), call)
            .len()
    };
    assert_eq!(told(json!({ "defaultChat": "c:/1" })), 0);
    assert_eq!(told(json!({ "defaultChat": "c:/1", "title": "T" })), 1);
}

#[test]
fn malformed_fields_of_an_edit_are_removed() {
    let client = TestClient::of(Release::V0_9);
    let side = json!({ "uri": "file:///a", "content": { "uri": "file:///b" } });
    let complete = |content: serde_json::Value| {
        let result = json!({ "success": true, "pastTenseMessage": "done", "content": [content] });
        let (_, said) = client.upgrade_action(
            "ahp-chat:/c",
            json!({
                "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "k", "result": result,
            }),
        );
        said["result"]["content"][0].clone()
    };
    let good = json!({ "type": "fileEdit", "after": side, "diff": { "added": 1 } });
    assert_eq!(complete(good.clone()), good);
    let bad = json!({
        "type": "fileEdit", "before": "text", "after": side, "diff": { "added": "many" },
    });
    assert_eq!(complete(bad), json!({ "type": "fileEdit", "after": side }));
}

#[test]
fn editing_an_automation_keeps_unknown_customizations() {
    let plugin = json!({ "type": "plugin", "id": "p", "uri": "virtual://p", "name": "P" });
    let template = json!({ "provider": "a", "customizations": [plugin] });
    let entry = json!({
        "resource": "ahp-automation:/1", "runs": [], "operations": ["update"], "runCount": 3,
        "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        "definition": {
            "title": "A", "message": { "text": "go", "origin": { "kind": "user" } },
            "session": template, "enabled": true, "triggers": [],
            "disableConditions": [{ "kind": "afterRuns", "max": 3 }],
        },
    });
    let state = json!({ "entries": [entry] });
    let client = TestClient::of(Release::V0_9).with_channel("ahp-automations://", None, &state);

    let seen = client
        .downgrade_state("ahp-automations://", &state)
        .unwrap();
    assert_eq!(seen["entries"][0].get("runCount"), None);
    let definition = &seen["entries"][0]["definition"];
    assert_eq!(definition["session"], json!({ "provider": "a" }));
    assert_eq!(definition.get("disableConditions"), None);

    let (_, said) = client.upgrade_action(
        "ahp-automations://",
        json!({
            "type": "automation/updateRequested", "resource": "ahp-automation:/1",
            "changes": { "session": { "provider": "b" } },
        }),
    );
    let session = &said["changes"]["session"];
    assert_eq!(session["provider"], "b");
    assert_eq!(session["customizations"][0]["id"], "p");
}

#[test]
fn item_limits_of_settings_are_omitted() {
    let client = TestClient::of(Release::V0_9);
    let list = json!({ "type": "array", "title": "L", "minItems": 1, "maxItems": 2 });
    let state = json!({
        "agents": [],
        "config": { "schema": { "type": "object", "properties": { "l": list } }, "values": {} },
    });
    let seen = client.downgrade_state("ahp-root://", &state).unwrap();
    let property = &seen["config"]["schema"]["properties"]["l"];
    assert_eq!(*property, json!({ "type": "array", "title": "L" }));
}
