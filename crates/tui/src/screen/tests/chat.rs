//! The timeline and the composer.

use expect_test::expect;
use serde_json::json;

use super::{CHAT, Desk, markdown, turn};
use crate::screen::ScreenRequest;

#[test]
fn a_chat_shows_text_calls_plans_and_errors() {
    let call = json!({"kind": "toolCall", "toolCall": {
        "status": "completed", "toolCallId": "c", "toolName": "bash", "displayName": "Bash",
        "invocationMessage": "Run it", "toolInput": "cargo test", "confirmed": "user-action",
        "_meta": {"toolKind": "terminal"}, "success": true, "pastTenseMessage": "Ran the tests",
        "content": [{"type": "text", "text": "one\ntwo\n\u{1b}[31mthree\u{1b}[0m\n4\n5\n6\n7\n8"}],
    }});
    let plan = json!({"kind": "toolCall", "toolCall": {
        "status": "completed", "toolCallId": "p", "toolName": "update_plan", "displayName": "Plan",
        "invocationMessage": "", "confirmed": "not-needed", "success": true, "pastTenseMessage": "",
        "content": [{"type": "text", "text": "- [x] read\n- [~] write\n- [ ] test"}],
    }});
    let parts = json!([
        {"kind": "reasoning", "id": "r", "content": "**Think first**\n\nlong thoughts"},
        markdown("Hello **you**.\n\n```sh\nls # all\n```"), call, plan,
    ]);
    let mut desk = Desk::new(100, 36).with_turns(&json!([turn("t1", "please test", &parts)]));
    desk.check(expect![[r#"
        ● One · Shell · ~/work
        ~/work                  │
        · One                 2m│ ▌ you  10:00Z
                                │ ▌ please test
                                │
                                │ ▸ thinking: Think first
                                │
                                │ Hello you.
                                │
                                │ ▏ ls # all
                                │
                                │ ✓ Ran the tests · allowed
                                │   $ cargo test
                                │   ┌ 2 earlier lines
                                │   │ three
                                │   │ 4
                                │   │ 5
                                │   │ 6
                                │   │ 7
                                │   │ 8
                                │
                                │ ■ read
                                │ ▶ write
                                │ □ test
                                │ ── done · 2 s
                                │
                                │
                                │
                                │
                                │
                                │
                                │
                                │
                                │ ──────────────────────────────────────────────────────────────────────────
                                │ > message, /command, @file, !shell
        enter send  alt+enter line  ctrl+g editor  esc chat  tab next pane  ctrl+p commands
    "#]]);
    // The selected entry opens: here the reasoning.
    desk.press("esc K K K K enter");
    assert!(desk.text().contains("long thoughts"));
}

#[test]
fn text_of_peers_never_controls_the_terminal() {
    let hostile = "a\u{1b}]0;t\u{7}b\u{202e}c\u{9b}2J";
    let parts = json!([markdown(hostile)]);
    let mut desk = Desk::new(60, 14).with_turns(&json!([turn("t1", hostile, &parts)]));
    let text = desk.text();
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(text.contains("\\u{1b}]0;t"), "{text}");
    assert!(!text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn a_paste_with_line_breaks_is_one_message() {
    let mut desk = Desk::new(80, 20).with_turns(&json!([]));
    desk.paste("first\r\nsecond");
    desk.press("alt+enter");
    desk.type_text("third");
    assert!(
        desk.sent
            .iter()
            .all(|message| message["method"] != "dispatchAction")
    );
    desk.press("enter");
    let action = desk.sent_action("chat/turnStarted");
    assert_eq!(action["message"]["text"], "first\nsecond\nthird");
}

#[test]
fn a_draft_is_stored_when_the_user_pauses() {
    let mut desk = Desk::new(80, 20).with_turns(&json!([]));
    desk.type_text("half");
    desk.wait(399);
    assert!(desk.sent.is_empty());
    desk.wait(1);
    let action = desk.sent_action("chat/draftChanged");
    assert_eq!(action["draft"]["text"], "half");
}

#[test]
fn a_draft_is_stored_before_the_end() {
    let mut desk = Desk::new(80, 20).with_turns(&json!([]));
    desk.type_text("half");
    desk.screen.leave();
    desk.settle();
    let action = desk.sent_action("chat/draftChanged");
    assert_eq!(action["draft"]["text"], "half");
}

#[test]
fn a_draft_of_another_client_is_shown() {
    let mut desk = Desk::new(80, 20).with_turns(&json!([]));
    let draft = json!({"text": "from the phone", "origin": {"kind": "user"}});
    desk.act(CHAT, &json!({"type": "chat/draftChanged", "draft": draft}));
    assert!(desk.text().contains("> from the phone"));
}

#[test]
fn the_editor_and_the_clipboard_are_requested() {
    let parts = json!([markdown("the **answer**")]);
    let mut desk = Desk::new(80, 20).with_turns(&json!([turn("t1", "go", &parts)]));
    desk.type_text("x");
    desk.press("ctrl+g esc y");
    let [ScreenRequest::EditText(edited), ScreenRequest::Copy(copied)] = &desk.requests[..] else {
        panic!("{:?}", desk.requests);
    };
    assert_eq!((edited.as_str(), copied.as_str()), ("x", "the answer"));
}

#[test]
fn the_window_stays_at_its_row_while_text_arrives() {
    let turns: Vec<_> = (0..60)
        .map(|n| {
            turn(
                &format!("t{n}"),
                &format!("question {n}"),
                &json!([markdown("answer")]),
            )
        })
        .collect();
    let mut desk = Desk::new(80, 20).with_turns(&json!(turns));
    assert!(desk.text().contains("question 59"));
    desk.press("esc pgup pgup");
    let before = desk.text();
    let first = before.lines().nth(1).unwrap().to_owned();
    let message = json!({"text": "new one", "origin": {"kind": "user"}});
    let started = json!({"type": "chat/turnStarted", "turnId": "n", "message": message, "startedAt": "2026-01-01T10:00:00Z"});
    desk.act(CHAT, &started);
    desk.act(
        CHAT,
        &json!({"type": "chat/responsePart", "turnId": "n", "part": markdown("streamed")}),
    );
    let after = desk.text();
    assert_eq!(after.lines().nth(1).unwrap(), first);
    assert!(after.contains("↓ 2 new, G"), "{after}");
    desk.press("G");
    assert!(desk.text().contains("streamed"));
}

/// Only rows near the window become lines, however long the chat is.
#[test]
fn a_chat_of_ten_thousand_turns_scrolls() {
    let turns: Vec<_> = (0..10_000)
        .map(|n| {
            turn(
                &format!("t{n}"),
                &format!("question {n}"),
                &json!([markdown("answer")]),
            )
        })
        .collect();
    let mut desk = Desk::new(100, 30).with_turns(&json!(turns));
    assert!(desk.text().contains("question 9999"));
    desk.press("esc g");
    let text = desk.text();
    assert!(text.contains("question 0"), "{text}");
    desk.resize(60, 20);
    assert!(desk.text().contains("question 0"));
    desk.press("G");
    assert!(desk.text().contains("question 9999"));
    assert!(desk.screen.timeline.cached_rows() <= 300);
}
