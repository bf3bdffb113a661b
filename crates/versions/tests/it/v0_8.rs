//! 0.9 ↔ 0.8.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::{JsonCall, JsonDispatch, UpgradeRefusal};
use serde_json::json;

use crate::test_client::TestClient;

const CHAT: &str = "ahp-chat:/c";
const SESSION: &str = "ahp-session:/s";
const NOTES: &str = "ahp-session:/s/annotations";
const TIME: &str = "2026-01-01T00:00:00.000Z";

fn message(origin: &str) -> Json {
    json!({ "text": "go", "origin": { "kind": origin } })
}

fn failure(message: &str) -> Json {
    json!({
        "kind": "error", "resumable": true,
        "error": { "errorType": "agent", "message": message },
    })
}

fn markdown(content: &str) -> Json {
    json!({ "kind": "markdown", "id": content, "content": content })
}

fn turn(id: &str, state: &str, parts: &[Json]) -> Json {
    json!({
        "id": id, "startedAt": TIME, "duration": 1, "message": message("user"),
        "responseParts": parts, "state": state,
    })
}

fn chat(turns: &[Json]) -> Json {
    json!({ "resource": CHAT, "title": "", "status": 1, "modifiedAt": TIME, "turns": turns })
}

fn session() -> Json {
    json!({
        "provider": "a", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [{ "resource": CHAT, "title": "", "status": 1, "modifiedAt": TIME }],
        "defaultChat": CHAT,
    })
}

/// A client of 0.8 that follows a session with one chat and its annotations.
fn client() -> TestClient {
    TestClient::of(Release::V0_8)
        .with_channel(SESSION, None, &session())
        .with_channel(CHAT, Some(SESSION), &chat(&[turn("t", "complete", &[])]))
        .with_channel(NOTES, Some(SESSION), &json!({ "annotations": [] }))
}

fn state(state: &Json) -> ChannelState {
    wire::from_str(&state.to_string()).unwrap()
}

#[test]
fn a_failed_session_has_the_state_creation_failed() {
    let client = client();
    let mut failed = session();
    failed["lifecycle"] = json!("failed");
    failed["origin"] = json!({ "kind": "automation", "automation": "a:/1", "run": "r:/1" });
    let seen = client.downgrade_state(SESSION, &failed).unwrap();
    assert_eq!(seen["lifecycle"], "creationFailed");
    assert_eq!(seen.get("origin"), None);
}

#[test]
fn messages_of_automations_have_the_system_as_origin() {
    let client = client();
    let mut state = chat(&[]);
    state["draft"] = message("automation");
    state["steeringMessage"] = json!({ "id": "1", "message": message("automation") });
    state["queuedMessages"] = json!([{ "id": "2", "message": message("automation") }]);
    let seen = client.downgrade_state(CHAT, &state).unwrap();
    let system = json!({ "kind": "systemNotification" });
    assert_eq!(seen["draft"]["origin"], system);
    assert_eq!(seen["steeringMessage"]["message"]["origin"], system);
    assert_eq!(seen["queuedMessages"][0]["message"]["origin"], system);

    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": TIME,
        "message": message("automation"),
    });
    let heard = client.downgrade_action(CHAT, &started);
    assert_eq!(heard[0].1["message"]["origin"], system);
}

#[test]
fn an_unknown_enum_value_is_replaced_with_the_nearest_one() {
    let confirmed = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "k", "approved": true,
        "confirmed": "by-the-stars",
    });
    assert_eq!(
        client().downgrade_action(CHAT, &confirmed)[0].1["confirmed"],
        "user-action"
    );
}

#[test]
fn a_failed_turn_has_its_last_error_in_a_field() {
    let parts = [failure("first"), markdown("a"), failure("second")];
    let seen = client()
        .downgrade_state(CHAT, &chat(&[turn("t", "error", &parts)]))
        .unwrap();
    let turn = &seen["turns"][0];
    assert_eq!(turn["error"], parts[2]["error"]);
    let told = json!({ "kind": "systemNotification", "content": "first" });
    assert_eq!(turn["responseParts"], json!([told, parts[1]]));
}

#[test]
fn an_error_before_the_end_of_a_turn_becomes_a_notification() {
    let parts = [markdown("a"), failure("once")];
    let told = json!([parts[0], { "kind": "systemNotification", "content": "once" }]);
    let mut state = chat(&[turn("t", "complete", &parts)]);
    state["activeTurn"] = json!({
        "id": "u", "startedAt": TIME, "message": message("user"), "responseParts": parts,
    });
    let seen = client().downgrade_state(CHAT, &state).unwrap();
    assert_eq!(seen["turns"][0]["responseParts"], told);
    assert_eq!(seen["turns"][0].get("error"), None);
    assert_eq!(seen["activeTurn"]["responseParts"], told);
}

