//! Chats of a session, restores, absences and usage.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice, summary};

const MINUTE: i64 = 60 * 1000;

/// Opens a session whose chat has three turns, and which offers changesets of turns.
fn page_with_turns() -> Page {
    let mut page = Page::open();
    page.command(json!({"op": "selectSession", "session": SESSION}));
    let state = json!({
        "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [{"resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"}],
        "defaultChat": CHAT,
        "changesets": [
            {"label": "Turn", "uriTemplate": "cs:/turn/{turnId}", "changeKind": "turn"},
            {"label": "Compare", "uriTemplate": "cs:/compare/{originalTurnId}/{modifiedTurnId}",
             "changeKind": "compare-turns"},
        ],
    });
    let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
    page.answer("subscribe", &json!({"snapshot": session}));
    let turn = |id: &str| {
        json!({"id": id, "message": {"text": format!("say {id}"), "origin": {"kind": "user"}},
               "responseParts": [], "state": "complete",
               "usage": {"inputTokens": 10, "outputTokens": 1, "model": "m"}})
    };
    let state = json!({"resource": CHAT, "title": "", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00Z", "turns": [turn("t1"), turn("t2"), turn("t3")]});
    let chat = json!({"resource": CHAT, "fromSeq": 2, "state": state});
    page.answer("subscribe", &json!({"snapshot": chat}));
    page.frame();
    page.done.clear();
    page
}

fn changeset(uri: &str, path: &str) -> Value {
    let edit = json!({"after": {"uri": format!("file:///w/{path}"), "content": {"uri": "c:/1"}}});
    let operation =
        json!({"id": "restore", "label": "Restore", "scopes": ["changeset"], "status": "idle"});
    let state = json!({"status": "ready", "files": [{"id": path, "edit": edit}], "operations": [operation]});
    json!({"snapshot": {"resource": uri, "fromSeq": 2, "state": state}})
}

#[test]
fn a_fork_is_created_from_a_turn_and_shown() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.create", "source": "fork", "turn": "t2"}));
    let request = page.sent("createChat");
    let source = json!({"kind": "fork", "chat": CHAT, "turnId": "t2"});
    assert_eq!(request["params"]["source"], source);
    let chat = request["params"]["chat"].as_str().unwrap().to_owned();
    let added = json!({"resource": chat, "title": "Fork", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"});
    page.act(
        SESSION,
        3,
        None,
        json!({"type": "session/chatAdded", "summary": added}),
    );
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    assert_eq!(page.done[0]["value"]["chat"], chat.as_str());
    assert_eq!(page.sent("unsubscribe")["params"]["channel"], CHAT);
    assert_eq!(page.sent("subscribe")["params"]["channel"], chat.as_str());

    // Another client closes it: the page goes back to the chat that is left.
    page.act(
        SESSION,
        4,
        None,
        json!({"type": "session/chatRemoved", "chat": chat}),
    );
    let channels: Vec<_> = page
        .sent
        .iter()
        .map(|message| message["params"]["channel"].clone())
        .collect();
    assert!(channels.contains(&json!(CHAT)), "{channels:?}");
}

#[test]
fn a_side_chat_needs_a_turn() {
    let mut page = Page::open();
    page.select();
    page.done.clear();
    page.command(json!({"op": "chat.create", "source": "side"}));
    assert_eq!(page.done[0]["error"], "this chat has no turns yet");
    assert!(page.sent.is_empty());
}

#[test]
fn a_chat_moves_to_a_new_session() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.move", "chat": "ahp-chat:/x"}));
    let request = page.sent("moveChat");
    assert_eq!(
        request["params"]["destination"],
        json!({"kind": "newSession"})
    );
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"session": "shell:/new"}}));
    assert_eq!(page.done[0]["value"]["session"], "shell:/new");
}

