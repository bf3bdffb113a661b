//! New sessions, their settings, and copies.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice};

fn create(page: &mut Page, fields: &Value) -> Value {
    let mut command = json!({
        "op": "session.create", "provider": "shell", "config": {}, "text": "hello", "attachments": [],
    });
    let fields = fields.as_object().unwrap().clone();
    command.as_object_mut().unwrap().extend(fields);
    page.command(command);
    page.sent("createSession")
}

fn subscribe(page: &mut Page, state: &Value) {
    let request = page.sent("subscribe");
    let snapshot = json!({"resource": request["params"]["channel"], "fromSeq": 2, "state": state});
    let result = json!({"snapshot": snapshot});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
}

fn session(lifecycle: &str) -> Value {
    json!({
        "provider": "shell", "title": "New", "status": 1, "lifecycle": lifecycle,
        "activeClients": [], "chats": [],
    })
}

fn chat(turns: &Value) -> Value {
    json!({"resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z", "turns": turns})
}

#[test]
fn the_choices_and_the_attachments_reach_the_host() {
    let mut page = Page::open();
    let fields = json!({
        "folder": "/a b", "model": "m", "config": {"mode": "plan", "isolation": "worktree"},
        "attachments": [{"name": "a.png", "contentType": "image/png", "data": "AA=="}],
    });
    let request = create(&mut page, &fields);
    let params = &request["params"];
    assert_eq!(params["workingDirectories"], json!(["file:///a%20b"]));
    assert_eq!(
        params["config"],
        json!({"mode": "plan", "isolation": "worktree"})
    );
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    subscribe(&mut page, &session("ready"));
    assert!(
        page.sent
            .iter()
            .all(|message| message["method"] != "dispatchAction")
    );
    subscribe(&mut page, &chat(&json!([])));
    let action = &page.sent("dispatchAction")["params"]["action"];
    let message = &action["message"];
    assert_eq!(message["text"], "hello");
    assert_eq!(message["model"]["id"], "m");
    assert_eq!(message["attachments"][0]["label"], "a.png");
}

#[test]
fn an_image_alone_is_a_first_message() {
    let mut page = Page::open();
    let attachments = json!([{"name": "a.png", "contentType": "image/png", "data": "AA=="}]);
    let request = create(&mut page, &json!({"text": "", "attachments": attachments}));
    assert_eq!(request["params"].get("config"), None);
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    subscribe(&mut page, &session("ready"));
    subscribe(&mut page, &chat(&json!([])));
    page.sent("dispatchAction");
}

/// Creates a session that the host cannot start.
fn fail(page: &mut Page) {
    let fields = json!({
        "folder": "/w", "config": {"isolation": "worktree"},
        "attachments": [{"name": "a.png", "contentType": "image/png", "data": "AA=="}],
    });
    let request = create(page, &fields);
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    let mut state = session("failed");
    state["creationError"] = json!({"errorType": "git", "message": "no commit\u{202e}"});
    subscribe(page, &state);
}

/// Adds a session to the list, with the reason for which it failed.
fn list(page: &mut Page, session: &Value) {
    let summary = json!({
        "resource": session, "provider": "shell", "title": "", "status": 34,
        "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        "_meta": {"agenthost.creationError": "no commit\u{202e}"},
    });
    let params = json!({"channel": "ahp-root://", "summary": summary});
    page.text(&json!({"jsonrpc": "2.0", "method": "root/sessionAdded", "params": params}));
}

