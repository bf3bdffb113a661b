//! Actions that come after those of another device.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice};

const TURN_STARTED: &str = "2026-01-01T00:00:00Z";

fn turn_started(turn: &str) -> Value {
    json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": TURN_STARTED,
           "message": {"text": "x", "origin": {"kind": "user"}}})
}

/// A page whose chat has a running turn with a call that waits for approval.
fn asked() -> Page {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.act(CHAT, 3, None, turn_started("t1"));
    page.act(
        CHAT,
        4,
        None,
        json!({"type": "chat/toolCallStart", "turnId": "t1", "toolCallId": "c1", "toolName": "bash", "displayName": "Bash"}),
    );
    let call = json!({"status": "pending-confirmation", "toolCallId": "c1", "toolName": "bash",
                      "displayName": "Bash", "invocationMessage": "Run ls", "toolInput": "ls"});
    page.act(
        CHAT,
        5,
        None,
        json!({"type": "chat/toolCallReady", "turnId": "t1", "toolCallId": "c1", "invocationMessage": "Run ls", "toolInput": "ls", "options": []}),
    );
    let request = json!({"kind": "toolConfirmation", "id": "r1", "chat": CHAT, "turnId": "t1", "toolCall": call});
    page.act(
        SESSION,
        6,
        None,
        json!({"type": "session/inputNeededSet", "request": request}),
    );
    page
}

/// The host rejects an action of the page.
fn reject(page: &mut Page, action: &Value, reason: &str) {
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": {
        "channel": action["params"]["channel"], "serverSeq": 20, "action": action["params"]["action"],
        "origin": {"clientId": "web-0", "clientSeq": action["params"]["clientSeq"]}, "rejectionReason": reason,
    }}));
}

fn notes(page: &mut Page) -> Value {
    let patches = page.frame();
    let notes = &slice(&patches, "notes")["value"];
    let notes = notes.as_array().unwrap().iter();
    notes
        .map(|note| json!([note["tone"], note["text"], note["restored"]]))
        .collect()
}

#[test]
fn the_loser_of_an_answer_reads_who_was_first() {
    let mut page = asked();
    page.done.clear();
    let key = format!("approval t1 c1 {CHAT}");
    page.command(json!({"op": "answerApproval", "key": key, "approve": true}));
    let mine = page.sent("dispatchAction");
    // The answer of the phone arrives first.
    page.act(
        CHAT,
        7,
        None,
        json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1", "approved": true,
               "confirmed": "user-action", "_meta": {"agenthost.answeredBy": {"name": "phone", "clientId": "p"}}}),
    );
    page.act(
        SESSION,
        8,
        None,
        json!({"type": "session/inputNeededRemoved", "id": "r1"}),
    );
    reject(&mut page, &mine, "tool call `c1` does not wait");
    assert_eq!(page.done[0]["error"], "already answered on phone");
    assert_eq!(
        notes(&mut page),
        json!([["info", "already answered on phone", null]])
    );
}

#[test]
fn an_answer_that_is_rejected_for_another_reason_says_so() {
    let mut page = asked();
    page.done.clear();
    let key = format!("approval t1 c1 {CHAT}");
    page.command(json!({"op": "answerApproval", "key": key, "approve": true}));
    let mine = page.sent("dispatchAction");
    reject(&mut page, &mine, "the disk is full");
    assert_eq!(page.done[0]["error"], "the disk is full");
    assert_eq!(
        notes(&mut page),
        json!([["error", "the disk is full", null]])
    );
}

#[test]
fn a_message_that_loses_the_race_for_a_turn_is_queued() {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.done.clear();
    page.command(json!({"op": "send", "text": "mine",
        "attachments": [{"name": "a.png", "contentType": "image/png", "data": "AA=="}]}));
    let mine = page.sent("dispatchAction");
    page.act(CHAT, 7, None, turn_started("theirs"));
    reject(&mut page, &mine, "turn `theirs` is in progress");
    let queued = page.sent("dispatchAction");
    let action = &queued["params"]["action"];
    assert_eq!(action["type"], "chat/pendingMessageSet");
    assert_eq!(action["kind"], "queued");
    assert_eq!(action["message"]["text"], "mine");
    assert_eq!(action["message"]["attachments"][0]["label"], "a.png");
    assert_eq!(page.done, Vec::<Value>::new());
    let text = "another device had started a turn: your message waits in the queue";
    assert_eq!(notes(&mut page), json!([["info", text, null]]));
    let seq = queued["params"]["clientSeq"].as_u64();
    page.act(CHAT, 21, seq, action.clone());
    assert_eq!(page.done[0]["error"], Value::Null);
}

#[test]
fn a_message_that_is_rejected_for_another_reason_comes_back() {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.command(json!({"op": "send", "text": "mine"}));
    let mine = page.sent("dispatchAction");
    reject(&mut page, &mine, "the disk is full");
    assert_eq!(
        notes(&mut page),
        json!([["error", "the disk is full", "mine"]])
    );
}

#[test]
fn stopping_a_turn_that_has_just_ended_succeeds() {
    let mut page = asked();
    page.done.clear();
    page.command(json!({"op": "cancelTurn"}));
    let mine = page.sent("dispatchAction");
    page.act(
        CHAT,
        7,
        None,
        json!({"type": "chat/turnComplete", "turnId": "t1", "duration": 5}),
    );
    reject(&mut page, &mine, "turn `t1` is not in progress");
    assert_eq!(page.done[0]["error"], Value::Null);
    assert_eq!(notes(&mut page), json!([]));
}

/// A host closes the connection instead of reading such a message.
#[test]
fn a_message_that_hosts_do_not_accept_is_refused() {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.done.clear();
    page.command(json!({"op": "send", "text": "x".repeat(17 * 1024 * 1024)}));
    let error = page.done[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("the message has 18 MB, and hosts accept at most 16 MB"),
        "{error}"
    );
    assert_eq!(page.sent, Vec::<Value>::new());
}
