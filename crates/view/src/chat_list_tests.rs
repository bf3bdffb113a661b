use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::session;

#[test]
fn workers_are_below_the_chat_that_spawned_them_with_their_requests() {
    let chat = |uri: &str, status: u32, origin: serde_json::Value| {
        json!({"resource": uri, "title": uri, "status": status, "origin": origin,
               "modifiedAt": "2026-07-09T10:00:00.000Z"})
    };
    let worker = |chat: &str| json!({"kind": "tool", "chat": chat, "toolCallId": "c1"});
    let mut hidden = chat("chat:/hidden", 1, json!({"kind": "user"}));
    hidden["interactivity"] = json!("hidden");
    let session = session(json!({
        "defaultChat": "chat:/1",
        "chats": [
            chat("chat:/deep", 24, worker("chat:/w1")),
            chat("chat:/1", 8, json!({"kind": "user"})),
            chat("chat:/side", 33, json!({"kind": "sideChat", "chat": "chat:/1", "turnId": "t1"})),
            chat("chat:/w1", 8, worker("chat:/1")),
            chat("chat:/orphan", 1, worker("chat:/removed")),
            chat("chat:/loop", 1, worker("chat:/loop")),
            hidden],
        "inputNeeded": [{"kind": "chatInput", "id": "i1", "chat": "chat:/deep",
                         "request": {"id": "r1"}}]
    }));
    let rows = chat_rows(&"s:/1".into(), &session);
    let lines = rows.iter().map(|row| {
        let indent = "  ".repeat(row.depth);
        let keys: Vec<_> = row.requests.iter().map(RequestCard::key).collect();
        let (origin, status) = (row.origin, row.status);
        let marks = (row.is_default, row.unread);
        format!(
            "{indent}{} {origin:?} {status:?} {marks:?} {keys:?}\n",
            row.key
        )
    });
    expect![[r#"
        chat:/1 User Running (true, true) []
          chat:/w1 Worker Running (false, true) []
            chat:/deep Worker Waiting (false, true) ["form r1 chat:/deep"]
        chat:/side SideChat Idle (false, false) []
        chat:/orphan Worker Idle (false, true) []
        chat:/loop Worker Idle (false, true) []
    "#]]
    .assert_eq(&lines.collect::<String>());
}
