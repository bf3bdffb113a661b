//! 0.5.0 ↔ 0.4: the model and the custom agent that are chosen.

use agenthost_protocol::uri::{Uri, default_chat_uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::{JsonCall, JsonDispatch};
use serde_json::json;

use crate::test_client::{TestClient, chat_with};

const CHAT: &str = "ahp-chat:/c";
const OTHER: &str = "ahp-chat:/other";
const SESSION: &str = "ahp-session:/s";

fn session() -> Json {
    let agent = |uri: &str| json!({ "type": "agent", "id": uri, "uri": uri, "name": uri });
    json!({
        "provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [], "defaultChat": CHAT,
        "customizations": [{
            "type": "plugin", "id": "plugin", "uri": "file:///plugin", "name": "Plugin",
            "children": [agent("file:///a"), agent("file:///b")],
        }],
    })
}

/// A host whose agent has these models.
fn root(models: &[&str]) -> Json {
    let model = |id: &&str| json!({ "id": id, "provider": "p", "name": id });
    let models: Vec<_> = models.iter().map(model).collect();
    json!({
        "agents": [{ "provider": "p", "displayName": "P", "description": "", "models": models }],
    })
}

fn message(text: &str, model: Option<&str>, agent: Option<&str>) -> Json {
    let mut message = json!({ "text": text, "origin": { "kind": "user" } });
    if let Some(model) = model {
        message["model"] = json!({ "id": model });
    }
    if let Some(agent) = agent {
        message["agent"] = json!({ "uri": agent });
    }
    message
}

/// A chat whose running turn went to `m` and `file:///a`.
fn chat(resource: &str, draft: Option<Json>) -> Json {
    let mut chat = chat_with(8, &[]);
    chat["resource"] = json!(resource);
    chat["activeTurn"]["message"] = message("", Some("m"), Some("file:///a"));
    if let Some(draft) = draft {
        chat["draft"] = draft;
    }
    chat
}

/// A client in a world with a chat, as it is now and was before.
fn after(before: &Json, now: &Json) -> TestClient {
    let resource = now["resource"].as_str().unwrap().to_owned();
    let mut client = TestClient::of(Release::V0_4)
        .with_channel(SESSION, None, &session())
        .with_channel(&resource, Some(SESSION), now);
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    client
}

fn draft_changed(draft: &Json) -> Json {
    json!({ "type": "chat/draftChanged", "draft": draft })
}

fn on_session(action: Json) -> (Option<String>, Json) {
    (Some(SESSION.to_owned()), action)
}

fn entry_changed(chat: &str, changes: &Json) -> (Option<String>, Json) {
    on_session(json!({ "type": "session/chatUpdated", "chat": chat, "changes": changes }))
}

fn model_changed(id: &str) -> Json {
    json!({ "type": "session/modelChanged", "model": { "id": id } })
}

#[test]
fn a_chat_has_the_model_and_agent_of_its_draft() {
    let chat = chat(OTHER, Some(message("hm", Some("n"), None)));
    let seen = after(&chat, &chat).downgrade_state(OTHER, &chat).unwrap();
    assert_eq!(seen["model"], json!({ "id": "n" }));
    assert_eq!(seen.get("agent"), None);
    assert_eq!(seen.get("draft"), None);
    assert_eq!(seen["activeTurn"]["message"], message("", None, None));
}

#[test]
fn the_selection_of_the_default_chat_is_in_the_session() {
    let chat = chat(CHAT, Some(message("hm", Some("n"), None)));
    let client = after(&chat, &chat);
    let seen = client.downgrade_state(CHAT, &chat).unwrap();
    assert_eq!((seen.get("model"), seen.get("agent")), (None, None));
    let seen = client.downgrade_state(SESSION, &session()).unwrap();
    assert_eq!(seen["summary"]["model"], json!({ "id": "n" }));
}

#[test]
fn a_model_change_in_the_draft_changes_the_session_model() {
    let draft = message("hm", Some("n"), Some("file:///a"));
    let client = after(&chat(CHAT, None), &chat(CHAT, Some(draft.clone())));
    let heard = client.downgrade_action(CHAT, &draft_changed(&draft));
    let entry = entry_changed(CHAT, &json!({ "model": { "id": "n" } }));
    assert_eq!(heard, [on_session(model_changed("n")), entry]);
}

#[test]
fn a_draft_without_a_new_selection_is_dropped() {
    let draft = message("hm", Some("m"), Some("file:///a"));
    let client = after(&chat(CHAT, None), &chat(CHAT, Some(draft.clone())));
    assert_eq!(client.downgrade_action(CHAT, &draft_changed(&draft)), []);
}

#[test]
fn removing_the_agent_in_the_draft_removes_it_in_the_session() {
    let draft = message("", Some("m"), None);
    let client = after(&chat(CHAT, None), &chat(CHAT, Some(draft.clone())));
    let heard = client.downgrade_action(CHAT, &draft_changed(&draft));
    assert_eq!(
        heard,
        [on_session(json!({ "type": "session/agentChanged" }))]
    );
}

#[test]
fn a_selection_in_another_chat_does_not_change_the_session() {
    let draft = message("", Some("n"), Some("file:///a"));
    let client = after(&chat(OTHER, None), &chat(OTHER, Some(draft.clone())));
    let heard = client.downgrade_action(OTHER, &draft_changed(&draft));
    assert_eq!(
        heard,
        [entry_changed(OTHER, &json!({ "model": { "id": "n" } }))]
    );
}

#[test]
fn a_turn_with_another_model_changes_the_selection() {
    let mut before = chat(CHAT, None);
    before["activeTurn"]["message"] = message("", Some("old"), Some("file:///a"));
    let client = after(&before, &chat(CHAT, None));
    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-01T00:00:00Z",
        "message": message("hi", Some("m"), Some("file:///a")),
    });
    let heard = client.downgrade_action(CHAT, &started);
    let turn =
        json!({ "type": "chat/turnStarted", "turnId": "t", "message": message("hi", None, None) });
    assert_eq!(heard[0], (Some(CHAT.to_owned()), turn));
    assert_eq!(heard[1], on_session(model_changed("m")));
    assert_eq!(heard.len(), 3);
}

