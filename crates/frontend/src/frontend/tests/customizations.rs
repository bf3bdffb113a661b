//! Customizations: switches, the review of code, and tokens.

use serde_json::{Value, json};

use super::{Page, SESSION, slice};

const ROOT: &str = "ahp-root://";

fn hooks(key: Option<&str>) -> Value {
    let meta = key.map_or(
        json!({}),
        |key| json!({"agenthost.code": format!("file:///w#v2:{key}")}),
    );
    json!({"type": "directory", "id": "d", "uri": "file:///w", "name": "Hooks", "enabled": true, "contents": "hook",
        "writable": false, "_meta": meta, "children": [
            {"type": "hook", "id": "h", "uri": "file:///w/h.json", "name": "Stop"}]})
}

fn server(state: Value) -> Value {
    json!({"type": "mcpServer", "id": "m", "uri": "file:///w/m", "name": "m", "state": state})
}

fn challenge() -> Value {
    json!({"kind": "authRequired", "reason": "required", "requiredScopes": ["read"],
        "resource": {"resource": "https://r"}})
}

fn set(page: &mut Page, seq: u64, all: Value) {
    let action = json!({"type": "session/customizationsChanged", "customizations": all});
    page.act(SESSION, seq, None, action);
}

fn page_with(all: Value) -> Page {
    let mut page = Page::open();
    page.select();
    set(&mut page, 3, all);
    page.frame();
    page.sent.clear();
    page.done.clear();
    page
}

fn review(page: &mut Page) {
    page.command(json!({"op": "customization.review", "session": SESSION, "key": "d"}));
}

fn allow(page: &mut Page, key: &str) {
    page.done.clear();
    page.command(json!({"op": "customization.allow", "code": format!("file:///w#v2:{key}")}));
}

fn file(text: &str) -> Value {
    json!({"data": text, "encoding": "utf-8"})
}

fn shown(page: &mut Page) -> Value {
    slice(&page.frame(), "codeReview")["value"].clone()
}

#[test]
fn code_is_allowed_only_after_all_of_it_was_shown() {
    let mut page = page_with(json!([hooks(Some("a"))]));
    review(&mut page);
    assert_eq!(shown(&mut page)["review"]["status"], "loading");
    allow(&mut page, "a");
    assert!(
        page.done[0]["error"]
            .as_str()
            .unwrap()
            .contains("has changed")
    );
    page.answer("resourceRead", &file("rm -rf \u{202e}x"));
    let view = shown(&mut page);
    assert_eq!(view["review"]["files"][0]["text"], "rm -rf \\u{202e}x");
    allow(&mut page, "other");
    assert!(page.done[0]["error"].is_string());
    assert!(page.sent.is_empty());
    allow(&mut page, "a");
    let params = page.sent("dispatchAction")["params"].clone();
    assert_eq!(params["channel"], ROOT);
    assert_eq!(
        params["action"]["config"]["trustedCode"],
        json!(["file:///w#v2:a"])
    );
    assert_eq!(params["action"].get("replace"), None);
}

#[test]
fn changed_code_is_read_again_and_the_earlier_version_cannot_be_allowed() {
    let mut page = page_with(json!([hooks(Some("a"))]));
    review(&mut page);
    let first = page.sent("resourceRead");
    set(&mut page, 4, json!([hooks(Some("b"))]));
    // The response for the earlier version comes late, and is not shown.
    page.text(&json!({"jsonrpc": "2.0", "id": first["id"], "result": file("old")}));
    let view = shown(&mut page);
    assert_eq!(
        (&view["isChanged"], &view["review"]["status"]),
        (&json!(true), &json!("loading"))
    );
    page.answer("resourceRead", &file("new"));
    allow(&mut page, "a");
    assert!(page.done[0]["error"].is_string());
    allow(&mut page, "b");
    assert_eq!(
        page.sent("dispatchAction")["params"]["action"]["type"],
        "root/configChanged"
    );
    // The container is removed while the review is open.
    set(&mut page, 5, json!([]));
    assert_eq!(shown(&mut page), json!({"isChanged": true}));
    allow(&mut page, "b");
    assert!(page.done[0]["error"].is_string());
}

#[test]
fn unreadable_code_and_a_lost_connection_allow_nothing() {
    let mut page = page_with(json!([hooks(Some("a"))]));
    review(&mut page);
    page.answer(
        "resourceRead",
        &json!({"data": "AAA=", "encoding": "base64"}),
    );
    assert_eq!(shown(&mut page)["review"]["status"], "incomplete");
    allow(&mut page, "a");
    assert!(page.done[0]["error"].is_string());
    review(&mut page);
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.sent.clear();
    allow(&mut page, "a");
    assert_eq!(page.done[0]["error"], "there is no connection to the host");
    page.done.clear();
    page.command(json!({"op": "customization.revoke", "session": SESSION, "key": "d"}));
    review(&mut page);
    assert_eq!(page.done.len(), 2);
    assert!(page.done.iter().all(|done| done["error"].is_string()));
    assert!(page.sent.is_empty());
}

