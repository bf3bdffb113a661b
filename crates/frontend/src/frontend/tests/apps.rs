//! MCP Apps: opening, data, and requests that reach only the server of the call.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice};

const URI: &str = "ui://weather/view";
const CHANNEL: &str = "mcp://weather";

fn server(id: &str, channel: &str, capabilities: Value) -> Value {
    json!({
        "type": "mcpServer", "id": id, "uri": format!("mcp-config:/{id}"), "name": id,
        "state": {"kind": "ready"}, "channel": channel, "mcpApp": {"capabilities": capabilities},
    })
}

fn tool_call(id: &str, contributor: &Value, uri: &str) -> Value {
    let call = json!({
        "status": "completed", "toolCallId": id, "toolName": "weather", "displayName": "Weather",
        "invocationMessage": "Look", "toolInput": "{\"city\":\"Rome\"}", "confirmed": "not-needed",
        "success": true, "pastTenseMessage": "Looked", "content": [{"type": "text", "text": "20"}],
        "contributor": contributor, "_meta": {"ui": {"resourceUri": uri}},
    });
    json!({"kind": "toolCall", "toolCall": call})
}

/// A page that shows a chat with calls of an MCP server, of a client and of another server.
fn page() -> Page {
    let mut page = Page::open();
    page.command(json!({"op": "selectSession", "session": SESSION}));
    let weather = server(
        "weather",
        CHANNEL,
        json!({"serverTools": {}, "serverResources": {}}),
    );
    let reader = server("reader", "mcp://reader", json!({"serverResources": {}}));
    let state = json!({
        "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [], "defaultChat": CHAT, "customizations": [weather, reader],
    });
    let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
    page.answer("subscribe", &json!({"snapshot": session}));
    let of_server = |id: &str| json!({"kind": "mcp", "customizationId": id});
    let parts = [
        tool_call("c1", &of_server("weather"), URI),
        tool_call("c2", &of_server("reader"), URI),
        tool_call("c3", &json!({"kind": "client", "clientId": "weather"}), URI),
        tool_call("c4", &of_server("gone"), URI),
        tool_call("c5", &of_server("weather"), "https://evil.example/"),
    ];
    let message = json!({"text": "go", "origin": {"kind": "user"}});
    let turn = json!({"id": "t", "message": message, "responseParts": parts, "state": "complete"});
    let state = json!({
        "resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z", "turns": [turn],
    });
    let chat = json!({"resource": CHAT, "fromSeq": 2, "state": state});
    page.answer("subscribe", &json!({"snapshot": chat}));
    page.done.clear();
    page
}

fn about(op: &str, call: &str) -> Value {
    json!({"op": op, "turn": "t", "call": call})
}

fn request(call: &str, method: &str, params: Value) -> Value {
    json!({"op": "app.request", "turn": "t", "call": call, "method": method, "params": params})
}

fn failure(page: &mut Page, command: Value) -> String {
    page.done.clear();
    page.command(command);
    assert!(page.sent.is_empty(), "{:?}", page.sent);
    page.done[0]["error"].as_str().unwrap().to_owned()
}

#[test]
fn the_page_declares_that_it_shows_apps() {
    let mut page = Page::closed(None);
    page.input(json!({"kind": "socketOpened"}));
    let initialize = page.sent("initialize");
    assert_eq!(initialize["params"]["capabilities"], json!({"mcpApps": {}}));
}

#[test]
fn only_calls_of_running_servers_offer_an_app() {
    let mut page = page();
    let patches = page.frame();
    let rows = slice(&patches, "timeline")["set"].as_object().unwrap();
    let offers = rows
        .values()
        .filter(|row| row.get("app").is_some())
        .map(|row| (row["callId"].clone(), row["app"].clone()));
    let offers: Vec<_> = offers.collect();
    assert_eq!(
        offers,
        [(json!("c1"), json!(URI)), (json!("c2"), json!(URI))]
    );
    // A server that stops has no channel, and its apps are closed.
    let stopped = json!({"type": "session/mcpServerStateChanged", "id": "weather", "state": {"kind": "stopped"}});
    page.act(SESSION, 3, None, stopped);
    let patches = page.frame();
    let rows = slice(&patches, "timeline")["set"].as_object().unwrap();
    let first = rows.values().find(|row| row["callId"] == "c1").unwrap();
    assert_eq!(first.get("app"), None);
    let reason = failure(&mut page, about("app.open", "c1"));
    assert_eq!(reason, "the MCP server of the app is not running");
}