#[test]
fn a_new_default_chat_changes_the_session_selection() {
    let mut before = session();
    before["defaultChat"] = json!(OTHER);
    let mut client = after(&chat(CHAT, None), &chat(CHAT, None));
    client.before = Some(wire::from_str(&before.to_string()).unwrap());
    let changed = json!({ "type": "session/defaultChatChanged", "defaultChat": CHAT });
    let heard = client.downgrade_action(SESSION, &changed);
    let agent = json!({ "type": "session/agentChanged", "agent": { "uri": "file:///a" } });
    let expected = [changed, model_changed("m"), agent].map(on_session);
    assert_eq!(heard, expected);
}

#[test]
fn changing_the_model_keeps_the_draft_text_and_agent() {
    let typed = message("hm", Some("m"), Some("file:///a"));
    let chat = chat(CHAT, Some(typed));
    let client = after(&chat, &chat);
    let (channel, said) = client.upgrade_action(SESSION, model_changed("n"));
    assert_eq!(channel, CHAT);
    let draft = message("hm", Some("n"), Some("file:///a"));
    assert_eq!(said, draft_changed(&draft));
}

#[test]
fn selections_of_a_client_survive_a_round_trip() {
    let before = chat(CHAT, None);
    let agent = json!({ "type": "session/agentChanged", "agent": { "uri": "file:///b" } });
    let none = json!({ "type": "session/agentChanged" });
    for said in [model_changed("n"), agent, none] {
        let (channel, up) = after(&before, &before).upgrade_action(SESSION, said.clone());
        assert_eq!(channel, CHAT);
        let now = chat(CHAT, Some(up["draft"].clone()));
        let heard = after(&before, &now).downgrade_action(CHAT, &up);
        assert_eq!(heard[0], on_session(said));
    }
}

#[test]
fn model_options_are_converted_to_their_types() {
    let effort = json!({ "type": "number", "title": "E" });
    let level = json!({ "type": "number", "title": "L", "enum": [1, 2] });
    let schema = json!({ "type": "object", "properties": { "effort": effort, "level": level } });
    let model = json!({ "id": "n", "provider": "p", "name": "N", "configSchema": schema });
    let agent =
        json!({ "provider": "p", "displayName": "P", "description": "", "models": [model] });
    let before = chat(CHAT, None);
    let client =
        after(&before, &before).with_channel("ahp-root://", None, &json!({ "agents": [agent] }));
    let config = json!({ "effort": "0.5", "level": "2", "tone": "dry" });
    let chosen =
        json!({ "type": "session/modelChanged", "model": { "id": "n", "config": config } });
    let (_, said) = client.upgrade_action(SESSION, chosen);
    let expected = json!({ "effort": 0.5, "level": 2, "tone": "dry" });
    assert_eq!(said["draft"]["model"]["config"], expected);
}

#[test]
fn a_message_gets_the_selected_model_and_agent() {
    let chosen = chat(CHAT, None);
    let client = after(&chosen, &chosen).with_channel(OTHER, Some(SESSION), &{
        let mut empty = chat_with(1, &[]);
        empty["resource"] = json!(OTHER);
        empty.as_object_mut().unwrap().shift_remove("activeTurn");
        empty
    });
    for channel in [CHAT, OTHER] {
        let queued = json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
            "message": message("hi", None, None),
        });
        let (up, said) = client.upgrade_action(channel, queued.clone());
        assert_eq!(said["message"], message("hi", Some("m"), Some("file:///a")));
        assert_eq!(client.downgrade_action(&up, &said)[0].1, queued);
    }
}

