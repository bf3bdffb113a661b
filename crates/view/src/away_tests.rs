use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::{call, chat, check, turn};

fn cost(amount: f64) -> Value {
    json!({"_meta": {"cost": {"amount": amount, "currency": "USD"}}})
}

fn answered(by: &str, fields: Value) -> Value {
    let mut call = call("c", "completed", fields);
    let fields = json!({"success": true, "pastTenseMessage": "Ran it", "confirmed": "user-action",
                        "_meta": {"agenthost.answeredBy": {"name": by, "clientId": format!("{by}-id")}}});
    let call_fields = call["toolCall"].as_object_mut().unwrap();
    call_fields.extend(fields.as_object().unwrap().clone());
    call
}

#[test]
fn a_digest_lists_turns_answers_of_others_files_and_cost() {
    let edit = |name: &str| {
        json!({"type": "fileEdit", "after": {
        "uri": format!("file:///w/{name}"), "content": {"uri": "content:/1"}}})
    };
    let old = turn(
        "t1",
        json!({"usage": cost(1.0), "responseParts": [answered("phone", json!({
        "content": [edit("old.rs")]}))]}),
    );
    let before = chat(json!({"turns": [old], "activeTurn": {
        "id": "t2", "startedAt": "2026-07-09T10:00:00.000Z",
        "message": {"text": "go", "origin": {"kind": "user"}},
        "responseParts": [call("c", "pending-confirmation", json!({}))]}}));
    let after = chat(json!({"turns": [
        turn("t0", json!({"responseParts": [answered("tablet", json!({}))]})),
        old,
        turn("t2", json!({"usage": cost(1.5), "responseParts": [
            answered("laptop", json!({"content": [edit("b.rs"), edit("a.rs")]})),
            {"kind": "markdown", "id": "p", "content": "Done."}]})),
        turn("t3", json!({"state": "error", "responseParts": [
            answered("me", json!({"content": [edit("a.rs")]})),
            call("d", "cancelled", json!({"reason": "denied"})),
            call("e", "cancelled", json!({"reason": "skipped"})),
            {"kind": "error", "error": {"errorType": "x", "message": "it broke"}}]}))],
        "activeTurn": {"id": "t4", "startedAt": "2026-07-09T11:00:00.000Z", "usage": cost(2.25),
            "message": {"text": "go", "origin": {"kind": "user"}}, "responseParts": []}}));
    let pair = AwayChat {
        before: Some(&before),
        after: &after,
    };
    let digest = AwayDigest::compare([pair], &"me-id".into());
    check(
        &digest,
        expect![[r#"
        {
          "turns": [
            {
              "chat": "chat:/1",
              "turnId": "t2",
              "state": "complete",
              "text": "Done."
            },
            {
              "chat": "chat:/1",
              "turnId": "t3",
              "state": "error",
              "text": "it broke"
            }
          ],
          "answers": [
            {
              "chat": "chat:/1",
              "turnId": "t2",
              "callId": "c",
              "title": "Run it",
              "approved": true,
              "by": "laptop"
            },
            {
              "chat": "chat:/1",
              "turnId": "t3",
              "callId": "d",
              "title": "Run it",
              "approved": false
            }
          ],
          "files": [
            "/w/a.rs",
            "/w/b.rs"
          ],
          "cost": "$1.25"
        }
    "#]],
    );
}

#[test]
fn equal_states_have_an_empty_digest() {
    let state = chat(json!({"turns": [turn("t1", json!({"usage": cost(1.0)}))]}));
    let pair = AwayChat {
        before: Some(&state),
        after: &state,
    };
    assert!(AwayDigest::compare([pair], &"me-id".into()).is_empty());
}
