use agenthost_protocol::session::{SessionState, SessionSummary};
use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::{agents, call, check, decode, session, summary, turn};

fn approval(id: &str, fields: Value) -> Value {
    json!({"kind": "toolConfirmation", "id": id, "chat": "chat:/1", "turnId": "t1",
           "toolCall": call(id, "pending-confirmation", fields)["toolCall"]})
}

fn entry<'a>(summary: &'a SessionSummary, state: Option<&'a SessionState>) -> InboxEntry<'a> {
    InboxEntry {
        session: SessionEntry { summary, state },
        last_turn: None,
        tokens: &[],
    }
}

#[test]
fn alike_approvals_of_several_sessions_form_a_group() {
    let test = |label: &str| {
        json!({"toolInput": "cargo test", "_meta": {"kind": "execute"},
        "options": [{"id": format!("{label}-1"), "label": "Allow", "kind": "approve"},
                    {"id": format!("{label}-2"), "label": label, "kind": "approve"}]})
    };
    let one = session(json!({"inputNeeded": [
        approval("c1", test("Always")),
        approval("c2", json!({"toolInput": "ls", "_meta": {"kind": "execute"}})),
        approval("c3", json!({}))]}));
    let two = session(json!({"inputNeeded": [
        approval("c4", test("This session")),
        approval("c5", json!({}))]}));
    let (a, b) = (
        summary("s:/1", json!({"status": 24})),
        summary("s:/2", json!({"status": 24})),
    );
    let inbox = InboxView::compute([entry(&a, Some(&one)), entry(&b, Some(&two))], &agents());
    let keys: Vec<_> = inbox.rows.iter().map(|row| &row.key).collect();
    check(
        &keys,
        expect![[r#"
        "approval t1 c1 chat:/1"
        "approval t1 c2 chat:/1"
        "approval t1 c3 chat:/1"
        "approval t1 c4 chat:/1"
        "approval t1 c5 chat:/1"
    "#]],
    );
    check(
        &inbox.alike,
        expect![[r#"
        {"keys":["approval t1 c1 chat:/1","approval t1 c4 chat:/1"],"label":"cargo test","answers":[{"label":"Allow","kind":"approve"},{"label":"Deny","kind":"deny"}]}
    "#]],
    );
}

#[test]
fn unread_sessions_that_have_ended_their_work_are_listed() {
    let ended = summary(
        "s:/1",
        json!({"status": 1, "workingDirectories": ["file:///w"]}),
    );
    let failed = summary("s:/2", json!({"status": 2, "provider": "gone"}));
    let (read, running, archived) = (
        summary("s:/3", json!({"status": 33})),
        summary("s:/4", json!({"status": 8})),
        summary("s:/5", json!({"status": 65})),
    );
    let last = decode(turn(
        "t7",
        json!({"responseParts": [
        {"kind": "markdown", "id": "p1", "content": "\nAll tests pass.\nMore."},
        {"kind": "reasoning", "id": "p2", "content": "hm"}]}),
    ));
    let mut first = entry(&ended, None);
    first.last_turn = Some(&last);
    let others = [&failed, &read, &running, &archived].map(|summary| entry(summary, None));
    let inbox = InboxView::compute([first].into_iter().chain(others), &agents());
    check(
        &inbox.rows,
        expect![[r#"
        {"key":"finished s:/1","session":"s:/1","sessionTitle":"Tests","agent":"Shell","folder":"/w","at":"2026-07-09T10:00:00.000Z","item":"finished","turnId":"t7","text":"All tests pass.","failed":false}
        {"key":"finished s:/2","session":"s:/2","sessionTitle":"Tests","agent":"gone","at":"2026-07-09T10:00:00.000Z","item":"finished","failed":true}
    "#]],
    );
}

#[test]
fn code_and_tokens_are_listed_once() {
    let state = session(json!({"customizations": [
        {"type": "directory", "id": "d", "uri": "file:///w", "name": "Hooks\u{202e}", "enabled": true, "contents": "hook",
         "writable": false, "_meta": {"agenthost.code": "file:///w#v2:a"}, "children": [
            {"type": "hook", "id": "h", "uri": "file:///w/h.json", "name": "Stop"}]},
        {"type": "directory", "id": "off", "uri": "file:///x", "name": "Off", "enabled": false, "contents": "hook",
         "writable": false, "_meta": {"agenthost.code": "file:///x#v2:a"}},
        {"type": "mcpServer", "id": "m", "uri": "file:///w/m", "name": "m", "state": {"kind": "authRequired",
         "reason": "required", "resource": {"resource": "https://r"}}}]}));
    let (a, b) = (summary("s:/1", json!({})), summary("s:/2", json!({})));
    let inbox = InboxView::compute(
        [entry(&a, Some(&state)), entry(&b, Some(&state))],
        &agents(),
    );
    let rows: Vec<_> = inbox
        .rows
        .iter()
        .map(|row| (row.key.as_str(), row.session.as_str()))
        .collect();
    assert_eq!(
        rows,
        [("code file:///w#v2:a", "s:/1"), ("token https://r", "s:/1")]
    );
    let InboxItem::Code { card } = &inbox.rows[0].item else {
        panic!("the first row is code");
    };
    assert_eq!(
        (card.name.as_str(), card.hooks, card.servers),
        ("Hooks\\u{202e}", 1, 0)
    );
}

#[test]
fn approvals_with_different_texts_are_not_alike() {
    let same =
        json!({"toolInput": "make", "_meta": {"kind": "execute", "rawInput": {"command": "make"}}});
    let with = |field: &str, value: Value| {
        let mut fields = same.clone();
        fields[field] = value;
        fields
    };
    let raw = |key: &str| json!({"kind": "execute", "rawInput": {"command": "make", key: "x"}});
    for other in [
        with("confirmationTitle", json!("Other title")),
        with("invocationMessage", json!("Other text")),
        with("intention", json!("another purpose")),
        with("_meta", raw("cwd")),
        with(
            "_meta",
            json!({"kind": "execute", "agenthost.truncated": true}),
        ),
    ] {
        let state = session(
            json!({"inputNeeded": [approval("c1", same.clone()), approval("c2", other.clone())]}),
        );
        let summary = summary("s:/1", json!({"status": 24}));
        let inbox = InboxView::compute([entry(&summary, Some(&state))], &agents());
        assert_eq!(inbox.alike, [], "{other}");
    }
}

/// The same command does something else in another folder.
#[test]
fn approvals_in_different_folders_are_not_alike() {
    let same = json!({"toolInput": "make clean", "_meta": {"kind": "execute"}});
    let state = |folder: &str| {
        let requests = [approval("c1", same.clone())];
        session(json!({"inputNeeded": requests, "workingDirectories": [folder]}))
    };
    let groups = |folder: &str| {
        let (one, other) = (state("file:///a"), state(folder));
        let summaries = ["s:/1", "s:/2"].map(|uri| summary(uri, json!({"status": 24})));
        let entries = [
            entry(&summaries[0], Some(&one)),
            entry(&summaries[1], Some(&other)),
        ];
        InboxView::compute(entries, &agents()).alike.len()
    };
    assert_eq!((groups("file:///a"), groups("file:///b")), (1, 0));
}
