//! Tests for 0.2 ↔ 0.1, which had no channels.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::{JsonCall, JsonDispatch, VersionChain};
use serde_json::json;

use crate::test_client::TestClient;
use crate::two_chat_session::{CHAT, SESSION, WORKER, follower, session};

const TERMINAL: &str = "ahp-terminal:/t";

fn notified(client: &TestClient, method: &str, params: Json) -> Vec<(String, Json)> {
    let call = JsonCall {
        method: method.to_owned(),
        params: wire::from_str(&params.to_string()).unwrap(),
    };
    let calls = client.chain.downgrade_notification(&client.at(), call);
    let pair = |call: JsonCall| (call.method, Json::Object(call.params));
    calls.into_iter().map(pair).collect()
}

#[test]
fn an_action_has_the_uri_of_its_channel_in_a_field() {
    let client = follower(Release::V0_1);
    let delta = json!({ "type": "chat/delta", "turnId": "t", "partId": "p", "content": "x" });
    let told = json!({
        "type": "session/delta", "turnId": "t", "partId": "p", "content": "x", "session": SESSION,
    });
    assert_eq!(client.downgrade_action(CHAT, &delta), [(None, told)]);
    assert_eq!(
        client.downgrade_action(WORKER, &delta)[0].1["session"],
        WORKER
    );

    let data = json!({ "type": "terminal/data", "data": "x" });
    let told = json!({ "type": "terminal/data", "data": "x", "terminal": TERMINAL });
    assert_eq!(client.downgrade_action(TERMINAL, &data), [(None, told)]);

    let sessions = json!({ "type": "root/activeSessionsChanged", "activeSessions": 2 });
    assert_eq!(
        client.downgrade_action("ahp-root://", &sessions),
        [(None, sessions)]
    );
}

#[test]
fn changeset_and_watch_actions_are_dropped() {
    let client = follower(Release::V0_1);
    let cleared = json!({ "type": "changeset/cleared" });
    assert_eq!(
        client.downgrade_action("ahp-session:/s/changeset/x", &cleared),
        []
    );
    let changesets = json!({ "type": "session/changesetsChanged" });
    assert_eq!(client.downgrade_action(SESSION, &changesets), []);
    let watched = json!({ "type": "resourceWatch/changed", "changes": { "items": [] } });
    assert_eq!(
        client.downgrade_action("ahp-resource-watch:/1", &watched),
        []
    );
    let chain = VersionChain::for_release(Release::V0_1);
    for kind in ChannelKind::ALL {
        let followed = matches!(
            kind,
            ChannelKind::Root | ChannelKind::Session | ChannelKind::Chat | ChannelKind::Terminal
        );
        // Automations are left out by other steps.
        if !matches!(kind, ChannelKind::AutomationRun | ChannelKind::Automations) {
            assert_eq!(chain.can_subscribe(*kind), followed, "{kind:?}");
        }
    }
}

#[test]
fn the_channel_of_an_action_is_read_from_its_fields() {
    let client = follower(Release::V0_1);
    let (channel, said) = client.upgrade_action(
        "",
        json!({
            "type": "session/turnStarted", "session": SESSION, "turnId": "t",
            "userMessage": { "text": "Hello" },
        }),
    );
    assert_eq!(channel, CHAT);
    assert_eq!(said["type"], "chat/turnStarted");
    assert_eq!(said["message"]["text"], "Hello");
    assert_eq!(said.get("session"), None);
    let input = json!({ "type": "terminal/input", "terminal": TERMINAL, "data": "x" });
    let (channel, said) = client.upgrade_action("", input);
    assert_eq!(channel, TERMINAL);
    assert_eq!(said, json!({ "type": "terminal/input", "data": "x" }));
    let config = json!({ "type": "root/configChanged", "config": { "a": 1 } });
    assert_eq!(client.upgrade_action("", config).0, "ahp-root://");

    let mut nowhere = JsonDispatch {
        channel: String::new(),
        action: wire::from_str(r#"{ "type": "session/truncated" }"#).unwrap(),
    };
    let refused = client.chain.upgrade_dispatch(&client.at(), &mut nowhere);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the action has no `session`"
    );
}

