//! 0.5.2 ↔ 0.5.1.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use serde_json::json;

use crate::test_client::{TestClient, call, chat_with, question};

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";

fn client() -> TestClient {
    TestClient::of(Release::V0_5_1)
}

#[test]
fn answered_input_requests_are_not_in_the_response() {
    let mut answered = question("q");
    answered["response"] = json!("accept");
    let chat = chat_with(24, &[answered.clone(), question("r")]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    assert_eq!(seen["activeTurn"]["responseParts"], json!([]));
    assert_eq!(seen["inputRequests"][0]["id"], "r");
    let part = json!({ "type": "chat/responsePart", "turnId": "t", "part": answered });
    assert_eq!(client().downgrade_action(CHAT, &part), []);
}

#[test]
fn review_actions_are_dropped() {
    let reviewed = json!({
        "type": "changeset/filesReviewChanged", "files": ["a"], "reviewed": true,
    });
    assert_eq!(
        client().downgrade_action("ahp-session:/s/changeset/x", &reviewed),
        []
    );
    let file = json!({ "id": "a", "edit": {}, "reviewed": true });
    let set = json!({ "type": "changeset/fileSet", "file": file });
    let heard = client().downgrade_action("ahp-session:/s/changeset/x", &set);
    assert_eq!(heard[0].1["file"].get("reviewed"), None);
}

#[test]
fn server_start_requests_are_sent_as_state_changes() {
    let start = json!({ "type": "session/mcpServerStartRequested", "id": "m" });
    let state = |kind| json!({ "type": "session/mcpServerStateChanged", "id": "m", "state": { "kind": kind } });
    assert_eq!(
        client().downgrade_action(SESSION, &start)[0].1,
        state("starting")
    );
    let stop = json!({ "type": "session/mcpServerStopRequested", "id": "m" });
    assert_eq!(
        client().downgrade_action(SESSION, &stop)[0].1,
        state("stopped")
    );
}

#[test]
fn only_mcp_servers_in_a_plugin_can_be_disabled() {
    let base = |id, kind| json!({ "type": kind, "id": id, "uri": "file:///x", "name": id, "_meta": { "a": 1 } });
    let mut skill = base("skill", "skill");
    skill["enabled"] = json!(true);
    skill["disableModelInvocation"] = json!(true);
    skill["disableUserInvocation"] = json!(true);
    let mut server = base("server", "mcpServer");
    server["state"] = json!({ "kind": "stopped" });
    let mut plugin = base("plugin", "plugin");
    plugin["version"] = json!("1");
    plugin["children"] = json!([skill, server]);
    let session = json!({
        "provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [], "customizations": [plugin],
    });
    let mut client = client();
    let seen = client.downgrade_state(SESSION, &session).unwrap();
    let plugin = &seen["customizations"][0];
    assert_eq!((plugin.get("version"), plugin.get("_meta")), (None, None));
    let expected = json!({
        "type": "skill", "id": "skill", "uri": "file:///x", "name": "skill",
        "disableModelInvocation": true,
    });
    assert_eq!(plugin["children"][0], expected);

    client.before = Some(wire::from_str(&session.to_string()).unwrap());
    let toggled = |id| {
        let off = json!({ "kind": "session", "enabled": false });
        json!({ "type": "session/customizationToggled", "id": id, "enablement": [off] })
    };
    assert_eq!(client.downgrade_action(SESSION, &toggled("skill")), []);
    let heard = client.downgrade_action(SESSION, &toggled("server"));
    assert_eq!(heard[0].1["type"], "session/customizationUpdated");
    assert_eq!(heard[0].1["customization"]["children"][1]["id"], "server");
    let heard = client.downgrade_action(SESSION, &toggled("plugin"));
    assert_eq!(heard[0].1["type"], "session/customizationToggled");
}

#[test]
fn the_exit_code_of_a_command_is_omitted() {
    let mut call = call("running", "k");
    call["content"] = json!([
        { "type": "terminalComplete", "exitCode": 0 },
        { "type": "text", "text": "x" },
    ]);
    let chat = chat_with(8, &[json!({ "kind": "toolCall", "toolCall": call })]);
    let seen = client().downgrade_state(CHAT, &chat).unwrap();
    let content = &seen["activeTurn"]["responseParts"][0]["toolCall"]["content"];
    assert_eq!(*content, json!([{ "type": "text", "text": "x" }]));
}

#[test]
fn the_server_info_is_omitted() {
    let result = json!({
        "protocolVersion": "0.5.1", "serverSeq": 1, "snapshots": [],
        "serverInfo": { "name": "agenthost" }, "terminalCommandPrefix": "!",
    });
    let seen = client().downgrade_result("initialize", result);
    let expected = json!({ "protocolVersion": "0.5.1", "serverSeq": 1, "snapshots": [] });
    assert_eq!(seen, expected);
}
