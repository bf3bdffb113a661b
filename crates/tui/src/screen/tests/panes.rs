//! Layout, sessions, palette and dialogs.

use expect_test::expect;
use serde_json::{Value, json};

use super::{CHAT, Desk, SESSION, summary, turn};
use crate::paint::theme::ScreenTheme;

#[test]
fn the_first_screen_says_how_to_begin() {
    let mut desk = Desk::new(100, 12);
    desk.answer("listSessions", &json!({"items": []}));
    desk.check(expect![[r#"
        ● agenthost
        no sessions yet: n start│
                                │   agenthost
                                │
                                │   n  new session in ~/work
                                │   s  sessions
                                │   ?  help
                                │
                                │
                                │
                                │
        enter open  n new  / filter  r rename  x archive  tab next pane  A inbox  c changes  ctrl+p commands
    "#]]);
}

#[test]
fn three_panes_are_side_by_side_and_one_in_a_narrow_terminal() {
    let turns = json!([turn("t1", "question", &json!([]))]);
    let mut desk = Desk::new(120, 14).with_turns(&turns);
    desk.press("esc w");
    desk.check(expect![[r#"
        ● One · Shell · ~/work
        ~/work                  │                                                         │Chats
        · One                 2m│▌ you  10:00Z                                            │no session is open
                                │▌ question                                               │
                                │── done · 2 s                                            │
                                │                                                         │
                                │                                                         │
                                │                                                         │
                                │                                                         │
                                │                                                         │
                                │                                                         │
                                │─────────────────────────────────────────────────────────│
                                │> message, /command, @file, !shell                       │
        enter open  o new chat  f fork  T side chat  tab next pane  A inbox  c changes  ctrl+p commands  ? help  q quit
    "#]]);
    desk.resize(60, 14);
    let text = desk.text();
    assert!(
        text.contains("Chats") && !text.contains("question"),
        "{text}"
    );
    desk.press("alt+2");
    assert!(desk.text().contains("question"));
    desk.press("alt+1");
    assert!(desk.text().contains("· One"));
}

#[test]
fn a_new_session_has_the_folder_and_the_settings() {
    let mut desk = Desk::new(100, 24);
    desk.answer("listSessions", &json!({"items": []}));
    desk.settle();
    desk.press("n");
    let schema = json!({"type": "object", "properties": {"mode": {
        "type": "string", "title": "Mode", "enum": ["ask", "plan"], "enumLabels": ["Ask", "Plan"],
        "default": "ask", "sessionMutable": true}}});
    desk.answer(
        "resolveSessionConfig",
        &json!({"schema": schema, "values": {}}),
    );
    desk.type_text("hello");
    desk.press("tab tab tab right");
    desk.check(expect![[r#"
        ● agenthost
        no sessions yet: n start│
                                │   agenthost
                    ┌ New session ─────────────────────────────────────────────────────────────┐
                    │Message (may be empty)                                                    │
                    │  hello                                                                   │
                    │                                                                          │
                    │                                                                          │
                    │                                                                          │
                    │                                                                          │
                    │                                                                          │
                    │Agent         Shell                                                       │
                    │Folder        /home/me/work                                               │
                    │Mode          ◂ Plan ▸                                                    │
                    │                                                                          │
                    │enter: create  tab: next  ◂ ▸: choose  ctrl+n: recent folder  esc: close  │
                    └──────────────────────────────────────────────────────────────────────────┘
                                │
                                │
                                │
                                │
                                │
                                │
        enter open  n new  / filter  r rename  x archive  tab next pane  A inbox  c changes  ctrl+p commands
    "#]]);
    desk.press("enter");
    let params = desk.sent("createSession")["params"].clone();
    assert_eq!(
        params["workingDirectories"],
        json!(["file:///home/me/work"])
    );
    assert_eq!(params["config"], json!({"mode": "plan"}));
}

#[test]
fn the_palette_finds_commands_and_sessions() {
    let mut desk = Desk::new(100, 20).with_turns(&json!([]));
    desk.press("esc ctrl+p");
    desk.type_text("custom");
    desk.press("enter");
    assert!(desk.text().contains("Customizations"));
    desk.press("ctrl+p");
    desk.type_text("session One");
    desk.press("enter");
    assert!(desk.text().contains("● One"));
}

#[test]
fn a_session_is_deleted_only_after_a_question() {
    let mut desk = Desk::new(100, 20).with_turns(&json!([]));
    desk.press("esc s D");
    assert!(desk.text().contains("Delete `One` with all of its chats?"));
    desk.press("x");
    assert!(desk.sent.is_empty());
    desk.press("y");
    assert_eq!(desk.sent("disposeSession")["params"]["channel"], SESSION);
}

#[test]
fn waiting_messages_are_edited_moved_and_dropped() {
    let mut desk = Desk::new(100, 24).with_turns(&json!([]));
    let message = |text: &str| json!({"text": text, "origin": {"kind": "user"}});
    let started = json!({"type": "chat/turnStarted", "turnId": "n", "message": message("go"), "startedAt": "2026-01-01T10:00:00Z"});
    desk.act(CHAT, &started);
    for (id, text) in [("a", "first"), ("b", "second")] {
        let set = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message(text)});
        desk.act(CHAT, &set);
    }
    assert!(desk.text().contains("queued: second"));
    desk.press("esc Q down K");
    let action = desk.sent_action("chat/queuedMessagesReordered");
    assert_eq!(action["order"], json!(["b", "a"]));
    desk.press("e");
    desk.type_text("!");
    desk.press("enter");
    let action = desk.sent_action("chat/pendingMessageSet");
    assert_eq!(
        (&action["id"], &action["message"]["text"]),
        (&json!("b"), &json!("second!"))
    );
}

#[test]
fn a_title_never_controls_the_terminal() {
    let mut desk = Desk::new(80, 12).with_turns(&json!([]));
    let title = "a\u{7}\u{1b}]52;c;aGk=\u{7}";
    desk.act(
        SESSION,
        &json!({"type": "session/titleChanged", "title": title}),
    );
    assert!(!desk.screen.title().contains(char::is_control));
    assert!(desk.text().starts_with("● a\\u{7}"));
}

#[test]
fn a_lost_connection_is_shown() {
    use agenthost_frontend::FrontendInput;
    let mut desk = Desk::new(80, 12).with_turns(&json!([]));
    desk.step(FrontendInput::SocketClosed {
        reason: String::new(),
    });
    assert!(desk.text().starts_with("✗ no connection, retrying"));
}

/// Every screen is drawn in every size without a panic, with and without colours.
#[test]
fn every_size_is_drawn() {
    for theme in [ScreenTheme::plain(), ScreenTheme::colored()] {
        let mut desk = Desk::with_theme(100, 30, theme);
        desk.answer(
            "listSessions",
            &json!({"items": [summary("你好 \u{1b}[31m")]}),
        );
        desk.settle();
        desk.answer_subscriptions(&json!([turn("t1", "你好", &json!([]))]));
        for keys in [
            "esc",
            "A",
            "c",
            "w",
            "e",
            "u",
            "z",
            "?",
            "esc n",
            "esc ctrl+p",
            "esc i",
        ] {
            desk.press(keys);
            for (width, height) in [
                (1, 1),
                (2, 3),
                (5, 5),
                (20, 4),
                (40, 12),
                (99, 2),
                (160, 50),
            ] {
                desk.resize(width, height);
            }
        }
    }
}

#[test]
fn a_full_disk_is_shown_until_there_is_space() {
    let mut desk = Desk::new(80, 10).with_turns(&json!([]));
    let change =
        |config: Value| json!({"type": "root/configChanged", "replace": true, "config": config});
    desk.act(
        "ahp-root://",
        &change(json!({"storageProblem": "the disk is full"})),
    );
    let banner = "! the disk is full: changes are refused until there is space";
    assert_eq!(desk.text().lines().nth(1), Some(banner));
    desk.act("ahp-root://", &change(json!({})));
    assert!(!desk.text().contains("disk"));
}

#[test]
fn the_help_is_whole_in_forty_columns() {
    let mut desk = Desk::new(40, 24).with_turns(&json!([]));
    desk.press("esc ?");
    let text = desk.text();
    let rows: Vec<_> = text
        .lines()
        .map(|row| row.trim_matches('│').trim())
        .collect();
    let text = rows.join(" ");
    assert!(text.contains("the message waits in the queue"), "{text}");
}
