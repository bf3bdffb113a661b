//! Results of actions on channels that the page does not show.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION};

/// A page that has renamed a session without opening it. The host has not answered.
fn renaming_page() -> Page {
    let mut page = Page::open();
    page.command(json!({"op": "rename", "session": SESSION, "title": "Two"}));
    page
}

/// Answers the subscription that precedes the action.
fn answer_subscription(page: &mut Page) -> Value {
    let state = json!({
        "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [], "defaultChat": CHAT,
    });
    let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
    page.answer("subscribe", &json!({"snapshot": session}));
    page.sent("dispatchAction")["params"]["action"].clone()
}

#[test]
fn an_action_on_a_closed_session_is_done_when_the_host_has_confirmed_it() {
    let mut page = renaming_page();
    let action = answer_subscription(&mut page);
    assert_eq!(page.done, Vec::<Value>::new(), "sent is not confirmed");
    page.act(SESSION, 3, Some(1), action);
    assert_eq!(page.done.len(), 1);
    assert_eq!(page.done[0]["error"], Value::Null);
}

#[test]
fn an_action_on_a_closed_session_fails_with_the_connection() {
    let mut page = renaming_page();
    answer_subscription(&mut page);
    page.input(json!({"kind": "socketClosed", "reason": ""}));
    assert_eq!(page.done.len(), 1);
    let error = page.done[0]["error"].as_str().unwrap();
    assert!(error.contains("may have had an effect"), "{error}");
}

#[test]
fn an_action_on_a_closed_session_fails_without_a_connection() {
    let mut page = Page::open();
    page.input(json!({"kind": "socketClosed", "reason": ""}));
    page.command(json!({"op": "rename", "session": SESSION, "title": "Two"}));
    assert_eq!(page.done[0]["error"], "there is no connection to the host");
}

/// The host fills in the activity of a session, its comments and the changes of a chat when it
/// sends a snapshot; no action carries them.
#[test]
fn digests_leave_out_what_no_action_carries() {
    let digest = |fields: &Value| {
        let mut page = Page::open();
        page.command(json!({"op": "selectSession", "session": SESSION}));
        let mut state = json!({
            "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
            "activeClients": [], "chats": [], "defaultChat": CHAT,
        });
        let more = fields.as_object().unwrap().clone();
        state.as_object_mut().unwrap().extend(more);
        let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
        page.answer("subscribe", &json!({"snapshot": session}));
        page.done.clear();
        page.command(json!({"op": "digests"}));
        page.done[0]["value"][SESSION].clone()
    };
    let plain = digest(&json!({}));
    assert!(plain["digest"].is_string(), "{plain}");
    let counts =
        json!({"resource": "shell:/s1/annotations", "annotationCount": 1, "entryCount": 2});
    assert_eq!(digest(&json!({"status": 8, "annotations": counts})), plain);
    assert_ne!(
        digest(&json!({"status": 33})),
        plain,
        "the flags are compared"
    );
    assert_ne!(digest(&json!({"title": "Two"})), plain);
}
