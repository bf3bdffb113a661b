use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::{agents, chat, check, session, turn};

fn message(fields: serde_json::Value) -> serde_json::Value {
    let mut message = json!({"text": "half a", "origin": {"kind": "user"}});
    message
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    message
}

#[test]
fn the_composer_has_the_shared_draft_and_the_permitted_models() {
    let chat = chat(json!({
        "turns": [turn("t1", json!({"message": message(json!({"model": {"id": "m1"}}))}))],
        "draft": message(json!({"attachments": [
            {"type": "resource", "label": "a.rs", "uri": "file:///w/a.rs"},
            {"type": "embeddedResource", "label": "shot", "data": "", "contentType": "image/png"},
            {"type": "later", "label": "odd"}]}))
    }));
    let view = ComposerView::compute(&chat, agents().first(), "web-0");
    check(
        &view,
        expect![[r#"
        {
          "draft": "half a",
          "running": false,
          "canSteer": false,
          "placeholder": "message",
          "attachments": [
            {
              "name": "a.rs",
              "kind": "document",
              "uri": "file:///w/a.rs"
            },
            {
              "name": "shot",
              "kind": "image"
            },
            {
              "name": "odd",
              "kind": "unknown"
            }
          ],
          "models": [
            {
              "id": "m1",
              "label": "Model One"
            }
          ],
          "model": "m1"
        }
    "#]],
    );
}

#[test]
fn a_running_turn_can_be_steered_unless_the_chat_is_read_only() {
    let running = json!({"id": "t1", "startedAt": "2026-07-09T10:00:00.000Z",
                         "message": message(json!({})), "responseParts": []});
    let purpose = |fields| {
        let view = ComposerView::compute(&chat(fields), None, "web-0");
        (view.placeholder, view.can_steer)
    };
    assert_eq!(purpose(json!({})), (ComposerPurpose::Message, false));
    let active = json!({"activeTurn": running});
    assert_eq!(purpose(active), (ComposerPurpose::Steer, true));
    let read_only = json!({"activeTurn": running, "interactivity": "read-only"});
    assert_eq!(purpose(read_only), (ComposerPurpose::ReadOnly, false));
}

#[test]
fn settings_with_a_list_of_texts_are_chips() {
    let session = session(json!({"config": {
        "schema": {"type": "object", "properties": {
            "mode": {"type": "string", "title": "Mode", "enum": ["ask", "do"],
                     "enumLabels": ["Ask first"], "default": "ask", "sessionMutable": true},
            "isolation": {"type": "string", "title": "Isolation", "enum": ["folder", "worktree"]},
            "permissions": {"type": "object", "title": "Permissions"}}},
        "values": {"isolation": "worktree"}}}));
    check(
        &config_rows(&session),
        expect![[r#"
        {"key":"mode","label":"Mode","value":"ask","options":[{"id":"ask","label":"Ask first"},{"id":"do","label":"do"}],"mutable":true}
        {"key":"isolation","label":"Isolation","value":"worktree","options":[{"id":"folder","label":"folder"},{"id":"worktree","label":"worktree"}],"mutable":false}
    "#]],
    );
}

#[test]
fn a_draft_names_the_other_device_that_wrote_it() {
    let from = |meta: serde_json::Value| {
        let chat = chat(json!({"draft": message(json!({"_meta": meta}))}));
        ComposerView::compute(&chat, None, "web-0").draft_from
    };
    let author = |id, name| json!({"agenthost.author": {"clientId": id, "name": name}});
    assert_eq!(
        from(author("web-1", "phone\u{202e}")).unwrap(),
        r"phone\u{202e}"
    );
    assert_eq!(from(author("web-0", "laptop")), None);
    assert_eq!(from(json!({})), None);
    let own = serde_json::to_value(draft_meta("web-1", "phone")).unwrap();
    assert_eq!(from(own).unwrap(), "phone");
}
