//! 0.4 ↔ 0.3: a session and its conversation are one.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::{JsonDispatch, VersionChain};
use serde_json::json;

use crate::two_chat_session::{CHAT, SESSION, WORKER, client, follower, session};

#[test]
fn a_session_contains_the_turns_of_its_default_chat() {
    let state = follower(Release::V0_3)
        .downgrade_state(SESSION, &session())
        .unwrap();
    assert_eq!(state["turns"][0]["id"], "t1");
    assert_eq!(state["activeTurn"]["id"], "t2");
    assert_eq!(state["queuedMessages"][0]["id"], "q1");
    assert_eq!(state.get("chats"), None);
    assert_eq!(state.get("defaultChat"), None);
}

#[test]
fn a_session_keeps_the_chat_of_the_subscription() {
    let mut client = client(Release::V0_3);
    client
        .viewer
        .map_session(Uri::from(SESSION), Uri::from(WORKER));
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    assert_eq!(state["turns"][0]["id"], "w1");
    assert_eq!(state.get("activeTurn"), None);
    let (channel, _) = client.upgrade_action(
        SESSION,
        json!({ "type": "session/pendingMessageRemoved", "kind": "queued", "id": "q1" }),
    );
    assert_eq!(channel, WORKER);
}

#[test]
fn a_session_without_a_chat_has_no_turns() {
    let mut alone = session();
    alone.as_object_mut().unwrap().remove("defaultChat");
    let client =
        crate::test_client::TestClient::of(Release::V0_3).with_channel(SESSION, None, &alone);
    let state = client.downgrade_state(SESSION, &alone).unwrap();
    assert_eq!(state["turns"], json!([]));
}

#[test]
fn chat_actions_become_session_actions() {
    let delta = json!({
        "type": "chat/delta", "turnId": "t2", "partId": "p", "content": "x", "_meta": { "a": 1 },
    });
    let heard = follower(Release::V0_3).downgrade_action(CHAT, &delta);
    let told = json!({ "type": "session/delta", "turnId": "t2", "partId": "p", "content": "x" });
    assert_eq!(heard, [(Some(SESSION.to_owned()), told)]);
}

#[test]
fn a_new_turn_does_not_mark_a_read_session_as_unread() {
    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-01T00:00:00Z",
        "message": { "text": "Hello", "origin": { "kind": "user" } },
    });
    let client = follower(Release::V0_3);
    let heard = client.downgrade_action(CHAT, &started);
    let read = json!({ "type": "session/isReadChanged", "isRead": true });
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[1], (Some(SESSION.to_owned()), read));
    assert_eq!(client.downgrade_action(WORKER, &started).len(), 1);
}

#[test]
fn actions_of_other_chats_have_the_uri_of_the_chat() {
    let delta = json!({ "type": "chat/delta", "turnId": "w1", "partId": "p", "content": "x" });
    let heard = follower(Release::V0_3).downgrade_action(WORKER, &delta);
    assert_eq!(heard[0].0.as_deref(), Some(WORKER));
    assert_eq!(heard[0].1["type"], "session/delta");
}

#[test]
fn chat_list_and_annotation_actions_are_dropped() {
    let client = follower(Release::V0_3);
    let removed = json!({ "type": "session/chatRemoved", "chat": WORKER });
    assert_eq!(client.downgrade_action(SESSION, &removed), []);
    let changed = json!({ "type": "session/defaultChatChanged", "defaultChat": WORKER });
    assert_eq!(client.downgrade_action(SESSION, &changed), []);
    let annotation = json!({ "type": "annotations/removed", "annotationId": "a" });
    assert_eq!(
        client.downgrade_action("ahp-session:/s/annotations", &annotation),
        []
    );
}

#[test]
fn watches_have_no_snapshot_and_annotations_no_subscription() {
    let chain = VersionChain::for_release(Release::V0_3);
    assert!(chain.can_subscribe(ChannelKind::ResourceWatch));
    assert!(!chain.can_subscribe(ChannelKind::Annotations));
    let watch = json!({ "root": "file:///w", "recursive": true });
    let client = follower(Release::V0_3);
    assert_eq!(
        client.downgrade_state("ahp-resource-watch:/1", &watch),
        None
    );
}

