//! A connection that is open and silent.

use serde_json::json;

use super::{Page, slice};

#[test]
fn a_stalled_connection_is_found_by_a_ping() {
    let mut page = Page::open();
    page.frame();
    assert_eq!(page.wake, Some(20_000));
    page.now += 20_000;
    page.input(json!({"kind": "timer"}));
    page.sent("ping");
    assert_eq!(page.wake, Some(8_000));
    page.others.clear();
    page.now += 8_000;
    page.input(json!({"kind": "timer"}));
    // The worker drops the socket without waiting for it, and the core tries again.
    assert_eq!(page.others, ["disconnect", "wake"]);
    let patches = page.frame();
    let link = &slice(&patches, "link")["value"];
    assert_eq!(link["state"], "offline");
    assert_eq!(link["error"], "the host does not answer");
    page.input(json!({"kind": "timer"}));
    assert_eq!(page.others.last().unwrap(), "connect");
}

#[test]
fn a_message_of_the_host_ends_the_wait_for_a_ping() {
    let mut page = Page::open();
    page.now += 20_000;
    page.input(json!({"kind": "timer"}));
    page.answer("ping", &json!({}));
    page.now += 8_000;
    page.others.clear();
    page.input(json!({"kind": "timer"}));
    assert_eq!(page.others, ["wake"]);
    assert!(page.sent.is_empty(), "the connection is fresh");
}

#[test]
fn a_page_that_becomes_visible_checks_its_connection_once() {
    let mut page = Page::open();
    page.input(json!({"kind": "online"}));
    page.input(json!({"kind": "online"}));
    page.sent("ping");
    assert!(page.sent.is_empty());
}

#[test]
fn a_host_that_accepts_and_never_answers_is_given_up() {
    let mut page = Page::closed(None);
    assert_eq!(page.wake, Some(15_000));
    page.input(json!({"kind": "socketOpened"}));
    page.sent("initialize");
    page.others.clear();
    page.now += 15_000;
    page.input(json!({"kind": "timer"}));
    assert_eq!(page.others, ["disconnect", "wake"]);
    let patches = page.frame();
    let link = &slice(&patches, "link")["value"];
    assert_eq!(link["state"], "offline");
    assert_eq!(link["error"], "the host does not answer");
}

#[test]
fn a_message_of_the_host_extends_the_deadline_of_a_connection() {
    let mut page = Page::open();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    page.sent("reconnect");
    page.now += 10_000;
    page.text(&json!({"jsonrpc": "2.0", "method": "root/sessionRemoved",
        "params": {"channel": "ahp-root://", "session": "shell:/other"}}));
    page.others.clear();
    page.now += 10_000;
    page.input(json!({"kind": "timer"}));
    assert_eq!(
        page.others,
        ["wake"],
        "the host has answered five seconds ago"
    );
}
