//! 1.0 ↔ 0.9.

use agenthost_protocol::version::Release;
use serde_json::json;

use crate::worlds::Client;

#[test]
fn what_is_new_in_1_0_is_not_said() {
    let client = Client::of(Release::V0_9);
    let moved = json!({ "type": "chat/movableChanged", "movable": true });
    assert_eq!(client.hears("ahp-chat:/c", &moved), []);
    let recomputing = json!({ "type": "changeset/statusChanged", "status": "recomputing" });
    let heard = client.hears("ahp-session:/s/changeset/x", &recomputing);
    assert_eq!(heard[0].1["status"], "computing");
}

#[test]
fn a_client_s_plugin_is_called_one() {
    let client = Client::of(Release::V0_9);
    let plugin = json!({ "id": "p", "uri": "virtual://p", "name": "P" });
    let (_, said) = client.says(
        "ahp-session:/s",
        json!({
            "type": "session/activeClientSet",
            "activeClient": { "clientId": "c", "tools": [], "customizations": [plugin] },
        }),
    );
    assert_eq!(said["activeClient"]["customizations"][0]["type"], "plugin");
}

#[test]
fn parts_are_found_wherever_they_are() {
    let client = Client::of(Release::V0_9);
    let chat = json!({
        "resource": "ahp-chat:/c", "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z",
        "movable": true,
    });
    let added = json!({ "type": "session/chatAdded", "summary": chat });
    let heard = client.hears("ahp-session:/s", &added);
    assert_eq!(heard[0].1["summary"].get("movable"), None);
}
