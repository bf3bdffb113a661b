//! Approvals and forms.

use expect_test::expect;
use serde_json::{Value, json};

use super::{CHAT, Desk, SESSION};

fn approval() -> Value {
    let call = json!({
        "status": "pending-confirmation", "toolCallId": "c", "toolName": "run", "displayName": "Run",
        "invocationMessage": "Run it", "toolInput": "rm -rf target && cargo build --release --all-features --locked",
        "_meta": {"toolKind": "terminal"},
        "options": [{"id": "once", "label": "Allow once", "kind": "approve"},
                    {"id": "all", "label": "Always", "kind": "approve"},
                    {"id": "no", "label": "Deny", "kind": "deny"}],
    });
    let request = json!({"kind": "toolConfirmation", "id": "r", "chat": CHAT, "turnId": "t", "toolCall": call});
    json!({"type": "session/inputNeededSet", "request": request})
}

#[test]
fn an_approval_shows_the_whole_command_also_in_forty_columns() {
    let mut desk = Desk::new(40, 24).with_turns(&json!([]));
    desk.act(SESSION, &approval());
    desk.check(expect![[r#"
        ● One · Shell · ~/work         1 waiting












        ─ question ─────────────────────────────
         Run it
         in: ~/work
         $ rm -rf target && cargo build --relea
           se --all-features --locked
         1 Allow once (a)
         2 Always
         3 Deny (d)
        ────────────────────────────────────────
        > message, /command, @file, !shell
        esc answer the question  enter queue  a…
    "#]]);
}

/// An approval of a command with ten lines.
fn long_approval() -> Value {
    let lines: Vec<_> = (1..=10).map(|line| format!("echo line {line}")).collect();
    let mut action = approval();
    action["request"]["toolCall"]["toolInput"] = json!(lines.join("\n"));
    action
}

#[test]
fn a_question_is_approved_only_after_all_of_it_was_on_the_screen() {
    for (width, height) in [(40, 10), (30, 6), (20, 5)] {
        let mut desk = Desk::new(width, height).with_turns(&json!([]));
        desk.press("esc");
        desk.act(SESSION, &long_approval());
        desk.wait(500);
        desk.press("a");
        assert!(
            desk.sent
                .iter()
                .all(|sent| sent["method"] != "dispatchAction")
        );
        let mut seen = desk.text();
        assert!(seen.contains("read the whole"), "{seen}");
        desk.wait(4_000);
        for _ in 0..100 {
            desk.press("]");
            seen.push_str(&desk.text());
        }
        for line in 1..=10 {
            assert!(
                seen.contains(&format!("echo line {line}")),
                "{width}x{height}: {seen}"
            );
        }
        for option in ["1 Allow once (a)", "2 Always", "3 Deny (d)"] {
            assert!(seen.contains(option), "{width}x{height}: {seen}");
        }
        desk.press("a");
        let action = desk.sent_action("chat/toolCallConfirmed");
        assert_eq!(action["approved"], true);
    }
}

/// The description, the arguments and the output of a call are shown beside its command.
#[test]
fn an_approval_hides_no_part_of_the_question() {
    let mut action = approval();
    let call = &mut action["request"]["toolCall"];
    call["invocationMessage"] = json!({"markdown": "Run it\n\n- also delete the backups"});
    call["_meta"]["rawInput"] = json!({"command": "x", "cwd": "/etc", "env": {"PATH": "/evil"}});
    let mut desk = Desk::new(70, 30).with_turns(&json!([]));
    desk.act(SESSION, &action);
    let shown = desk.text();
    for part in [
        "also delete the backups",
        "cwd: /etc",
        "env.PATH: /evil",
        "rm -rf target",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// A question that the host has cut can only be denied.
#[test]
fn a_question_that_was_cut_cannot_be_approved() {
    let mut action = approval();
    action["request"]["toolCall"]["_meta"]["agenthost.truncated"] = json!(true);
    let mut desk = Desk::new(120, 30).with_turns(&json!([]));
    desk.press("esc");
    desk.act(SESSION, &action);
    desk.wait(500);
    desk.press("a");
    assert!(desk.sent.is_empty());
    assert!(desk.text().contains("too large for the terminal"));
    desk.press("d");
    assert_eq!(
        desk.sent_action("chat/toolCallConfirmed")["approved"],
        false
    );
}

#[test]
fn a_long_question_can_be_denied_at_once() {
    let mut desk = Desk::new(40, 10).with_turns(&json!([]));
    desk.press("esc");
    desk.act(SESSION, &long_approval());
    desk.wait(500);
    desk.press("d");
    let action = desk.sent_action("chat/toolCallConfirmed");
    assert_eq!(action["approved"], false);
}

#[test]
fn a_question_that_has_just_appeared_takes_no_answer() {
    let mut desk = Desk::new(80, 24).with_turns(&json!([]));
    desk.press("esc");
    desk.act(SESSION, &approval());
    desk.press("a");
    assert!(desk.sent.is_empty());
    assert!(desk.text().contains("press the key again"));
    desk.wait(500);
    desk.press("2");
    let action = desk.sent_action("chat/toolCallConfirmed");
    assert_eq!(action["selectedOptionId"], "all");
    assert_eq!(action["approved"], true);
}

#[test]
fn letters_answer_only_outside_of_the_text() {
    let mut desk = Desk::new(80, 24).with_turns(&json!([]));
    desk.act(SESSION, &approval());
    desk.wait(500);
    desk.press("i");
    desk.type_text("add 1");
    assert!(
        desk.sent
            .iter()
            .all(|sent| sent["params"]["action"]["type"] != "chat/toolCallConfirmed")
    );
    desk.press("esc d");
    let action = desk.sent_action("chat/toolCallConfirmed");
    assert_eq!(
        (&action["approved"], &action["selectedOptionId"]),
        (&json!(false), &json!("no"))
    );
}

#[test]
fn the_inbox_answers_without_opening_the_session() {
    let mut desk = Desk::new(120, 24).with_turns(&json!([]));
    desk.act(SESSION, &approval());
    desk.press("esc A");
    desk.wait(500);
    assert!(desk.text().contains("rm -rf target"));
    desk.press("a");
    let action = desk.sent_action("chat/toolCallConfirmed");
    assert_eq!(action["selectedOptionId"], "once");
    assert_eq!(desk.screen.title(), "(1?) One");
    desk.act(
        SESSION,
        &json!({"type": "session/inputNeededRemoved", "id": "r"}),
    );
    assert_eq!(desk.screen.title(), "One");
}

/// A request with a question of every kind.
fn all_questions() -> Value {
    let questions = json!([
        {"kind": "text", "id": "name", "message": "Name", "required": true},
        {"kind": "text", "id": "key", "message": "Key", "format": "password"},
        {"kind": "integer", "id": "age", "message": "Age", "min": 1},
        {"kind": "number", "id": "size", "message": "Size"},
        {"kind": "boolean", "id": "ok", "message": "Sure?"},
        {"kind": "single-select", "id": "color", "message": "Color", "options": [
            {"id": "r", "label": "Red"}, {"id": "g", "label": "Green", "recommended": true}]},
        {"kind": "multi-select", "id": "tags", "message": "Tags", "allowFreeformInput": true, "options": [
            {"id": "a", "label": "Alpha"}, {"id": "b", "label": "Beta"}]},
    ]);
    let request = json!({"id": "q", "message": "Some questions", "questions": questions});
    let request = json!({"kind": "chatInput", "id": "r", "chat": CHAT, "request": request});
    json!({"type": "session/inputNeededSet", "request": request})
}

#[test]
fn every_kind_of_question_is_answered() {
    let mut desk = Desk::new(80, 40).with_turns(&json!([]));
    desk.act(SESSION, &all_questions());
    desk.press("esc enter");
    desk.check(expect![[r#"
        ● One · Shell · ~/work                                                 1 waiting
          ┌ Questions of the agent ──────────────────────────────────────────────────┐
          │Some questions                                                            │
          │                                                                          │
          │▸ Name *                                                                  │
          │  >                                                                       │
          │                                                                          │
          │  Key                                                                     │
          │  >                                                                       │
          │                                                                          │
          │  Age                                                                     │
          │  >                                                                       │
          │                                                                          │
          │  Size                                                                    │
          │  >                                                                       │
          │                                                                          │
          │  Sure?                                                                   │
          │    ( ) yes  ( ) no                                                       │
          │                                                                          │
          │  Color                                                                   │
          │    ( ) Red                                                               │
          │    (•) Green (recommended)                                               │
          │                                                                          │
          │  Tags                                                                    │
          │    [ ] Alpha                                                             │
          │    [ ] Beta                                                              │
          │    other:                                                                │
         ─│                                                                          │──
          │                                                                          │
          │                                                                          │
          │                                                                          │
          │                                                                          │
          │                                                                          │
          │                                                                          │
          │                                                                          │
          │ctrl+s send   tab next   ctrl+d decline   esc close, keep answers         │
          └──────────────────────────────────────────────────────────────────────────┘
         ───────────────────────────────────────────────────────────────────────────────
         > message, /command, @file, !shell
        a allow  d deny  1 choose an answer (1-9)  ] scroll the question  i write  enter
    "#]]);
    // A required answer is missing.
    desk.press("ctrl+s");
    assert!(desk.text().contains("`Name` needs an answer"));
    desk.type_text("Ada");
    desk.press("tab");
    desk.type_text("secret");
    assert!(!desk.text().contains("secret"));
    desk.press("tab");
    desk.type_text("0");
    desk.press("ctrl+s");
    assert!(desk.text().contains("`Age` needs at least 1"));
    desk.press("ctrl+u");
    desk.type_text("36");
    desk.press("tab");
    desk.type_text("1.5");
    desk.press("tab y tab enter space down space down");
    desk.type_text("Gamma");
    desk.sent.clear();
    desk.press("enter");
    let action = desk.sent_action("chat/inputCompleted");
    assert_eq!(action["response"], "accept");
    let answers = action["answers"].as_object().unwrap().iter();
    let answers: String = answers
        .map(|(key, answer)| format!("{key} {} {}\n", answer["state"], answer["value"]))
        .collect();
    expect![[r#"
        name "submitted" {"kind":"text","value":"Ada"}
        key "submitted" {"kind":"text","value":"secret"}
        age "submitted" {"kind":"number","value":36}
        size "submitted" {"kind":"number","value":1.5}
        ok "submitted" {"kind":"boolean","value":true}
        color "submitted" {"kind":"selected","value":"g"}
        tags "submitted" {"kind":"selected-many","value":["a","b"],"freeformValues":["Gamma"]}
    "#]]
    .assert_eq(&answers);
}

#[test]
fn code_is_allowed_only_after_it_was_shown() {
    let hooks = json!({
        "type": "directory", "id": "d", "uri": "file:///w", "name": "Hooks", "enabled": true,
        "contents": "hook", "writable": false, "_meta": {"agenthost.code": "file:///w#v2:a"},
        "children": [{"type": "hook", "id": "h", "uri": "file:///w/h.json", "name": "Stop"}],
    });
    let mut desk = Desk::new(100, 24).with_turns(&json!([]));
    desk.act(
        SESSION,
        &json!({"type": "session/customizationsChanged", "customizations": [hooks]}),
    );
    desk.press("esc z");
    assert!(desk.text().contains("code waits"));
    desk.press("enter");
    assert!(desk.text().contains("Reading the files"));
    desk.press("a");
    assert!(desk.text().contains("only code that is shown as a whole"));
    let file = json!({"data": "rm -rf \u{202e}x\u{1b}[2J", "encoding": "utf-8"});
    desk.answer("resourceRead", &file);
    let text = desk.text();
    assert!(text.contains("rm -rf \\u{202e}x\\u{1b}[2J"), "{text}");
    desk.press("a");
    let action = desk.sent_action("root/configChanged");
    assert_eq!(action["config"]["trustedCode"], json!(["file:///w#v2:a"]));
}

#[test]
fn a_customization_is_switched_in_the_session() {
    let rules = json!({
        "type": "directory", "id": "d", "uri": "file:///w", "name": "Rules", "enabled": true,
        "contents": "rule", "writable": false, "children": [],
    });
    let mut desk = Desk::new(100, 24).with_turns(&json!([]));
    desk.act(
        SESSION,
        &json!({"type": "session/customizationsChanged", "customizations": [rules]}),
    );
    desk.press("esc z space");
    let action = desk.sent_action("session/customizationToggled");
    assert_eq!(action["id"], "d");
    assert_eq!(action["enablement"][0]["enabled"], false);
}
