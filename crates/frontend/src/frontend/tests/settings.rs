//! Settings of the host: changes, races, refusals, a lost connection.

use serde_json::{Value, json};

use super::{Page, slice};

const ROOT: &str = "ahp-root://";

fn open() -> Page {
    let schema = json!({"type": "object", "properties": {
        "agent": {"type": "string", "title": "Agent", "enum": ["a", "b"], "default": "a"},
        "timeout": {"type": "number", "title": "Timeout", "default": 10},
        "folders": {"type": "array", "title": "Folders", "items": {"type": "string", "title": "Folder"}},
        "names": {"type": "object", "title": "Names", "additionalProperties": {"type": "string", "title": "Name"}},
    }});
    let config = json!({"schema": schema, "values": {"folders": ["file:///a"]}});
    let mut page = Page::open_with(json!({"agents": [], "config": config}));
    page.command(json!({"op": "settings.watch", "open": true}));
    page.done.clear();
    page
}

fn form(page: &mut Page) -> Value {
    slice(&page.frame(), "settings")["value"].clone()
}

fn text_of(form: &Value, key: &str) -> String {
    let mut fields = form["fields"].as_array().unwrap().iter();
    let field = fields.find(|field| field["key"] == key).unwrap();
    field["text"].as_str().unwrap().to_owned()
}

/// Takes the change that the page has dispatched.
fn change(page: &mut Page) -> Value {
    let params = page.sent("dispatchAction")["params"].clone();
    assert_eq!(
        (&params["channel"], &params["action"]["type"]),
        (&json!(ROOT), &json!("root/configChanged"))
    );
    // Other settings are never replaced.
    assert_eq!(params["action"].get("replace"), None);
    params["action"]["config"].clone()
}

fn changed(config: Value) -> Value {
    json!({"type": "root/configChanged", "config": config})
}

#[test]
fn a_change_is_shown_at_once_and_confirmed_later() {
    let mut page = open();
    assert_eq!(text_of(&form(&mut page), "timeout"), "10");
    page.command(json!({"op": "settings.set", "key": "timeout", "value": 20}));
    assert_eq!(change(&mut page), json!({"timeout": 20}));
    let shown = form(&mut page);
    assert_eq!(text_of(&shown, "timeout"), "20");
    assert!(page.done.is_empty());
    page.act(ROOT, 2, Some(1), changed(json!({"timeout": 20})));
    assert_eq!(page.done, [json!({"kind": "done", "id": 7})]);
    // The default comes back as a value, so that it is merged like every change.
    page.command(json!({"op": "settings.reset", "key": "timeout"}));
    assert_eq!(change(&mut page), json!({"timeout": 10}));
}

#[test]
fn a_rejection_is_reported_to_the_field_and_restores_the_old_value() {
    let mut page = open();
    page.frame();
    page.command(json!({"op": "settings.set", "key": "timeout", "value": "soon"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    let reason = "`timeout`: expected a value of type number";
    let params = json!({
        "channel": ROOT, "serverSeq": 2, "action": action, "rejectionReason": reason,
        "origin": {"clientId": "web-0", "clientSeq": 1},
    });
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
    assert_eq!(page.done[0]["error"], reason);
    let patches = page.frame();
    assert!(!patches.iter().any(|patch| patch["slice"] == "notes"));
    // Nothing has changed since the last frame.
    assert!(!patches.iter().any(|patch| patch["slice"] == "settings"));
}

#[test]
fn an_item_is_added_to_the_newest_list() {
    let mut page = open();
    // Another device is quicker.
    let quicker = json!({"folders": ["file:///a", "file:///b"]});
    page.act(ROOT, 2, None, changed(quicker));
    page.command(json!({"op": "settings.add", "key": "folders", "item": "file:///c"}));
    assert_eq!(
        change(&mut page),
        json!({"folders": ["file:///a", "file:///b", "file:///c"]})
    );
    let added = json!({"folders": ["file:///a", "file:///b", "file:///c"]});
    page.act(ROOT, 3, Some(1), changed(added));
    let removed = json!({"folders": ["file:///b", "file:///c"]});
    page.act(ROOT, 4, None, changed(removed));
    page.command(json!({"op": "settings.remove", "key": "folders", "item": "file:///b"}));
    assert_eq!(change(&mut page), json!({"folders": ["file:///c"]}));
    // The item is there already, or gone already: nothing is sent.
    page.done.clear();
    page.command(json!({"op": "settings.add", "key": "folders", "item": "file:///c"}));
    page.command(json!({"op": "settings.remove", "key": "folders", "item": "file:///z"}));
    assert!(page.sent.is_empty());
    assert_eq!(page.done.len(), 2);
}

#[test]
fn entries_of_a_map_are_changed_one_by_one() {
    let mut page = open();
    page.command(json!({"op": "settings.setEntry", "key": "names", "name": "x", "value": "1"}));
    assert_eq!(change(&mut page), json!({"names": {"x": "1"}}));
    page.command(json!({"op": "settings.setEntry", "key": "names", "name": "y", "value": "2"}));
    assert_eq!(change(&mut page), json!({"names": {"x": "1", "y": "2"}}));
    page.command(json!({"op": "settings.removeEntry", "key": "names", "name": "x"}));
    assert_eq!(change(&mut page), json!({"names": {"y": "2"}}));
}

#[test]
fn invalid_changes_are_rejected() {
    let mut page = open();
    for (command, reason) in [
        (
            json!({"op": "settings.set", "key": "other", "value": 1}),
            "the host does not have this setting",
        ),
        (
            json!({"op": "settings.reset", "key": "folders"}),
            "this setting has no default",
        ),
        (
            json!({"op": "settings.add", "key": "timeout", "item": 1}),
            "this setting is not a list",
        ),
        (
            json!({"op": "settings.removeEntry", "key": "folders", "name": "x"}),
            "this setting has no entries",
        ),
    ] {
        page.done.clear();
        page.command(command);
        assert_eq!(page.done[0]["error"], reason);
    }
    assert!(page.sent.is_empty());
}

#[test]
fn a_change_without_a_connection_is_an_error() {
    let mut page = open();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.command(json!({"op": "settings.set", "key": "timeout", "value": 20}));
    assert_eq!(page.done[0]["error"], "there is no connection to the host");
    assert_eq!(text_of(&form(&mut page), "timeout"), "10");
}

#[test]
fn a_host_without_settings_and_a_closed_panel_have_no_form() {
    let mut page = Page::open();
    page.command(json!({"op": "settings.watch", "open": true}));
    assert_eq!(form(&mut page), Value::Null);
    let mut page = open();
    assert!(form(&mut page).is_object());
    page.command(json!({"op": "settings.watch", "open": false}));
    assert_eq!(form(&mut page), Value::Null);
}

#[test]
fn the_host_is_described_by_its_handshake() {
    let mut page = Page::open();
    let patches = page.frame();
    let host = &slice(&patches, "host")["value"];
    assert_eq!(
        (&host["hostVersion"], &host["home"]),
        (&json!("9.8.7"), &json!("/home/me"))
    );
    // A resumed connection has no description, so it is saved.
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.unwrap();
    let mut page = Page::closed(Some(&saved));
    let patches = page.frame();
    assert_eq!(slice(&patches, "host")["value"]["hostVersion"], "9.8.7");
    let other = saved.replace(env!("CARGO_PKG_VERSION"), "0.0.0-other");
    let mut page = Page::closed(Some(&other));
    let patches = page.frame();
    assert_eq!(slice(&patches, "host")["value"].get("hostVersion"), None);
}