#[test]
fn every_client_action_of_a_chat_survives_a_round_trip() {
    let client = follower(Release::V0_3);
    let message = json!({ "text": "Hello", "origin": { "kind": "user" } });
    let said = [
        json!({ "type": "session/turnStarted", "turnId": "t", "message": message }),
        json!({ "type": "session/turnCancelled", "turnId": "t" }),
        json!({
            "type": "session/toolCallConfirmed", "turnId": "t", "toolCallId": "k",
            "approved": false, "reason": "denied", "userSuggestion": message,
        }),
        json!({
            "type": "session/toolCallComplete", "turnId": "t", "toolCallId": "k",
            "result": { "success": true, "pastTenseMessage": "Done" },
        }),
        json!({
            "type": "session/toolCallResultConfirmed", "turnId": "t", "toolCallId": "k",
            "approved": true,
        }),
        json!({
            "type": "session/toolCallContentChanged", "turnId": "t", "toolCallId": "k",
            "content": [{ "type": "text", "text": "x" }],
        }),
        json!({
            "type": "session/pendingMessageSet", "kind": "queued", "id": "q", "message": message,
        }),
        json!({ "type": "session/pendingMessageRemoved", "kind": "queued", "id": "q" }),
        json!({ "type": "session/queuedMessagesReordered", "order": ["q"] }),
        json!({
            "type": "session/inputAnswerChanged", "requestId": "r", "questionId": "q",
            "answer": { "state": "draft", "value": { "kind": "text", "value": "x" } },
        }),
        json!({ "type": "session/inputCompleted", "requestId": "r", "response": "accept" }),
        json!({ "type": "session/truncated", "turnId": "t" }),
    ];
    for said in said {
        let (channel, mut meant) = client.upgrade_action(SESSION, said.clone());
        assert_eq!(channel, CHAT);
        // The host stamps what it says itself.
        if said["type"] == "session/turnStarted" {
            meant["startedAt"] = json!("2026-01-01T00:00:00Z");
        }
        if said["type"] == "session/turnCancelled" {
            meant["duration"] = json!(1);
        }
        let mut heard = client.downgrade_action(CHAT, &meant);
        let (channel, mut echo) = heard.remove(0);
        assert_eq!(channel.as_deref(), Some(SESSION));
        for stamp in ["startedAt", "duration"] {
            echo.as_object_mut().unwrap().remove(stamp);
        }
        assert_eq!(echo, said);
    }
}

#[test]
fn a_message_with_any_origin_is_from_the_user() {
    let (_, said) = follower(Release::V0_3).upgrade_action(
        SESSION,
        json!({
            "type": "session/turnStarted", "turnId": "t",
            "message": { "text": "Hello", "origin": "the sidebar" },
        }),
    );
    assert_eq!(said["message"]["origin"], json!({ "kind": "user" }));
}

#[test]
fn a_chat_as_session_accepts_messages_but_no_rename() {
    let client = follower(Release::V0_3);
    let (channel, said) = client.upgrade_action(WORKER, json!({ "type": "session/truncated" }));
    assert_eq!(
        (channel.as_str(), &said["type"]),
        (WORKER, &json!("chat/truncated"))
    );
    let mut rename = JsonDispatch {
        channel: WORKER.to_owned(),
        action: wire::from_str(r#"{ "type": "session/titleChanged", "title": "x" }"#).unwrap(),
    };
    let refused = client.chain.upgrade_dispatch(&client.at(), &mut rename);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "this action belongs to the session channel, not to a chat"
    );
}

#[test]
fn requests_for_a_session_go_to_its_chat() {
    let client = follower(Release::V0_3);
    let text = json!({ "channel": SESSION, "kind": "userMessage", "text": "@a", "offset": 2 });
    let (_, asked) = client.upgrade_request("completions", text);
    assert_eq!(asked["channel"], CHAT);
    let (_, asked) = client.upgrade_request("fetchTurns", json!({ "channel": SESSION }));
    assert_eq!(asked["channel"], CHAT);
}