#[test]
fn an_app_is_read_from_the_server_of_its_call() {
    let mut page = page();
    page.command(about("app.open", "c1"));
    let read = page.sent("resources/read");
    assert_eq!(read["params"], json!({"uri": URI, "channel": CHANNEL}));
    let content = json!({"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": "<p>"});
    let result = json!({"contents": [content]});
    page.text(&json!({"jsonrpc": "2.0", "id": read["id"], "result": result}));
    assert_eq!(page.done[0]["value"]["text"], "<p>");
    page.done.clear();
    page.command(about("app.open", "c1"));
    let plain = json!({"contents": [{"uri": URI, "mimeType": "text/html", "text": "<p>"}]});
    page.answer("resources/read", &plain);
    assert!(
        page.done[0]["error"]
            .as_str()
            .unwrap()
            .contains("not an app")
    );
}

#[test]
fn an_app_gets_its_call() {
    let mut page = page();
    page.command(about("app.call", "c1"));
    let expected = json!({
        "input": {"city": "Rome"}, "cancelled": false, "servesTools": true,
        "result": {"content": [{"type": "text", "text": "20"}], "isError": false},
    });
    assert_eq!(page.done[0]["value"], expected);
    for (call, reason) in [
        ("c3", "the tool call has no app"),
        ("c4", "the MCP server of the app is not running"),
        ("c5", "the tool call has no app"),
        ("c9", "the chat has no such tool call"),
    ] {
        for op in ["app.open", "app.call"] {
            assert_eq!(failure(&mut page, about(op, call)), reason, "{op} {call}");
        }
    }
}

#[test]
fn a_request_goes_to_the_own_server_only() {
    let mut page = page();
    let params = json!({"name": "refresh", "channel": "mcp://reader", "arguments": {}});
    page.command(request("c1", "tools/call", params));
    let sent = page.sent("tools/call");
    assert_eq!(sent["params"]["channel"], CHANNEL);
    page.text(&json!({"jsonrpc": "2.0", "id": sent["id"], "result": {"content": []}}));
    assert_eq!(page.done[0]["value"], json!({"result": {"content": []}}));
    // Errors of the server keep their code.
    page.done.clear();
    page.command(request("c1", "resources/read", json!({"uri": "x://y"})));
    let sent = page.sent("resources/read");
    let error = json!({"code": -32002, "message": "not found", "data": {"secret": 1}});
    page.text(&json!({"jsonrpc": "2.0", "id": sent["id"], "error": error}));
    let expected = json!({"error": {"code": -32002, "message": "not found"}});
    assert_eq!(page.done[0]["value"], expected);
}

#[test]
fn other_methods_are_refused() {
    let mut page = page();
    for method in [
        "createSession",
        "dispatchAction",
        "resourceRead",
        "resources/list",
        "sampling/createMessage",
        "logging/setLevel",
        "initialize",
        "ui/open-link",
        "",
    ] {
        let reason = failure(&mut page, request("c1", method, json!({})));
        assert_eq!(reason, format!("apps may not use `{method}`"));
    }
    // This server has no tools for apps.
    for method in ["tools/call", "tools/list"] {
        let reason = failure(&mut page, request("c2", method, json!({"name": "x"})));
        assert_eq!(reason, format!("apps may not use `{method}`"));
    }
}

#[test]
fn pending_requests_are_limited_and_end_with_the_connection() {
    let mut page = page();
    for _ in 0..super::super::apps::MAX_PENDING {
        page.command(request("c1", "resources/read", json!({"uri": "x://y"})));
        page.sent("resources/read");
    }
    let reason = failure(&mut page, about("app.open", "c1"));
    assert_eq!(reason, "too many requests of apps");
    page.done.clear();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    assert_eq!(page.done.len(), super::super::apps::MAX_PENDING);
    let lost = "the connection was lost before the response arrived";
    assert!(page.done.iter().all(|done| done["error"] == lost));
    let reason = failure(&mut page, about("app.open", "c1"));
    assert_eq!(reason, "there is no connection to the host");
}