#[test]
fn the_error_that_ends_a_turn_is_a_field_of_the_action() {
    let failed = json!({
        "type": "chat/error", "turnId": "t", "duration": 5, "part": failure("no"),
    });
    let heard = client().downgrade_action(CHAT, &failed);
    let error = json!({ "errorType": "agent", "message": "no" });
    let expected = json!({ "type": "chat/error", "turnId": "t", "duration": 5, "error": error });
    assert_eq!(heard[0].1, expected);
}

#[test]
fn an_error_part_of_a_running_turn_is_dropped() {
    let part = json!({ "type": "chat/responsePart", "turnId": "t", "part": failure("no") });
    assert_eq!(client().downgrade_action(CHAT, &part), []);
}

#[test]
fn a_resumed_turn_is_truncated_and_started_again() {
    let mut failed = turn("t2", "error", &[markdown("a"), failure("no")]);
    failed["usage"] = json!({ "inputTokens": 3 });
    let mut client = client();
    client.before = Some(state(&chat(&[turn("t1", "complete", &[]), failed])));
    let heard =
        client.downgrade_action(CHAT, &json!({ "type": "chat/turnResume", "turnId": "t2" }));
    let actions: Vec<Json> = heard.into_iter().map(|(_, action)| action).collect();
    let told = json!({ "kind": "systemNotification", "content": "no" });
    let expected = json!([
        { "type": "chat/truncated", "turnId": "t1" },
        { "type": "chat/turnStarted", "turnId": "t2", "startedAt": TIME, "message": message("user") },
        { "type": "chat/responsePart", "turnId": "t2", "part": markdown("a") },
        { "type": "chat/responsePart", "turnId": "t2", "part": told },
        { "type": "chat/usage", "turnId": "t2", "usage": { "inputTokens": 3 } },
    ]);
    assert_eq!(Json::Array(actions), expected);
}

#[test]
fn an_input_request_is_repeated_in_a_resumed_turn() {
    let question = json!({ "kind": "inputRequest", "request": { "id": "q" } });
    let failed = turn("t", "error", &[question, failure("no")]);
    let mut client = client();
    client.before = Some(state(&chat(&[failed])));
    let heard = client.downgrade_action(CHAT, &json!({ "type": "chat/turnResume", "turnId": "t" }));
    let asked = json!({ "type": "chat/inputRequested", "request": { "id": "q" } });
    assert_eq!(heard[2].1, asked);
}

#[test]
fn resuming_the_only_loaded_turn_keeps_the_history_cursor() {
    let mut before = chat(&[turn("t", "error", &[failure("no")])]);
    before["turnsNextCursor"] = json!("older");
    let mut client = client();
    client.before = Some(state(&before));
    let heard = client.downgrade_action(CHAT, &json!({ "type": "chat/turnResume", "turnId": "t" }));
    assert_eq!(heard[0].1, json!({ "type": "chat/truncated" }));
    let loaded = json!({ "type": "chat/turnsLoaded", "turns": [], "turnsNextCursor": "older" });
    assert_eq!(heard[1].1, loaded);
    assert_eq!(heard.len(), 4);
}

#[test]
fn an_exited_terminal_has_an_exit_code() {
    let client = client();
    let claim = json!({ "kind": "session", "session": SESSION, "chat": CHAT });
    let terminal = |lifecycle: &Json| json!({ "title": "", "content": [], "lifecycle": lifecycle, "claim": claim });
    let seen = |lifecycle: Json| {
        client
            .downgrade_state("ahp-terminal:/t", &terminal(&lifecycle))
            .unwrap()
    };
    let over = seen(json!({ "status": "exited", "exitCode": 3 }));
    assert_eq!(over["exitCode"], 3);
    assert_eq!(over.get("lifecycle"), None);
    assert_eq!(
        over["claim"],
        json!({ "kind": "session", "session": SESSION })
    );
    assert_eq!(seen(json!({ "status": "running" })).get("exitCode"), None);

    let info = json!({
        "resource": "ahp-terminal:/t", "title": "", "claim": claim,
        "lifecycle": { "status": "exited", "exitCode": 0 },
    });
    let changed = json!({ "type": "root/terminalsChanged", "terminals": [info] });
    let heard = client.downgrade_action("ahp-root://", &changed);
    assert_eq!(heard[0].1["terminals"][0]["exitCode"], 0);
}