#[test]
fn a_failed_session_shows_the_reason_and_keeps_the_message() {
    let mut page = Page::open();
    fail(&mut page);
    let session = page.done.last().unwrap()["value"]["session"].clone();
    list(&mut page, &session);
    let reason = json!(r"no commit\u{202e}");
    let check = |page: &mut Page| {
        let patches = page.frame();
        let chat = &slice(&patches, "chat")["value"];
        assert_eq!(
            (&chat["creationError"], &chat["unsent"]),
            (&reason, &json!("hello"))
        );
        let rows = &slice(&patches, "sessions")["set"];
        let row = &rows[session.as_str().unwrap()];
        assert_eq!(
            (&row["creationError"], &row["status"]),
            (&reason, &json!("error"))
        );
        page.command(json!({"op": "session.unsent", "session": session}));
        let message = json!({
            "text": "hello", "folder": "/w", "config": {"isolation": "worktree"},
            "attachments": [{"name": "a.png", "contentType": "image/png", "data": "AA=="}],
        });
        assert_eq!(page.done.last().unwrap()["value"], message);
    };
    check(&mut page);
    // Both survive a reload.
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.clone().unwrap();
    let mut page = Page::closed(Some(&saved));
    check(&mut page);
    // The message goes with its session.
    let removed = json!({"channel": "ahp-root://", "session": session});
    page.text(&json!({"jsonrpc": "2.0", "method": "root/sessionRemoved", "params": removed}));
    page.command(json!({"op": "session.unsent", "session": session}));
    assert!(page.done.last().unwrap()["error"].is_string());
}

#[test]
fn the_first_message_of_a_session_that_starts_survives_a_reload() {
    let mut page = Page::open();
    let request = create(&mut page, &json!({}));
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    let created = request["params"]["channel"].clone();
    // The page is closed before the session is ready.
    let saved = page.saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    page.input(json!({"kind": "socketOpened"}));
    let replay = json!({"kind": "replay", "channel": "ahp-root://", "actions": []});
    page.answer("reconnect", &json!({"channels": [replay]}));
    let mut messages = Vec::new();
    while !page.sent.is_empty() {
        let next = page.sent[0].clone();
        if next["method"] != "subscribe" {
            messages.push(page.sent.remove(0)["params"]["action"]["message"]["text"].clone());
        } else if next["params"]["channel"] == created {
            subscribe(&mut page, &session("ready"));
        } else {
            subscribe(&mut page, &chat(&json!([])));
        }
    }
    messages.retain(Value::is_string);
    assert_eq!(messages, ["hello"]);
    // It is sent once.
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.unwrap();
    assert_eq!(saved.matches("hello").count(), 1, "{saved}");
}

#[test]
fn a_refused_session_is_an_error_of_the_form() {
    let mut page = Page::open();
    page.done.clear();
    let request = create(&mut page, &json!({}));
    let error = json!({"code": -32602, "message": "config.mode: not offered"});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    assert_eq!(page.done[0]["error"], "config.mode: not offered");
    let patches = page.frame();
    let notes = patches.iter().find(|patch| patch["slice"] == "notes");
    assert!(notes.is_none_or(|patch| patch["value"] == json!([])));
}

#[test]
fn the_settings_of_a_new_session_are_its_choices() {
    let mut page = Page::open();
    page.done.clear();
    page.command(json!({
        "op": "session.resolveConfig", "provider": "shell", "folder": "/work", "config": {"mode": "plan"},
    }));
    let request = page.sent("resolveSessionConfig");
    let params = &request["params"];
    assert_eq!(params["workingDirectory"], "file:///work");
    assert_eq!(params["config"], json!({"mode": "plan"}));
    let properties = json!({
        "mode": {"type": "string", "title": "Mode", "enum": ["ask", "plan"], "enumLabels": ["Ask", "Plan"]},
        "name": {"type": "string", "title": "Name"},
    });
    let result = json!({
        "schema": {"type": "object", "properties": properties}, "values": {"mode": "plan"},
    });
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    let options = json!([{"id": "ask", "label": "Ask"}, {"id": "plan", "label": "Plan"}]);
    assert_eq!(
        page.done[0]["value"],
        json!([{"key": "mode", "label": "Mode", "value": "plan", "options": options, "mutable": false}])
    );
}

/// Selects the session for a fork; its chat has one turn.
fn load(page: &mut Page) {
    subscribe(page, &session("ready"));
    assert!(page.done.is_empty());
    let turn = json!({
        "id": "t", "state": "complete", "responseParts": [], "startedAt": "2026-01-01T00:00:00Z",
        "message": {"text": "hi", "origin": {"kind": "user"}},
    });
    subscribe(page, &chat(&json!([turn])));
}