#[test]
fn reconnect_to_a_session_also_subscribes_to_its_chat() {
    let client = follower(Release::V0_3);
    let (_, asked) = client.upgrade_request(
        "reconnect",
        json!({
            "channel": "ahp-root://", "clientId": "c", "lastSeenServerSeq": 1,
            "subscriptions": ["ahp-root://", SESSION],
        }),
    );
    assert_eq!(
        asked["subscriptions"],
        json!(["ahp-root://", SESSION, CHAT])
    );

    let snapshots = json!([{ "resource": SESSION }, { "resource": CHAT }]);
    let result = json!({ "type": "snapshot", "snapshots": snapshots });
    let result = client
        .chain
        .downgrade_result(&client.at(), "reconnect", result);
    assert_eq!(result["snapshots"], json!([{ "resource": SESSION }]));

    let missing = json!([CHAT, SESSION, WORKER]);
    let result = json!({ "type": "replay", "actions": [], "missing": missing });
    let result = client
        .chain
        .downgrade_result(&client.at(), "reconnect", result);
    assert_eq!(result["missing"], json!([SESSION, WORKER]));
}

#[test]
fn line_numbers_are_upgraded_to_a_range() {
    let (_, asked) = follower(Release::V0_3).upgrade_request(
        "invokeChangesetOperation",
        json!({
            "channel": "ahp-session:/s/changeset/x", "operationId": "o",
            "target": {
                "kind": "range", "resource": "file:///a", "range": { "start": 3, "end": 5 },
            },
        }),
    );
    assert_eq!(
        asked["target"]["range"],
        json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 5, "character": 0 } })
    );
}

fn operation(id: &str, status: &str) -> Json {
    json!({ "id": id, "label": id, "scopes": ["changeset"], "status": status, "group": "g" })
}

fn file(id: &str) -> Json {
    json!({ "id": id, "edit": { "diff": { "added": 1, "removed": 0 } } })
}

#[test]
fn changed_changeset_content_is_sent_file_by_file() {
    let client = follower(Release::V0_3);
    let heard = client.downgrade_action(
        "ahp-session:/s/changeset/x",
        &json!({
            "type": "changeset/contentChanged", "files": [file("a"), file("b")],
            "operations": [operation("keep", "idle"), operation("undo", "disabled")],
        }),
    );
    let told: Vec<Json> = heard.into_iter().map(|(_, action)| action).collect();
    let kept = json!({ "id": "keep", "label": "keep", "scopes": ["changeset"], "status": "idle" });
    assert_eq!(
        told,
        [
            json!({ "type": "changeset/cleared" }),
            json!({ "type": "changeset/fileSet", "file": file("a") }),
            json!({ "type": "changeset/fileSet", "file": file("b") }),
            json!({ "type": "changeset/operationsChanged", "operations": [kept] }),
        ]
    );
}

#[test]
fn disabled_operations_are_omitted() {
    let mut client = follower(Release::V0_3);
    let state = json!({
        "status": "ready", "files": [],
        "operations": [operation("keep", "idle"), operation("undo", "disabled")],
    });
    let seen = client
        .downgrade_state("ahp-session:/s/changeset/x", &state)
        .unwrap();
    assert_eq!(seen["operations"].as_array().unwrap().len(), 1);

    client.before = Some(wire::from_str(&state.to_string()).unwrap());
    let names = |id: &str, status: &str| {
        let change = json!({
            "type": "changeset/operationStatusChanged", "operationId": id, "status": status,
        });
        let heard = client.downgrade_action("ahp-session:/s/changeset/x", &change);
        heard[0].1.clone()
    };
    let back = names("undo", "idle");
    assert_eq!(back["type"], "changeset/operationsChanged");
    assert_eq!(back["operations"].as_array().unwrap().len(), 2);
    let gone = names("keep", "disabled");
    assert_eq!(gone["operations"], json!([]));
    let running = names("keep", "running");
    assert_eq!(running["type"], "changeset/operationStatusChanged");
}

#[test]
fn an_annotations_attachment_is_downgraded_to_its_label() {
    let state = follower(Release::V0_3)
        .downgrade_state(SESSION, &session())
        .unwrap();
    let attachments = &state["turns"][0]["message"]["attachments"];
    assert_eq!(
        attachments[4],
        json!({ "type": "simple", "label": "notes" })
    );
}