#[test]
fn an_annotation_origin_is_downgraded_to_its_turn() {
    let client = client();
    let note = |origin: Json| {
        json!({
            "id": "n", "origin": origin, "resource": "file:///a", "resolved": false, "entries": [],
        })
    };
    let state = json!({ "annotations": [
        note(json!({ "session": SESSION, "chat": CHAT, "turnId": "t" })),
        note(json!({ "session": SESSION })),
    ]});
    let seen = client.downgrade_state(NOTES, &state).unwrap();
    assert_eq!(seen["annotations"][0]["turnId"], "t");
    assert_eq!(seen["annotations"][0].get("origin"), None);
    assert_eq!(seen["annotations"][1]["turnId"], "");
}

#[test]
fn the_chat_of_an_annotation_is_found_by_its_turn() {
    let client = client();
    let update = json!({ "type": "annotations/updated", "annotationId": "n", "turnId": "t" });
    let (_, said) = client.upgrade_action(NOTES, update.clone());
    let origin = json!({ "session": SESSION, "chat": CHAT, "turnId": "t" });
    assert_eq!(said["origin"], origin);
    assert_eq!(client.downgrade_action(NOTES, &said)[0].1, update);

    let note = json!({
        "id": "n", "turnId": "", "resource": "file:///a", "resolved": false, "entries": [],
    });
    let set = json!({ "type": "annotations/set", "annotation": note });
    let (_, said) = client.upgrade_action(NOTES, set.clone());
    assert_eq!(said["annotation"]["origin"], json!({ "session": SESSION }));
    assert_eq!(client.downgrade_action(NOTES, &said)[0].1, set);
}

#[test]
fn a_terminal_claim_of_a_session_gets_its_default_chat() {
    let client = client();
    let claimed = json!({
        "type": "terminal/claimed", "claim": { "kind": "session", "session": SESSION },
    });
    let (_, said) = client.upgrade_action("ahp-terminal:/t", claimed.clone());
    assert_eq!(said["claim"]["chat"], CHAT);
    assert_eq!(
        client.downgrade_action("ahp-terminal:/t", &said)[0].1,
        claimed
    );
    let create = json!({ "channel": "ahp-terminal:/t", "claim": claimed["claim"] });
    assert_eq!(
        client.upgrade_request("createTerminal", create).1["claim"]["chat"],
        CHAT
    );
}

#[test]
fn a_terminal_claim_of_an_unknown_session_is_rejected() {
    let client = client();
    let claim = json!({ "kind": "session", "session": "ahp-session:/gone" });
    let action = json!({ "type": "terminal/claimed", "claim": claim });
    let mut dispatch = JsonDispatch {
        channel: "ahp-terminal:/t".to_owned(),
        action: action.as_object().unwrap().clone(),
    };
    let refused = client.chain.upgrade_dispatch(&client.at(), &mut dispatch);
    assert!(matches!(refused, Err(UpgradeRefusal::Invalid(_))));
}

#[test]
fn automations_are_omitted() {
    let client = client();
    let run = json!({ "type": "automationRun/sessionSet", "session": SESSION });
    assert_eq!(client.downgrade_action("ahp-automation-run:/1", &run), []);
    assert_eq!(
        client.downgrade_state("ahp-automations://", &json!({ "entries": [] })),
        None
    );
    let result = json!({
        "protocolVersion": "0.8.0", "serverSeq": 1, "snapshots": [], "automations": {},
    });
    let result = client
        .chain
        .downgrade_result(&client.at(), "initialize", result);
    assert_eq!(result.get("automations"), None);
    let mut call = JsonCall {
        method: "runAutomation".to_owned(),
        params: json!({}).as_object().unwrap().clone(),
    };
    let refused = client.chain.upgrade_params(&client.at(), &mut call);
    assert_eq!(
        refused,
        Err(UpgradeRefusal::Unknown(
            "AHP 0.8 has no `runAutomation`".to_owned()
        ))
    );
}

#[test]
fn a_changeset_keeps_its_error_when_its_content_changes() {
    let error = json!({ "errorType": "git", "message": "no repository" });
    let state = json!({ "status": "error", "error": error, "files": [] });
    let channel = "ahp-session:/s/changeset/x";
    let client = client().with_channel(channel, Some(SESSION), &state);
    let changed = json!({ "type": "changeset/contentChanged", "files": [] });
    assert_eq!(
        client.downgrade_action(channel, &changed)[0].1["error"],
        error
    );
}

#[test]
fn a_session_fork_is_sent_to_the_host_in_meta() {
    let fork = json!({ "session": SESSION, "turnId": "t" });
    let params = json!({ "channel": "ahp-session:/new", "fork": fork, "_meta": { "x": 1 } });
    let (_, asked) = client().upgrade_request("createSession", params);
    let expected = json!({
        "channel": "ahp-session:/new", "_meta": { "x": 1, "agenthost.fork": fork },
    });
    assert_eq!(asked, expected);
}
