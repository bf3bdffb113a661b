//! States for tests, decoded from JSON as from a host.

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::wire::{self, Wire};
use expect_test::Expect;
use serde::Serialize;
use serde_json::{Value, json};

/// Decodes a value of the protocol.
pub(crate) fn decode<T: Wire>(json: Value) -> T {
    wire::from_str(&json.to_string()).unwrap()
}

/// Decodes a chat with the given fields beside the required ones.
pub(crate) fn chat(fields: Value) -> ChatState {
    decode(merge(
        json!({"resource": "chat:/1", "title": "", "status": 1,
               "modifiedAt": "2026-07-09T10:00:00.000Z", "turns": []}),
        fields,
    ))
}

/// Decodes a session with the given fields beside the required ones.
pub(crate) fn session(fields: Value) -> SessionState {
    decode(merge(
        json!({"provider": "shell", "title": "Tests", "status": 1, "lifecycle": "ready",
               "activeClients": [], "chats": []}),
        fields,
    ))
}

/// Decodes an entry of the session list.
pub(crate) fn summary(uri: &str, fields: Value) -> SessionSummary {
    decode(merge(
        json!({"resource": uri, "provider": "shell", "title": "Tests", "status": 33,
               "createdAt": "2026-07-09T09:00:00.000Z", "modifiedAt": "2026-07-09T10:00:00.000Z"}),
        fields,
    ))
}

/// Returns a turn that has ended with an answer.
pub(crate) fn turn(id: &str, fields: Value) -> Value {
    merge(
        json!({"id": id, "message": {"text": "go", "origin": {"kind": "user"}},
               "responseParts": [], "state": "complete"}),
        fields,
    )
}

/// Returns a tool call as a response part.
pub(crate) fn call(id: &str, status: &str, fields: Value) -> Value {
    let call = merge(
        json!({"status": status, "toolCallId": id, "toolName": "bash", "displayName": "Bash",
               "invocationMessage": "Run it"}),
        fields,
    );
    json!({"kind": "toolCall", "toolCall": call})
}

/// Returns the agents of a host.
pub(crate) fn agents() -> Vec<AgentInfo> {
    decode(
        json!([{"provider": "shell", "displayName": "Shell", "description": "",
        "models": [{"id": "m1", "provider": "shell", "name": "Model One"},
                   {"id": "m2", "provider": "shell", "name": "Two", "policyState": "disabled"}]}]),
    )
}

/// Compares a value as JSON, one line per item of a list.
pub(crate) fn check(value: &impl Serialize, expected: Expect) {
    let json = serde_json::to_value(value).unwrap();
    let text = match &json {
        Value::Array(items) => items.iter().map(|item| format!("{item}\n")).collect(),
        other => format!("{other:#}\n"),
    };
    expected.assert_eq(&text);
}

fn merge(mut base: Value, fields: Value) -> Value {
    let (Value::Object(base_fields), Value::Object(fields)) = (&mut base, fields) else {
        panic!("both values must be objects");
    };
    base_fields.extend(fields);
    base
}
