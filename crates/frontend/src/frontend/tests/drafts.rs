//! The draft of a chat, which all devices share.

use serde_json::{Value, json};

use super::{CHAT, Page, slice};

fn draft_of(text: &str, device: &str, client: &str) -> Value {
    let author = json!({"clientId": client, "name": device});
    json!({"type": "chat/draftChanged", "draft": {
        "text": text, "origin": {"kind": "user"}, "_meta": {"agenthost.author": author},
    }})
}

#[test]
fn a_draft_names_this_device_and_that_of_another_is_named() {
    let mut page = Page::open();
    page.select();
    page.frame();
    page.command(json!({"op": "setDraft", "text": "mine"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    let author = &action["draft"]["_meta"]["agenthost.author"];
    assert_eq!(*author, json!({"clientId": "web-0", "name": "laptop"}));
    let composer = slice(&page.frame(), "composer")["value"].clone();
    assert_eq!(
        (&composer["draft"], composer.get("draftFrom")),
        (&json!("mine"), None)
    );

    page.act(CHAT, 3, Some(1), action);
    page.act(CHAT, 4, None, draft_of("theirs", "phone", "web-9"));
    let composer = slice(&page.frame(), "composer")["value"].clone();
    assert_eq!(
        (&composer["draft"], &composer["draftFrom"]),
        (&json!("theirs"), &json!("phone"))
    );
}

#[test]
fn sending_another_text_keeps_the_draft_of_another_device() {
    let mut page = Page::open();
    page.select();
    page.act(CHAT, 3, None, draft_of("theirs", "phone", "web-9"));
    page.command(json!({"op": "send", "text": "mine", "keepDraft": true}));
    let action = &page.sent("dispatchAction")["params"]["action"];
    assert_eq!(action["message"]["text"], "mine");
    assert!(page.sent.is_empty(), "{:?}", page.sent);

    let mut page = Page::open();
    page.select();
    page.act(CHAT, 3, None, draft_of("theirs", "phone", "web-9"));
    page.command(json!({"op": "send", "text": "theirs"}));
    page.sent("dispatchAction");
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    assert_eq!(action, json!({"type": "chat/draftChanged"}));
}
