use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::samples::{call, chat, check, session, turn};

const URI: &str = "ui://weather/view";

fn document(content: Value) -> Result<AppDocument, AppError> {
    AppDocument::of_result(URI, &json!({"contents": [content]}))
}

fn with_policy(policy: Value) -> AppDocument {
    let content = json!({
        "uri": URI, "mimeType": "text/html;profile=mcp-app", "text": "<p>", "_meta": {"ui": {"csp": policy}},
    });
    document(content).unwrap()
}

#[test]
fn only_apps_of_the_requested_resource_are_shown() {
    let app = |kind: &str| json!({"uri": URI, "mimeType": kind, "text": "<p>"});
    for valid in [
        "text/html;profile=mcp-app",
        "Text/HTML; charset=utf-8; Profile=\"mcp-app\"",
    ] {
        assert!(document(app(valid)).is_ok(), "{valid}");
    }
    for wrong in [
        "text/html",
        "text/html;profile=other",
        "text/plain;profile=mcp-app",
        "text/html;mcp-app",
        "",
    ] {
        assert_eq!(document(app(wrong)), Err(AppError::WrongType), "{wrong}");
    }
    let kind = "text/html;profile=mcp-app";
    let other = json!({"uri": "ui://other", "mimeType": kind, "text": "<p>"});
    assert_eq!(document(other), Err(AppError::Missing));
    let empty = json!({"uri": URI, "mimeType": kind});
    assert_eq!(document(empty), Err(AppError::Missing));
    let large = json!({"uri": URI, "mimeType": kind, "text": "x".repeat(MAX_HTML_BYTES + 1)});
    assert_eq!(document(large), Err(AppError::TooLarge));
    let large = json!({"uri": URI, "mimeType": kind, "blob": "x".repeat(MAX_HTML_BYTES + 1)});
    assert_eq!(document(large), Err(AppError::TooLarge));
    for malformed in [
        json!(null),
        json!([]),
        json!({"contents": {}}),
        json!({"contents": [1]}),
    ] {
        assert_eq!(
            AppDocument::of_result(URI, &malformed),
            Err(AppError::Missing)
        );
    }
    let blob = json!({"uri": URI, "mimeType": kind, "blob": "PHA+"});
    check(
        &document(blob).unwrap(),
        expect![[r#"
            {
              "base64": "PHA+",
              "connect": [],
              "socket": [],
              "resource": [],
              "ignored": 0
            }
        "#]],
    );
}

#[test]
fn declared_domains_become_host_names() {
    let policy = json!({
        "connectDomains": ["https://API.example.com", "wss://live.example.com:8443", "https://api.example.com/"],
        "resourceDomains": ["https://*.cdn.example"],
    });
    check(
        &with_policy(policy),
        expect![[r#"
            {
              "text": "<p>",
              "connect": [
                "api.example.com"
              ],
              "socket": [
                "live.example.com:8443"
              ],
              "resource": [
                "*.cdn.example"
              ],
              "ignored": 0
            }
        "#]],
    );
}

#[test]
fn no_declared_domain_adds_to_the_policy() {
    let wrong = [
        "https://a.example; script-src *",
        "https://a.example 'unsafe-eval'",
        "https://a.example, https://b.example",
        "https://a.example/path",
        "https://a.example?x",
        "https://a.example&resource=b.example",
        "https://a.example\r\nx: y",
        "https://user@a.example",
        "https://*",
        "https://*.com",
        "https://a.*.example",
        "https://ü.example",
        "https://\u{202e}elpmaxe",
        "https://a.example:0",
        "https://a.example:x",
        "https://",
        "https:a.example",
        "http://a.example",
        "ws://a.example",
        "data:",
        "blob:",
        "javascript://a.example",
        "'self'",
        "*",
        "",
    ];
    let mut all: Vec<_> = wrong.into_iter().map(Value::from).collect();
    all.extend([json!(1), json!(null), json!({"a": "https://a.example"})]);
    let document = with_policy(json!({
        "connectDomains": all, "resourceDomains": all,
        "frameDomains": ["https://a.example"], "baseUriDomains": ["https://a.example"],
    }));
    let lists = [&document.connect, &document.socket, &document.resource];
    assert_eq!(lists, [&Vec::<String>::new(); 3]);
    assert_eq!(document.ignored, 2 * all.len() + 2);
    let no_sockets = with_policy(json!({"resourceDomains": ["wss://a.example"]}));
    assert_eq!((no_sockets.resource.len(), no_sockets.ignored), (0, 1));
    assert_eq!(
        with_policy(json!({"connectDomains": "https://a.example"}))
            .connect
            .len(),
        0
    );
}

#[test]
fn the_number_of_domains_is_limited() {
    let many: Vec<_> = (0..1_000)
        .map(|index| format!("https://d{index}.example"))
        .collect();
    let document = with_policy(json!({"connectDomains": many, "resourceDomains": many}));
    let kept = document.connect.len() + document.resource.len();
    assert_eq!((kept, document.ignored), (MAX_DOMAINS, 2_000 - MAX_DOMAINS));
    let long = format!("https://{}.example", "a".repeat(MAX_LABEL_BYTES + 1));
    assert_eq!(with_policy(json!({"connectDomains": [long]})).ignored, 1);
}

fn server(id: &str, fields: Value) -> Value {
    let mut server = json!({
        "type": "mcpServer", "id": id, "uri": format!("mcp-config:/{id}"), "name": id, "state": {"kind": "ready"},
    });
    server
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    server
}

#[test]
fn only_servers_with_a_channel_and_resources_have_apps() {
    let tools = json!({"capabilities": {"serverTools": {}, "serverResources": {}}});
    let resources = json!({"capabilities": {"serverResources": {}}});
    let state = session(json!({"customizations": [
        server("full", json!({"channel": "mcp:/full", "mcpApp": tools})),
        server("reads", json!({"channel": "mcp:/reads", "mcpApp": resources})),
        server("stopped", json!({"mcpApp": tools})),
        server("none", json!({"channel": "mcp:/none", "mcpApp": {"capabilities": {"serverTools": {}}}})),
        server("plain", json!({"channel": "mcp:/plain"})),
    ]}));
    let found: Vec<_> = app_servers(&state)
        .map(|(id, server)| (id.as_str(), server.channel.to_string(), server.serves_tools))
        .collect();
    assert_eq!(
        found,
        [
            ("full", "mcp:/full".to_owned(), true),
            ("reads", "mcp:/reads".to_owned(), false)
        ]
    );
}

fn find(fields: Value) -> Option<ToolCall> {
    let part = call("c", "completed", fields);
    let state = chat(json!({"turns": [turn("t", json!({"responseParts": [part]}))]}));
    let found = find_call(&state, &"t".into(), &"c".into()).cloned();
    assert_eq!(find_call(&state, &"t".into(), &"other".into()), None);
    assert_eq!(find_call(&state, &"other".into(), &"c".into()), None);
    found
}

#[test]
fn only_calls_of_servers_have_apps() {
    let app = |contributor: Value, ui: Value| {
        let found = find(json!({
            "success": true, "pastTenseMessage": "Done", "confirmed": "not-needed",
            "contributor": contributor, "_meta": {"ui": ui},
        }));
        let found = found.unwrap();
        let (uri, server) = app_of_call(found.head().unwrap())?;
        Some((uri.to_owned(), server.to_string()))
    };
    let server = json!({"kind": "mcp", "customizationId": "s"});
    let expected = Some((URI.to_owned(), "s".to_owned()));
    assert_eq!(app(server.clone(), json!({"resourceUri": URI})), expected);
    let client = json!({"kind": "client", "clientId": "s"});
    assert_eq!(app(client, json!({"resourceUri": URI})), None);
    for wrong in [
        json!(null),
        json!("ui://x"),
        json!({}),
        json!({"resourceUri": 1}),
        json!({"resourceUri": "https://evil.example"}),
        json!({"resourceUri": "javascript:alert(1)"}),
        json!({"resourceUri": format!("ui://{}", "x".repeat(MAX_URI_BYTES))}),
    ] {
        assert_eq!(app(server.clone(), wrong.clone()), None, "{wrong}");
    }
}

fn check_call(status: &str, fields: Value, expected: Expect) {
    let mut base = json!({"toolInput": "{\"city\":\"Rome\"}", "confirmed": "not-needed"});
    base.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let part = call("c", status, base);
    let state = chat(json!({"turns": [turn("t", json!({"responseParts": [part]}))]}));
    let found = find_call(&state, &"t".into(), &"c".into()).unwrap();
    let json = serde_json::to_string(&AppCall::of_call(found)).unwrap();
    expected.assert_eq(&json);
}

#[test]
fn an_app_gets_arguments_and_an_accepted_result() {
    check_call("streaming", json!({}), expect![[r#"{"cancelled":false}"#]]);
    check_call(
        "running",
        json!({}),
        expect![[r#"{"input":{"city":"Rome"},"cancelled":false}"#]],
    );
    let result = json!({
        "success": false, "pastTenseMessage": "Done",
        "content": [
            {"type": "text", "text": "20 °C"},
            {"type": "embeddedResource", "data": "AA==", "contentType": "image/png"},
            {"type": "embeddedResource", "data": "AA==", "contentType": "application/pdf"},
            {"type": "later"},
        ],
        "structuredContent": {"content": [], "structuredContent": {"degrees": 20}},
    });
    check_call(
        "completed",
        result.clone(),
        expect![[
            r#"{"input":{"city":"Rome"},"result":{"content":[{"type":"text","text":"20 °C"},{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true,"structuredContent":{"degrees":20}},"cancelled":false}"#
        ]],
    );
    // The user has not seen this result yet.
    check_call(
        "pending-result-confirmation",
        result,
        expect![[r#"{"input":{"city":"Rome"},"cancelled":false}"#]],
    );
    check_call(
        "cancelled",
        json!({"reason": "denied", "toolInput": "not JSON"}),
        expect![[r#"{"input":{},"cancelled":true}"#]],
    );
}