#[test]
fn every_client_action_survives_a_round_trip() {
    let client = follower(Release::V0_1);
    let message = json!({
        "text": "Hello",
        "attachments": [
            { "type": "file", "uri": "file:///a.rs" },
            { "type": "directory", "uri": "file:///src", "displayName": "src" },
            { "type": "selection", "uri": "file:///b.rs", "displayName": "b.rs:1" },
            { "type": "file", "uri": "data:image/png;base64,AAAA", "displayName": "shot" },
        ],
    });
    let said = [
        json!({ "type": "session/turnStarted", "turnId": "t", "userMessage": message }),
        json!({
            "type": "session/pendingMessageSet", "kind": "steering", "id": "q",
            "userMessage": message,
        }),
        json!({
            "type": "session/toolCallConfirmed", "turnId": "t", "toolCallId": "k",
            "approved": true, "confirmed": "user-action",
        }),
        json!({ "type": "session/titleChanged", "title": "x" }),
        json!({ "type": "session/isReadChanged", "isRead": true }),
        json!({ "type": "session/isArchivedChanged", "isArchived": true }),
        json!({ "type": "session/configChanged", "config": { "a": "b" } }),
    ];
    for said in said {
        let mut said = said;
        said["session"] = json!(SESSION);
        let (channel, mut meant) = client.upgrade_action("", said.clone());
        if said["type"] == "session/turnStarted" {
            meant["startedAt"] = json!("2026-01-01T00:00:00Z");
        }
        let (_, mut echo) = client.downgrade_action(&channel, &meant).remove(0);
        echo.as_object_mut().unwrap().remove("startedAt");
        assert_eq!(echo, said);
    }
}

#[test]
fn notifications_are_wrapped_in_one_method() {
    let client = follower(Release::V0_1);
    let removed = json!({ "channel": "ahp-root://", "session": SESSION });
    let told = json!({ "notification": { "type": "notify/sessionRemoved", "session": SESSION } });
    assert_eq!(
        notified(&client, "root/sessionRemoved", removed),
        [("notification".to_owned(), told)]
    );
    let changed = json!({
        "channel": "ahp-root://", "session": SESSION, "changes": { "title": "x" },
    });
    let heard = notified(&client, "root/sessionSummaryChanged", changed);
    let told = &heard[0].1["notification"];
    assert_eq!(told["type"], "notify/sessionSummaryChanged");
    assert_eq!(told["changes"], json!({ "title": "x" }));
    let logs = json!({ "channel": "ahp-otlp:/logs", "payload": {} });
    assert_eq!(notified(&client, "otlp/exportLogs", logs), []);
}

