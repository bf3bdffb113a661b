//! The scope of the device.

use serde_json::{Value, json};

use super::{Page, SESSION, slice};

/// A session that has ended a turn and was not read: 1 is idle.
fn unread(page: &mut Page) {
    let changed = json!({
        "channel": "ahp-root://", "session": SESSION, "changes": {"status": 1},
    });
    page.text(
        &json!({"jsonrpc": "2.0", "method": "root/sessionSummaryChanged", "params": changed}),
    );
}

fn dispatched(page: &Page) -> Vec<Value> {
    let sent = page.sent.iter();
    let sent = sent.filter(|message| message["method"] == "dispatchAction");
    sent.map(|message| message["params"]["action"]["type"].clone())
        .collect()
}

#[test]
fn a_device_knows_its_scope_also_after_a_reload() {
    let mut page = Page::open_as("read");
    assert_eq!(slice(&page.frame(), "host")["value"]["scope"], "read");
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    assert_eq!(slice(&page.frame(), "host")["value"]["scope"], "read");
    let mut page = Page::open();
    assert_eq!(slice(&page.frame(), "host")["value"].get("scope"), None);
}

#[test]
fn a_device_that_may_only_read_marks_nothing_as_read() {
    let mut page = Page::open_as("read");
    page.select();
    unread(&mut page);
    assert_eq!(dispatched(&page), [json!(null); 0]);
    let mut page = Page::open();
    page.select();
    unread(&mut page);
    assert_eq!(dispatched(&page), ["session/isReadChanged"]);
}
