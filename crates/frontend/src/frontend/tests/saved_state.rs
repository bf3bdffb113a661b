//! The state that outlives the page.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice};

/// A page that has lost its connection, with a message that the host has not received.
fn page_with_unsent_message() -> Page {
    let mut page = Page::open();
    page.select();
    page.frame();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.command(json!({"op": "send", "text": "later"}));
    page
}

#[test]
fn a_closed_page_opens_without_the_host() {
    let saved = page_with_unsent_message().saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    let patches = page.frame();
    assert_eq!(slice(&patches, "link")["value"]["state"], "connecting");
    assert_eq!(slice(&patches, "sessions")["order"], json!([SESSION]));
    assert_eq!(slice(&patches, "chat")["value"]["title"], "One");
    let rows = slice(&patches, "timeline")["set"].as_object().unwrap();
    let row = rows.values().find(|row| row["kind"] == "message").unwrap();
    assert_eq!(
        (&row["text"], &row["state"]),
        (&json!("later"), &json!("sent"))
    );
}

#[test]
fn an_unsent_message_is_sent_after_a_reload() {
    let saved = page_with_unsent_message().saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    page.input(json!({"kind": "socketOpened"}));
    let channels = ["ahp-root://", SESSION, CHAT]
        .map(|channel| json!({"kind": "replay", "channel": channel, "actions": []}));
    page.answer("reconnect", &json!({"channels": channels}));
    let dispatched = page.sent("dispatchAction");
    assert_eq!(dispatched["params"]["clientSeq"], 1);
    assert_eq!(dispatched["params"]["action"]["message"]["text"], "later");
    // The next action has a number of its own.
    page.sent("listSessions");
    page.command(json!({"op": "setDraft", "text": "more"}));
    assert_eq!(page.sent("dispatchAction")["params"]["clientSeq"], 2);
}

/// Answers `reconnect` with an error, and `initialize` with a chat that has these turns.
fn initialize_again(page: &mut Page, active_turn: Value) {
    page.input(json!({"kind": "socketOpened"}));
    let request = page.sent("reconnect");
    let error = json!({"code": -32008, "message": "unknown client"});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    let chat = json!({
        "resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
        "activeTurn": active_turn,
    });
    let root = json!({"resource": "ahp-root://", "fromSeq": 9, "state": {"agents": []}});
    let chat = json!({"resource": CHAT, "fromSeq": 9, "state": chat});
    page.answer(
        "initialize",
        &json!({"protocolVersion": "1.1.0", "serverSeq": 9, "snapshots": [root, chat]}),
    );
}

#[test]
fn a_message_that_may_be_lost_is_restored_in_a_note() {
    let saved = page_with_unsent_message().saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    initialize_again(&mut page, Value::Null);
    let patches = page.frame();
    let note = &slice(&patches, "notes")["value"][0];
    assert_eq!(note["restored"], "later");
}

#[test]
fn a_message_that_the_host_received_is_not_reported() {
    let saved = page_with_unsent_message().saved.unwrap();
    let turn = {
        let saved: Value = serde_json::from_str(&saved).unwrap();
        saved["engine"]["pending"][0]["action"]["turnId"].clone()
    };
    let mut page = Page::closed(Some(&saved));
    let message = json!({"text": "later", "origin": {"kind": "user"}});
    let active = json!({
        "id": turn, "message": message, "startedAt": "2026-01-01T00:00:00Z", "responseParts": [], "usage": null,
    });
    initialize_again(&mut page, active);
    let patches = page.frame();
    assert_eq!(slice(&patches, "notes")["value"], json!([]));
}

#[test]
fn a_saved_state_that_is_broken_is_ignored() {
    for saved in ["", "null", "{}", "{\"engine\": 7}", &"[".repeat(10_000)] {
        let mut page = Page::closed(Some(saved));
        page.input(json!({"kind": "socketOpened"}));
        page.sent("initialize");
    }
}

#[test]
fn signing_out_deletes_the_saved_state() {
    let mut page = page_with_unsent_message();
    page.input(json!({"kind": "signedOut"}));
    assert_eq!(page.saved.as_deref(), Some(""));
}

#[test]
fn a_hidden_page_saves_its_changes_once() {
    let mut page = Page::open();
    page.select();
    page.saved = None;
    page.input(json!({"kind": "hidden"}));
    assert!(page.saved.take().unwrap().contains("\"title\":\"One\""));
    page.input(json!({"kind": "hidden"}));
    assert_eq!(page.saved, None);
}

/// A state that is too large, or that arrived after the last save, is requested again.
#[test]
fn a_selected_chat_without_a_saved_state_is_loaded() {
    let mut page = Page::open();
    page.command(json!({"op": "selectSession", "session": SESSION}));
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    page.input(json!({"kind": "socketOpened"}));
    let root = json!({"kind": "replay", "channel": "ahp-root://", "actions": []});
    page.answer("reconnect", &json!({"channels": [root]}));
    let subscribed: Vec<_> = page
        .sent
        .iter()
        .filter(|message| message["method"] == "subscribe")
        .map(|message| message["params"]["channel"].clone())
        .collect();
    assert!(subscribed.contains(&json!(SESSION)), "{:?}", page.sent);
}