#[test]
fn the_handshake_has_a_numeric_version_and_client_uris() {
    let mut client = follower(Release::V0_1);
    let (_, asked) = client.upgrade_request(
        "initialize",
        json!({
            "protocolVersion": 1, "clientId": "c",
            "initialSubscriptions": ["root:/", "copilot:/1"],
        }),
    );
    assert_eq!(asked["protocolVersions"], json!(["0.1.0"]));
    assert_eq!(asked.get("protocolVersion"), None);
    assert_eq!(asked["channel"], "ahp-root://");
    assert_eq!(
        asked["initialSubscriptions"],
        json!(["ahp-root://", "copilot:/1"])
    );

    client.viewer.set_root_uri("root:/");
    let snapshot = agenthost_protocol::channel::Snapshot {
        resource: "ahp-root://".into(),
        state: wire::from_str(r#"{ "agents": [] }"#).unwrap(),
        from_seq: agenthost_protocol::ids::ServerSeq(7),
    };
    let seen = client
        .chain
        .downgrade_snapshot(&client.at(), &snapshot)
        .unwrap();
    assert_eq!(seen.unwrap()["resource"], "root:/");
}

#[test]
fn the_channel_of_a_request_is_read_from_its_parameters() {
    let client = follower(Release::V0_1);
    let about = |method: &str, params: Json| {
        let (_, asked) = client.upgrade_request(method, params);
        asked["channel"].as_str().unwrap().to_owned()
    };
    let root = json!({ "resource": "agenthost:/root" });
    assert_eq!(about("subscribe", root), "ahp-root://");
    assert_eq!(
        about("unsubscribe", json!({ "resource": TERMINAL })),
        TERMINAL
    );
    assert_eq!(
        about("createSession", json!({ "session": "copilot:/1" })),
        "copilot:/1"
    );
    assert_eq!(
        about("disposeSession", json!({ "session": SESSION })),
        SESSION
    );
    assert_eq!(about("fetchTurns", json!({ "session": SESSION })), CHAT);
    let claim = json!({ "kind": "client", "clientId": "c" });
    let terminal = json!({ "terminal": TERMINAL, "claim": claim });
    assert_eq!(about("createTerminal", terminal), TERMINAL);
    assert_eq!(
        about("disposeTerminal", json!({ "terminal": TERMINAL })),
        TERMINAL
    );
    assert_eq!(about("listSessions", json!({})), "ahp-root://");
    let token = json!({ "resource": "https://api", "token": "t" });
    let (_, asked) = client.upgrade_request("authenticate", token);
    assert_eq!(asked["resource"], "https://api");
    let mut call = JsonCall {
        method: "subscribe".to_owned(),
        params: wire::from_str("{}").unwrap(),
    };
    let refused = client
        .chain
        .upgrade_params(&client.at(), &mut call)
        .unwrap_err();
    assert_eq!(refused.to_string(), "`subscribe` has no `resource`");
}

#[test]
fn attachments_are_downgraded_to_uris() {
    let state = follower(Release::V0_1)
        .downgrade_state(SESSION, &session())
        .unwrap();
    assert_eq!(
        state["turns"][0]["userMessage"]["attachments"],
        json!([
            { "type": "file", "uri": "file:///w/a.rs", "displayName": "a.rs" },
            { "type": "directory", "uri": "file:///w/src", "displayName": "src" },
            { "type": "file", "uri": "data:image/png;base64,AAAA", "displayName": "shot" },
        ])
    );
}

#[test]
fn customizations_are_downgraded_to_references() {
    let client = follower(Release::V0_1);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let all = json!([{
        "customization": { "uri": "file:///plugins/p", "displayName": "P" },
        "enabled": true, "status": "degraded", "statusMessage": "no hooks here",
    }]);
    assert_eq!(state["customizations"], all);

    let removed = json!({ "type": "session/customizationRemoved", "id": "old" });
    let heard = client.downgrade_action(SESSION, &removed);
    let told = json!({
        "type": "session/customizationsChanged", "customizations": all, "session": SESSION,
    });
    assert_eq!(heard, [(None, told)]);

    let agent = json!({
        "provider": "goose", "displayName": "Goose", "description": "", "models": [],
        "customizations": [session()["customizations"][0]],
    });
    let agents = json!({ "type": "root/agentsChanged", "agents": [agent] });
    let heard = client.downgrade_action("ahp-root://", &agents);
    assert_eq!(
        heard[0].1["agents"][0]["customizations"],
        json!([{ "uri": "file:///plugins/p", "displayName": "P" }])
    );
}

#[test]
fn a_customization_is_toggled_by_uri() {
    let client = follower(Release::V0_1);
    let switched = json!({
        "type": "session/customizationToggled", "session": SESSION, "uri": "file:///plugins/p",
        "enabled": false,
    });
    let (_, said) = client.upgrade_action("", switched.clone());
    assert_eq!(said["id"], "p");
    let (_, said) = client.upgrade_action(
        "",
        json!({
            "type": "session/customizationToggled", "session": SESSION, "uri": "virtual://mine",
            "enabled": false,
        }),
    );
    assert_eq!(said["id"], "virtual://mine");
    let toggled = |id: &str| {
        let enablement = json!([{ "kind": "session", "enabled": false }]);
        let action = json!({
            "type": "session/customizationToggled", "id": id, "enablement": enablement,
        });
        client.downgrade_action(SESSION, &action)
    };
    let heard = toggled("p");
    assert_eq!(heard[0].1["uri"], "file:///plugins/p");
    assert_eq!(heard[0].1.get("id"), None);
    assert_eq!(toggled("m"), []);
    assert_eq!(toggled("sk"), []);
}

/// Several customizations of a folder can have the same URI. 0.1 identifies customizations by URI,
/// so the downgrade makes the URIs unique.
#[test]
fn customizations_with_the_same_uri_get_unique_uris() {
    let one = |id: &str| json!({ "type": "directory", "id": id, "uri": "file:///w", "name": id, "contents": "rule", "writable": false, "enabled": true });
    let mut session = session();
    session["customizations"] = json!([one("a b"), one("c"), session["customizations"][0]]);
    let client = TestClient::of(Release::V0_1).with_channel(SESSION, None, &session);
    let addresses = |customizations: &Json| -> Vec<String> {
        let customizations = customizations.as_array().unwrap().iter();
        let uri = |one: &Json| one["customization"]["uri"].as_str().unwrap().to_owned();
        customizations
            .inspect(|one| assert_eq!(one.get("id"), None))
            .map(uri)
            .collect()
    };
    let expected = ["file:///w#a%20b", "file:///w#c", "file:///plugins/p"];
    let state = client.downgrade_state(SESSION, &session).unwrap();
    assert_eq!(addresses(&state["customizations"]), expected);
    let changed = json!({
        "type": "session/customizationsChanged", "customizations": session["customizations"],
    });
    let heard = client.downgrade_action(SESSION, &changed);
    assert_eq!(addresses(&heard[0].1["customizations"]), expected);
    let removed = json!({ "type": "session/customizationRemoved", "id": "old" });
    let heard = client.downgrade_action(SESSION, &removed);
    assert_eq!(addresses(&heard[0].1["customizations"]), expected);
    for (id, uri) in ["a b", "c", "p"].into_iter().zip(expected) {
        let toggled = json!({
            "type": "session/customizationToggled", "id": id,
            "enablement": [{ "kind": "session", "enabled": false }],
        });
        assert_eq!(client.downgrade_action(SESSION, &toggled)[0].1["uri"], uri);
        let switched = json!({
            "type": "session/customizationToggled", "session": SESSION, "uri": uri,
            "enabled": false,
        });
        assert_eq!(client.upgrade_action("", switched).1["id"], id);
    }
}

#[test]
fn a_client_reference_is_upgraded_to_a_plugin() {
    let reference = json!({
        "uri": "virtual://mine", "displayName": "Mine", "description": "It is mine",
        "nonce": "1",
    });
    let (_, asked) = follower(Release::V0_1).upgrade_request(
        "createSession",
        json!({
            "session": "copilot:/1",
            "activeClient": { "clientId": "c", "tools": [], "customizations": [reference] },
        }),
    );
    let plugin = &asked["activeClient"]["customizations"][0];
    assert_eq!(plugin["type"], "plugin");
    assert_eq!(plugin["id"], "virtual://mine");
    assert_eq!(plugin["uri"], "virtual://mine");
    assert_eq!(plugin["name"], "Mine");
    assert_eq!(plugin["nonce"], "1");
    assert_eq!(plugin.get("description"), None);
}

#[test]
fn a_system_notification_is_a_markdown_part_with_a_stable_id() {
    let client = follower(Release::V0_1);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let parts = &state["turns"][0]["responseParts"];
    assert_eq!(parts[1]["kind"], "markdown");
    assert_eq!(parts[1]["content"], "Out of money");
    let first = parts[1]["id"].as_str().unwrap();
    assert!(first.starts_with("notification-t1-"));
    assert_eq!(parts[2]["content"], "Out of money");
    assert_eq!(parts[2]["id"], format!("{first}-2"));

    let part = json!({ "kind": "systemNotification", "content": "Back again" });
    let added = json!({ "type": "chat/responsePart", "turnId": "t2", "part": part });
    let heard = client.downgrade_action(CHAT, &added);
    assert_eq!(heard[0].1["part"], state["activeTurn"]["responseParts"][0]);
}

#[test]
fn fields_unknown_to_0_1_are_omitted() {
    let client = follower(Release::V0_1);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    assert_eq!(state["turns"][0]["usage"], json!({ "inputTokens": 3 }));
    let result = json!({
        "protocolVersion": "0.1.0", "serverSeq": 1, "snapshots": [],
        "completionTriggerCharacters": ["@"], "telemetry": {},
    });
    let result = client
        .chain
        .downgrade_result(&client.at(), "initialize", result);
    assert_eq!(result.get("completionTriggerCharacters"), None);
    let mut read = JsonCall {
        method: "resourceRead".to_owned(),
        params: wire::from_str(r#"{ "channel": "ahp-root://", "uri": "file:///a" }"#).unwrap(),
    };
    client.chain.downgrade_request(&client.at(), &mut read);
    assert_eq!(Json::Object(read.params), json!({ "uri": "file:///a" }));
}

#[test]
fn unsupported_write_modes_never_replace_a_file() {
    let client = follower(Release::V0_1);
    let asked = |how: Json| {
        let mut params = json!({
            "channel": "ahp-root://", "uri": "file:///a", "data": "x", "encoding": "utf-8",
        });
        let how = how.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(how);
        let mut write = JsonCall {
            method: "resourceWrite".to_owned(),
            params: wire::from_str(&params.to_string()).unwrap(),
        };
        client.chain.downgrade_request(&client.at(), &mut write);
        Json::Object(write.params)
    };
    let whole = json!({ "uri": "file:///a", "data": "x", "encoding": "utf-8" });
    assert_eq!(asked(json!({ "mode": "truncate" })), whole);
    let mut careful = whole.clone();
    careful["createOnly"] = json!(true);
    assert_eq!(asked(json!({ "mode": "insert", "position": 3 })), careful);
    assert_eq!(asked(json!({ "ifMatch": "e" })), careful);
}