/// One client may type what it likes; that does not keep others from talking.
#[test]
fn a_message_does_not_get_an_unknown_model() {
    let queued = json!({
        "type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
        "message": message("hi", None, None),
    });
    let typed = chat(CHAT, Some(message("", Some("bogus"), Some("file:///gone"))));
    let client = after(&typed, &typed).with_channel("ahp-root://", None, &root(&["m"]));
    let (_, said) = client.upgrade_action(CHAT, queued.clone());
    assert_eq!(said["message"], message("hi", None, None));
    let typed = chat(CHAT, Some(message("", Some("m"), Some("file:///a"))));
    let client = after(&typed, &typed).with_channel("ahp-root://", None, &root(&["m"]));
    let (_, said) = client.upgrade_action(CHAT, queued);
    assert_eq!(said["message"], message("hi", Some("m"), Some("file:///a")));
}

#[test]
fn model_changes_are_accepted_only_on_sessions() {
    let chat = chat(CHAT, None);
    let client = after(&chat, &chat).with_channel("ahp-root://", None, &root(&["m", "n"]));
    for elsewhere in ["ahp-root://", CHAT] {
        let Json::Object(action) = model_changed("n") else {
            unreachable!()
        };
        let channel = elsewhere.to_owned();
        let mut dispatch = JsonDispatch { channel, action };
        let refused = client.chain.upgrade_dispatch(&client.at(), &mut dispatch);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "`session/modelChanged` does not belong on this channel"
        );
    }
}

#[test]
fn a_queued_message_keeps_its_model() {
    let mut chat = chat(CHAT, None);
    chat["queuedMessages"] = json!([{ "id": "q", "message": message("hi", Some("w"), None) }]);
    let started = json!({
        "type": "chat/turnStarted", "turnId": "t", "queuedMessageId": "q",
        "message": message("hi", None, None),
    });
    let (_, said) = after(&chat, &chat).upgrade_action(CHAT, started);
    assert_eq!(said["message"], message("hi", Some("w"), None));
}

/// The parameters of a call of 0.4 in 1.0, and what is dispatched after it.
fn upgrade_with_dispatches(
    client: &TestClient,
    method: &str,
    params: Json,
) -> (Json, Vec<(String, Json)>) {
    let Json::Object(params) = params else {
        unreachable!()
    };
    let method = method.to_owned();
    let mut call = JsonCall { method, params };
    let after = client
        .chain
        .upgrade_params(&client.at(), &mut call)
        .unwrap();
    let after = after.into_iter();
    let after = after.map(|one| (one.channel, Json::Object(one.action)));
    (Json::Object(call.params), after.collect())
}

#[test]
fn the_selection_of_a_new_session_becomes_a_draft() {
    let client = TestClient::of(Release::V0_4);
    let wanted = json!({
        "channel": SESSION, "model": { "id": "m" }, "agent": { "uri": "file:///a" },
    });
    let (params, after) = upgrade_with_dispatches(&client, "createSession", wanted);
    assert_eq!(params, json!({ "channel": SESSION }));
    let draft = message("", Some("m"), Some("file:///a"));
    let chat = "ahp-chat://default/YWhwLXNlc3Npb246L3M";
    assert_eq!(after, [(chat.to_owned(), draft_changed(&draft))]);
    let (_, nothing) =
        upgrade_with_dispatches(&client, "createSession", json!({ "channel": SESSION }));
    assert_eq!(nothing, []);
}

#[test]
fn the_default_chat_uri_equals_that_of_the_host() {
    let chat = default_chat_uri(&Uri::from("copilot:/a?b=ü"));
    assert_eq!(chat.as_str(), "ahp-chat://default/Y29waWxvdDovYT9iPcO8");
}

#[test]
fn the_selection_of_a_new_chat_applies_to_its_first_message() {
    let chosen = chat(CHAT, None);
    let client = after(&chosen, &chosen);
    let wanted = json!({
        "channel": SESSION, "chat": OTHER, "model": { "id": "n" },
        "initialMessage": message("hi", None, None),
    });
    let (params, after) = upgrade_with_dispatches(&client, "createChat", wanted);
    let first = message("hi", Some("n"), Some("file:///a"));
    assert_eq!(params["initialMessage"], first);
    assert_eq!(params.get("model"), None);
    let draft = draft_changed(&message("", Some("n"), Some("file:///a")));
    assert_eq!(after, [(OTHER.to_owned(), draft)]);
}
