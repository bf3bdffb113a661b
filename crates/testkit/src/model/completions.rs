//! Chat completions, as goose and many others want them.

use serde_json::{Value, json};

use super::script::{Heard, Input, Piece, Request, Tool};
use super::{NAME, READ, WRITTEN, event, items, text_of, unique, word};

/// What is asked.
pub(super) fn read(body: &Value) -> Request {
    let heard = items(body, "messages").filter_map(|message| {
        let text = text_of(message.get("content"));
        match word(message, "role") {
            "user" => Some(Heard::User(text)),
            "assistant" => Some(Heard::Model(text)),
            "tool" => Some(Heard::Tool(text)),
            _ => None,
        }
    });
    let tools = items(body, "tools").filter_map(|tool| {
        let function = tool.get("function")?;
        Some(Tool {
            name: word(function, "name").to_owned(),
            input: Input::Object(function.get("parameters").cloned().unwrap_or_default()),
        })
    });
    Request {
        heard: heard.collect(),
        tools: tools.collect(),
    }
}

/// An answer, as a stream.
pub(super) fn events(pieces: &[Piece]) -> Vec<String> {
    let id = unique("completion-");
    let chunk = |delta: Value, finished: Option<&str>| {
        event(&json!({
            "id": id, "object": "chat.completion.chunk", "created": 1, "model": NAME,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finished}],
        }))
    };
    let mut events: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => chunk(json!({"role": "assistant", "content": text}), None),
            Piece::Thought(text) => {
                let thought =
                    json!({"role": "assistant", "content": "", "reasoning_content": text});
                chunk(thought, None)
            }
            Piece::Call(..) | Piece::TextCall(..) => {
                let calls =
                    json!({"role": "assistant", "content": null, "tool_calls": [call(piece)]});
                chunk(calls, None)
            }
        })
        .collect();
    events.push(chunk(json!({}), Some(finished(pieces))));
    events.push(event(&json!({
        "id": id, "object": "chat.completion.chunk", "created": 1, "model": NAME,
        "choices": [], "usage": usage(),
    })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// An answer, at once.
pub(super) fn whole(pieces: &[Piece]) -> Value {
    let mut text = String::new();
    let mut calls = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Thought(_) => {}
            Piece::Call(..) | Piece::TextCall(..) => calls.push(call(piece)),
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if let (false, Some(message)) = (calls.is_empty(), message.as_object_mut()) {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    json!({
        "id": unique("completion-"), "object": "chat.completion", "created": 1, "model": NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": finished(pieces)}],
        "usage": usage(),
    })
}

fn call(piece: &Piece) -> Value {
    let (name, arguments) = match piece {
        Piece::Call(name, arguments) => (name.as_str(), arguments.to_string()),
        Piece::TextCall(name, text) => (name.as_str(), json!({"input": text}).to_string()),
        Piece::Text(_) | Piece::Thought(_) => ("", String::new()),
    };
    json!({
        "index": 0, "id": unique("call_"), "type": "function",
        "function": {"name": name, "arguments": arguments},
    })
}

fn finished(pieces: &[Piece]) -> &'static str {
    let calls = |piece: &Piece| matches!(piece, Piece::Call(..) | Piece::TextCall(..));
    if pieces.iter().any(calls) {
        "tool_calls"
    } else {
        "stop"
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN})
}
