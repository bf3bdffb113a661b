//! 0.7 ↔ 0.6.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::JsonCall;
use serde_json::json;

use crate::test_client::TestClient;

const CHAT: &str = "ahp-chat:/c";
const TIME: &str = "2026-01-01T00:00:00.000Z";

fn client() -> TestClient {
    TestClient::of(Release::V0_6)
}

fn summary(directories: &[&str]) -> Json {
    json!({
        "resource": CHAT, "title": "", "status": 1, "modifiedAt": TIME,
        "workingDirectories": directories,
    })
}

/// A chat whose running turn has one tool call.
fn chat_with(call: &Json) -> Json {
    let mut chat = summary(&["file:///a", "file:///b"]);
    chat["turns"] = json!([]);
    chat["activeTurn"] = json!({
        "id": "t", "startedAt": TIME, "message": { "text": "go", "origin": { "kind": "user" } },
        "responseParts": [{ "kind": "toolCall", "toolCall": call }],
    });
    chat
}

fn running(input: &Json) -> Json {
    json!({
        "status": "running", "toolCallId": "k", "toolName": "t", "displayName": "T",
        "invocationMessage": "runs", "confirmed": "not-needed", "toolInput": input,
    })
}

/// The tool call in a chat's running turn.
fn call_in(chat: &Json) -> &Json {
    &chat["activeTurn"]["responseParts"][0]["toolCall"]
}

fn terminal(result: &Json) -> Json {
    json!({
        "type": "terminal", "resource": "ahp-terminal:/t", "title": "T", "isPty": true,
        "result": result,
    })
}

#[test]
fn the_first_working_directory_is_the_only_one() {
    let client = client();
    let chat = client
        .downgrade_state(CHAT, &chat_with(&running(&json!("{}"))))
        .unwrap();
    assert_eq!(chat["workingDirectory"], "file:///a");
    assert_eq!(chat.get("workingDirectories"), None);

    let added = json!({ "type": "session/chatAdded", "summary": summary(&["file:///b"]) });
    let heard = client.downgrade_action("ahp-session:/s", &added);
    assert_eq!(heard[0].1["summary"]["workingDirectory"], "file:///b");

    let params = json!({
        "channel": "ahp-root://", "session": "ahp-session:/s",
        "changes": { "workingDirectories": ["file:///c", "file:///d"] },
    });
    let call = JsonCall {
        method: "root/sessionSummaryChanged".to_owned(),
        params: params.as_object().unwrap().clone(),
    };
    let told = client.chain.downgrade_notification(&client.at(), call);
    assert_eq!(
        told[0].params["changes"],
        json!({ "workingDirectory": "file:///c" })
    );
}

#[test]
fn a_chat_without_directories_is_sent_again_as_added() {
    let session = json!({
        "provider": "a", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [summary(&["file:///a"])],
    });
    let mut client = client();
    client.before = Some(wire::from_str(&session.to_string()).unwrap());
    let updated = json!({
        "type": "session/chatUpdated", "chat": CHAT,
        "changes": { "title": "T", "workingDirectories": [] },
    });
    let summary = json!({ "resource": CHAT, "title": "T", "status": 1, "modifiedAt": TIME });
    let added = json!({ "type": "session/chatAdded", "summary": summary });
    assert_eq!(
        client.downgrade_action("ahp-session:/s", &updated)[0].1,
        added
    );
}

#[test]
fn directory_actions_are_dropped() {
    for kind in [
        "session/workingDirectorySet",
        "session/workingDirectoryRemoved",
    ] {
        let action = json!({ "type": kind, "directory": "file:///a" });
        assert_eq!(client().downgrade_action("ahp-session:/s", &action), []);
    }
    let set = json!({ "type": "chat/workingDirectorySet", "directory": "file:///a" });
    assert_eq!(client().downgrade_action(CHAT, &set), []);
}

#[test]
fn the_directory_of_a_new_session_becomes_a_list() {
    let params = json!({ "channel": "ahp-session:/s", "workingDirectory": "file:///a" });
    let (_, asked) = client().upgrade_request("createSession", params);
    let expected = json!({ "channel": "ahp-session:/s", "workingDirectories": ["file:///a"] });
    assert_eq!(asked, expected);
}

#[test]
fn a_chat_source_is_upgraded_to_a_fork() {
    let source = json!({ "chat": CHAT, "turnId": "t" });
    let params = json!({ "channel": "ahp-session:/s", "chat": "ahp-chat:/d", "source": source });
    let (_, asked) = client().upgrade_request("createChat", params);
    let expected = json!({ "chat": CHAT, "turnId": "t", "kind": "fork" });
    assert_eq!(asked["source"], expected);
}

#[test]
fn stored_tool_input_is_downgraded_to_its_uri() {
    let elsewhere = json!({ "uri": "ahp-content:/1", "sizeHint": 5 });
    let seen = client()
        .downgrade_state(CHAT, &chat_with(&running(&elsewhere)))
        .unwrap();
    assert_eq!(call_in(&seen)["toolInput"], "ahp-content:/1");

    let ready = json!({
        "type": "chat/toolCallReady", "turnId": "t", "toolCallId": "k",
        "invocationMessage": "runs", "toolInput": elsewhere, "confirmed": "setting",
        "intention": "to see", "contributor": { "kind": "mcp", "customizationId": "m" },
    });
    let expected = json!({
        "type": "chat/toolCallReady", "turnId": "t", "toolCallId": "k",
        "invocationMessage": "runs", "toolInput": "ahp-content:/1", "confirmed": "setting",
    });
    assert_eq!(client().downgrade_action(CHAT, &ready)[0].1, expected);
}

