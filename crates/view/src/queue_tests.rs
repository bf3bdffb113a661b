use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::{chat, check};

#[test]
fn the_steering_message_is_first() {
    let message = |id: &str, text: &str| {
        json!({"id": id, "message": {"text": text, "origin": {"kind": "user"},
               "attachments": [{"type": "simple", "label": "note", "modelRepresentation": "x"}]}})
    };
    let chat = chat(json!({
        "queuedMessages": [message("q1", "then this"), message("q2", "and this")],
        "steeringMessage": message("s1", "stop")
    }));
    check(
        &queue_rows(&chat),
        expect![[r#"
        {"key":"s1","kind":"steering","text":"stop","attachments":1}
        {"key":"q1","kind":"queued","text":"then this","attachments":1}
        {"key":"q2","kind":"queued","text":"and this","attachments":1}
    "#]],
    );
}
