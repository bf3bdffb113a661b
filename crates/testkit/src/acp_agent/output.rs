//! What the agent writes.

use std::io::{BufWriter, Write};

use serde_json::{Value, json};

pub(super) fn text_of<'a>(params: &'a Value, key: &str) -> &'a str {
    params.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn chunk(session: &str, kind: &str, text: &str) {
    let content = json!({"type": "text", "text": text});
    tell_update(session, &json!({"sessionUpdate": kind, "content": content}));
}

pub(super) fn options(model: &str) -> Value {
    json!([{
        "id": "the-model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [
            {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"},
            {"value": "forbidden", "name": "Forbidden"},
        ],
    }])
}

pub(super) fn tell_update(session: &str, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

pub(super) fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

pub(super) fn fail(id: &Value, error: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

pub(super) fn send(message: &Value) {
    write(message.to_string().as_bytes());
}

/// A host that is gone does not want to know.
pub(super) fn write(line: &[u8]) {
    let mut output = std::io::stdout().lock();
    let written = output
        .write_all(line)
        .and_then(|()| output.write_all(b"\n"));
    written.and_then(|()| output.flush()).unwrap_or_default();
}

pub(super) fn complain(words: &str) {
    let mut output = std::io::stderr().lock();
    output.write_all(words.as_bytes()).unwrap_or_default();
    output.write_all(b"\n").unwrap_or_default();
}

pub(super) fn flood(session: &str, count: usize, text: &str) {
    let content = json!({"type": "text", "text": text});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": session, "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    let line = format!("{line}\n");
    let mut output = BufWriter::new(std::io::stdout().lock());
    for _ in 0..count {
        // A host that is gone does not want to know.
        output.write_all(line.as_bytes()).unwrap_or_default();
    }
    output.flush().unwrap_or_default();
}