#[test]
fn a_fork_waits_for_the_chat_of_the_session() {
    let mut page = Page::open();
    page.done.clear();
    page.command(json!({"op": "session.fork", "session": SESSION}));
    load(&mut page);
    let sent = std::mem::take(&mut page.sent);
    let request = sent
        .iter()
        .find(|message| message["method"] == "createChat");
    let source = &request.unwrap()["params"]["source"];
    assert_eq!(
        (&source["kind"], &source["turnId"]),
        (&json!("fork"), &json!("t"))
    );
}

#[test]
fn a_fork_ends_with_the_session_or_the_connection() {
    let mut page = Page::open();
    page.done.clear();
    page.command(json!({"op": "session.fork", "session": "shell:/gone"}));
    assert_eq!(page.done[0]["error"], "the session was removed");

    page.done.clear();
    page.command(json!({"op": "session.fork", "session": SESSION}));
    page.command(json!({"op": "session.fork", "session": SESSION}));
    assert_eq!(page.done[0]["error"], "another session was forked");

    page.done.clear();
    let removed = json!({"channel": "ahp-root://", "session": SESSION});
    page.text(&json!({"jsonrpc": "2.0", "method": "root/sessionRemoved", "params": removed}));
    assert_eq!(page.done[0]["error"], "another session was opened");

    let mut page = Page::open();
    page.done.clear();
    page.command(json!({"op": "session.fork", "session": SESSION}));
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    assert_eq!(page.done[0]["error"], "the connection was lost");
    page.command(json!({"op": "session.fork", "session": SESSION}));
    assert_eq!(page.done[1]["error"], "there is no connection to the host");
}

#[test]
fn archived_sessions_are_listed_on_request() {
    let mut page = Page::open();
    page.frame();
    // 65: idle and archived.
    let changed = json!({
        "channel": "ahp-root://", "session": SESSION, "changes": {"status": 65},
    });
    page.text(
        &json!({"jsonrpc": "2.0", "method": "root/sessionSummaryChanged", "params": changed}),
    );
    assert_eq!(slice(&page.frame(), "sessions")["order"], json!([]));
    page.command(json!({
        "op": "filter", "text": "", "group": "time", "archived": true, "utcOffsetMinutes": 120,
    }));
    assert_eq!(slice(&page.frame(), "sessions")["order"], json!([SESSION]));
}

#[test]
fn another_device_can_try_a_failed_session_again() {
    let mut page = Page::open();
    page.sent.clear();
    fail(&mut page);
    // The device that has created the session shares the message as the draft of the chat.
    let shared = page
        .sent
        .iter()
        .find(|message| message["method"] == "dispatchAction");
    let action = shared.unwrap()["params"]["action"].clone();
    assert_eq!(action["type"], "chat/draftChanged");
    assert_eq!(action["draft"]["text"], "hello");
    let mut other = Page::open();
    other.command(json!({"op": "selectSession", "session": SESSION}));
    let mut state = session("failed");
    state["creationError"] = json!({"errorType": "git", "message": "no commit"});
    state["workingDirectories"] = json!(["file:///w"]);
    state["config"] = json!({"schema": {"type": "object", "properties": {}}, "values": {"isolation": "worktree"}});
    subscribe(&mut other, &state);
    let mut chat = chat(&json!([]));
    chat["draft"] = action["draft"].clone();
    subscribe(&mut other, &chat);
    let patches = other.frame();
    assert_eq!(slice(&patches, "chat")["value"]["unsent"], "hello");
    other.command(json!({"op": "session.unsent", "session": SESSION}));
    let message = json!({
        "text": "hello", "folder": "/w", "config": {"isolation": "worktree"},
        "attachments": [{"name": "a.png", "contentType": "image/png", "data": "AA=="}],
    });
    assert_eq!(other.done.last().unwrap()["value"], message);
}

#[test]
fn a_session_is_not_created_for_a_message_that_hosts_do_not_accept() {
    let mut page = Page::open();
    page.done.clear();
    page.command(json!({
        "op": "session.create", "provider": "shell", "config": {}, "attachments": [],
        "text": "x".repeat(17 * 1024 * 1024),
    }));
    let error = page.done[0]["error"].as_str().unwrap();
    assert!(error.starts_with("the message has 17 MB"), "{error}");
    assert_eq!(page.sent, Vec::<Value>::new());
}