#[test]
fn denied_code_is_turned_off_in_the_session() {
    let mut page = page_with(json!([hooks(Some("a"))]));
    review(&mut page);
    page.answer("resourceRead", &file("x"));
    page.command(json!({"op": "customization.deny"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    assert_eq!(action["type"], "session/customizationToggled");
    assert_eq!(
        action["enablement"],
        json!([{"kind": "session", "enabled": false}])
    );
}

#[test]
fn the_tree_is_drawn_while_it_is_watched_and_rejected_switches_return() {
    let mut page = page_with(json!([
        hooks(None),
        server(json!({"kind": "ready"})),
        hooks(None)
    ]));
    page.command(json!({"op": "customization.watch", "filter": "", "kind": null}));
    let patches = page.frame();
    let tree = slice(&patches, "customizations");
    // Keys of rows are unique, also if the host repeats an id.
    assert_eq!(tree["order"], json!(["d", "m"]));
    page.done.clear();
    page.command(json!({"op": "customization.decide", "session": SESSION, "key": "m", "scope": "global", "enabled": false}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    assert_eq!(
        action["enablement"],
        json!([{"kind": "global", "enabled": false}])
    );
    let patches = page.frame();
    assert_eq!(
        slice(&patches, "customizations")["set"]["m"]["enabled"],
        false
    );
    let params = json!({"channel": SESSION, "serverSeq": 4, "action": action, "rejectionReason": "read only",
        "origin": {"clientId": "web-0", "clientSeq": 1}});
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
    assert_eq!(page.done[0]["error"], "read only");
    let patches = page.frame();
    assert_eq!(
        slice(&patches, "customizations")["set"]["m"]["enabled"],
        true
    );
    page.command(json!({"op": "customization.decide", "session": SESSION, "key": "gone", "scope": "session", "enabled": false}));
    assert!(page.done[1]["error"].is_string());
    page.command(json!({"op": "customization.unwatch"}));
    assert_eq!(slice(&page.frame(), "customizations")["order"], json!([]));
}

#[test]
fn a_token_is_sent_once_and_never_saved() {
    let mut page = page_with(json!([server(challenge())]));
    let sign_in = |page: &mut Page, token: &str| {
        page.done.clear();
        page.command(json!({"op": "customization.signIn", "resource": "https://r", "token": token, "expiresIn": 60}));
    };
    sign_in(&mut page, "  ");
    assert!(page.done[0]["error"].is_string() && page.sent.is_empty());
    sign_in(&mut page, " secret-token\n");
    let request = page.sent("authenticate");
    let params = &request["params"];
    assert_eq!(
        (&params["token"], &params["scopes"]),
        (&json!("secret-token"), &json!(["read"]))
    );
    let error = json!({"code": -32602, "message": "token: refused"});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    assert_eq!(page.done[0]["error"], "token: refused");
    sign_in(&mut page, "secret-token");
    page.answer("authenticate", &json!({}));
    assert_eq!(page.done, [json!({"kind": "done", "id": 7})]);
    // The host uses the token of this device once it has started the server.
    assert_eq!(
        page.sent("dispatchAction")["params"]["action"]["type"],
        "session/mcpServerStartRequested"
    );
    page.input(json!({"kind": "hidden"}));
    assert!(!page.saved.as_ref().unwrap().contains("secret-token"));
    assert!(!format!("{:?}", page.core).contains("secret-token"));
}

#[test]
fn a_request_of_the_host_for_a_token_is_listed_until_it_is_answered() {
    let mut page = page_with(json!([]));
    for channel in [SESSION, ROOT] {
        let params = json!({"channel": channel, "resource": {"resource": "https://agent", "resource_name": "Agent"}});
        page.text(&json!({"jsonrpc": "2.0", "method": "auth/required", "params": params}));
    }
    let patches = page.frame();
    assert_eq!(
        slice(&patches, "inbox")["order"],
        json!(["token https://agent"])
    );
    assert!(
        slice(&patches, "notes")["value"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Agent")
    );
    page.sent.clear();
    page.command(json!({"op": "customization.signIn", "resource": "https://agent", "token": "t"}));
    page.answer("authenticate", &json!({}));
    assert_eq!(slice(&page.frame(), "inbox")["order"], json!([]));
}