#[test]
fn a_restore_lists_the_files_of_the_turn_and_of_later_ones() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.previewRestore", "turn": "t2"}));
    page.answer("subscribe", &changeset("cs:/turn/t2", "b.txt"));
    page.answer("subscribe", &changeset("cs:/compare/t2/t3", "a.txt"));
    let patches = page.frame();
    let view = &slice(&patches, "restore")["value"];
    let paths: Vec<_> = view["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["path"])
        .collect();
    assert_eq!(paths, ["/w/a.txt", "/w/b.txt"]);
    assert_eq!(
        (&view["turns"], &view["text"], &view["canRestoreFiles"]),
        (&json!(2), &json!("say t2"), &json!(true))
    );
    page.command(json!({"op": "chat.restoreFiles", "turn": "t2"}));
    let request = page.sent("invokeChangesetOperation");
    assert_eq!(request["params"]["channel"], "cs:/turn/t2");
    assert_eq!(request["params"]["operationId"], "restore");
    // The turn before the restored one stays.
    page.command(json!({"op": "chat.truncate", "turn": "t2"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    assert_eq!(action, json!({"type": "chat/truncated", "turnId": "t1"}));
    page.command(json!({"op": "chat.truncate", "turn": "t9"}));
    let error = &page.done.last().unwrap()["error"];
    assert_eq!(error, "the turn is no longer in this chat");
}

#[test]
fn an_absence_has_a_summary_that_can_be_dismissed() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.setHidden", "hidden": true}));
    let changed = json!({"session": SESSION, "channel": "ahp-root://", "changes": {"status": 2}});
    page.text(
        &json!({"jsonrpc": "2.0", "method": "root/sessionSummaryChanged", "params": changed}),
    );
    page.now += 5 * MINUTE;
    page.command(json!({"op": "chat.setHidden", "hidden": false}));
    let patches = page.frame();
    let away = &slice(&patches, "away")["value"];
    assert_eq!(away["sessions"][0]["key"], SESSION);
    assert_eq!(away["sessions"][0]["status"], "error");
    page.command(json!({"op": "chat.dismissAway"}));
    let patches = page.frame();
    assert_eq!(slice(&patches, "away")["value"], Value::Null);

    // A short absence has none.
    page.command(json!({"op": "chat.setHidden", "hidden": true}));
    page.now += MINUTE;
    page.command(json!({"op": "chat.setHidden", "hidden": false}));
    assert!(page.core.away.summary.is_none());
}

#[test]
fn a_connection_that_was_dead_at_the_return_counts_as_absence() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.setHidden", "hidden": true}));
    page.now += 10 * MINUTE;
    page.command(json!({"op": "chat.setHidden", "hidden": false}));
    assert!(page.core.away.summary.is_none());
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    page.sent.retain(|message| message["method"] == "reconnect");
    let channels = ["ahp-root://", SESSION, CHAT]
        .map(|channel| json!({"kind": "replay", "channel": channel, "actions": []}));
    page.answer("reconnect", &json!({"channels": channels}));
    page.sent
        .retain(|message| message["method"] == "listSessions");
    let mut second = summary();
    second["resource"] = json!("shell:/s2");
    page.answer("listSessions", &json!({"items": [summary(), second]}));
    let away = page.core.away.summary.as_ref().unwrap();
    assert_eq!(away.sessions[0].key.as_str(), "shell:/s2");
    assert!(away.sessions[0].is_new);
}

#[test]
fn usage_is_computed_while_its_panel_is_open() {
    let mut page = page_with_turns();
    page.command(json!({"op": "chat.watchUsage", "open": true, "utcOffsetMinutes": 0}));
    let patches = page.frame();
    let usage = &slice(&patches, "usage")["value"];
    assert_eq!(usage["turns"].as_array().unwrap().len(), 3);
    assert_eq!(usage["models"][0]["tokens"], 33);
    page.command(json!({"op": "chat.watchUsage", "open": false, "utcOffsetMinutes": 0}));
    let patches = page.frame();
    assert_eq!(slice(&patches, "usage")["value"], Value::Null);
}