#[test]
fn a_call_that_is_ready_again_repeats_its_input() {
    let ready = json!({
        "type": "chat/toolCallReady", "turnId": "t", "toolCallId": "k",
        "invocationMessage": "runs", "confirmed": "setting",
    });
    let after = |input: &Json| {
        let client = client().with_channel(CHAT, None, &chat_with(&running(input)));
        client.downgrade_action(CHAT, &ready)[0].1["toolInput"].clone()
    };
    assert_eq!(after(&json!("{}")), "{}");
    assert_eq!(after(&json!({ "uri": "ahp-content:/1" })), "ahp-content:/1");
}

#[test]
fn stored_tool_input_cannot_be_edited() {
    let confirmed = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "k", "approved": true,
        "editedToolInput": "edited",
    });
    let after = |input: &Json| {
        let client = client().with_channel(CHAT, None, &chat_with(&running(input)));
        client.downgrade_action(CHAT, &confirmed)[0]
            .1
            .get("editedToolInput")
            .cloned()
    };
    assert_eq!(after(&json!("edited")), Some(json!("edited")));
    assert_eq!(after(&json!({ "uri": "ahp-content:/1" })), None);
}

#[test]
fn a_delta_without_content_gets_an_empty_one() {
    let delta = json!({
        "type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "k", "invocationMessage": "m",
    });
    assert_eq!(client().downgrade_action(CHAT, &delta)[0].1["content"], "");
}

#[test]
fn the_result_of_a_command_is_a_separate_entry() {
    let client = client();
    let result = json!({ "exitCode": 1, "preview": "no" });
    let split = json!([
        { "type": "terminal", "resource": "ahp-terminal:/t", "title": "T" },
        {
            "type": "terminalComplete", "resource": "ahp-terminal:/t", "exitCode": 1,
            "preview": "no",
        },
    ]);
    let mut call = running(&json!("{}"));
    call["content"] = json!([terminal(&result)]);
    let seen = client.downgrade_state(CHAT, &chat_with(&call)).unwrap();
    assert_eq!(call_in(&seen)["content"], split);

    let complete = |content: &Json| {
        json!({
            "type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "k",
            "result": { "success": true, "pastTenseMessage": "ran", "content": content },
        })
    };
    let heard = client.downgrade_action(CHAT, &complete(&json!([terminal(&result)])));
    assert_eq!(heard[0].1, complete(&split));
    let (_, said) = client.upgrade_action(CHAT, complete(&split));
    assert_eq!(said["result"]["content"][0]["result"], result);
    assert_eq!(client.downgrade_action(CHAT, &said)[0].1, complete(&split));

    let changed = json!({
        "type": "chat/toolCallContentChanged", "turnId": "t", "toolCallId": "k",
        "content": [terminal(&result)],
    });
    assert_eq!(
        client.downgrade_action(CHAT, &changed)[0].1["content"],
        split
    );
}

#[test]
fn a_command_result_without_terminal_is_upgraded_to_a_terminal() {
    let said = |end: Json| {
        let changed = json!({
            "type": "chat/toolCallContentChanged", "turnId": "t", "toolCallId": "k",
            "content": [end],
        });
        client().upgrade_action(CHAT, changed).1["content"].clone()
    };
    let named = said(json!({ "type": "terminalComplete", "resource": "x:/1", "exitCode": 2 }));
    let terminal = json!({
        "type": "terminal", "resource": "x:/1", "title": "", "result": { "exitCode": 2 },
    });
    assert_eq!(named, json!([terminal]));
    let read = said(json!({ "type": "terminalComplete", "preview": "ok" }));
    assert_eq!(read, json!([{ "type": "text", "text": "ok" }]));
    assert_eq!(
        said(json!({ "type": "terminalComplete", "exitCode": 2 })),
        json!([])
    );
}

#[test]
fn a_side_chat_has_the_user_as_origin() {
    let mut chat = summary(&[]);
    chat["origin"] = json!({
        "kind": "sideChat", "chat": "ahp-chat:/d", "turnId": "t", "selection": { "text": "this" },
    });
    let added = json!({ "type": "session/chatAdded", "summary": chat });
    let heard = client().downgrade_action("ahp-session:/s", &added);
    assert_eq!(heard[0].1["summary"]["origin"], json!({ "kind": "user" }));
}

#[test]
fn an_attached_chat_is_a_resource() {
    let attached = json!({
        "type": "chat", "label": "D", "resource": "ahp-chat:/d", "endTurn": "t",
    });
    let message = json!({
        "text": "see", "origin": { "kind": "user" }, "attachments": [attached],
    });
    let draft = json!({ "type": "chat/draftChanged", "draft": message });
    let heard = client().downgrade_action(CHAT, &draft);
    let expected = json!({ "type": "resource", "label": "D", "uri": "ahp-chat:/d" });
    assert_eq!(heard[0].1["draft"]["attachments"][0], expected);
}

#[test]
fn fields_unknown_to_0_6_are_omitted() {
    let client = client();
    let agent = json!({
        "provider": "a", "displayName": "A", "description": "", "models": [],
        "capabilities": {
            "multipleChats": { "fork": true, "sideChat": true }, "multipleWorkingDirectories": {},
        },
    });
    let seen = client
        .downgrade_state("ahp-root://", &json!({ "agents": [agent] }))
        .unwrap();
    let expected = json!({ "multipleChats": { "fork": true } });
    assert_eq!(seen["agents"][0]["capabilities"], expected);
    let terminal = json!({
        "title": "", "content": [], "lifecycle": { "status": "running" }, "isPty": true,
        "claim": { "kind": "client", "clientId": "c" },
    });
    let seen = client
        .downgrade_state("ahp-terminal:/t", &terminal)
        .unwrap();
    assert_eq!(seen.get("isPty"), None);
}
