//! Writes the messages of the agent to standard output.

use std::io::{BufWriter, Write};

use serde_json::{Value, json};

pub(super) fn text_field<'a>(params: &'a Value, key: &str) -> &'a str {
    params.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn send_chunk(session: &str, kind: &str, text: &str) {
    let content = json!({"type": "text", "text": text});
    send_update(session, &json!({"sessionUpdate": kind, "content": content}));
}

pub(super) fn config_options(model: &str) -> Value {
    json!([{
        "id": "the-model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [
            {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"},
            {"value": "forbidden", "name": "Forbidden"},
        ],
    }])
}

pub(super) fn send_update(session: &str, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    send_message(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

pub(super) fn respond(id: &Value, result: &Value) {
    send_message(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

pub(super) fn respond_error(id: &Value, error: &Value) {
    send_message(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

pub(super) fn send_message(message: &Value) {
    write_line(message.to_string().as_bytes());
}

/// Writes a line. Errors are ignored: they mean that the host has closed the pipe.
pub(super) fn write_line(line: &[u8]) {
    let mut output = std::io::stdout().lock();
    let written = output
        .write_all(line)
        .and_then(|()| output.write_all(b"\n"));
    written.and_then(|()| output.flush()).unwrap_or_default();
}

pub(super) fn write_stderr(words: &str) {
    let mut output = std::io::stderr().lock();
    output.write_all(words.as_bytes()).unwrap_or_default();
    output.write_all(b"\n").unwrap_or_default();
}

pub(super) fn send_chunks(session: &str, count: usize, text: &str) {
    let content = json!({"type": "text", "text": text});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": session, "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    let line = format!("{line}\n");
    let mut output = BufWriter::new(std::io::stdout().lock());
    for _ in 0..count {
        // Errors are ignored: they mean that the host has closed the pipe.
        output.write_all(line.as_bytes()).unwrap_or_default();
    }
    output.flush().unwrap_or_default();
}
