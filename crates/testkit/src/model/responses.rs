//! Responses, as codex wants them.

use serde_json::{Value, json};

use super::script::{Heard, Input, Piece, Request, Tool};
use super::{NAME, READ, WRITTEN, items, named, text_of, unique, word};

/// What stands between the name of a group of tools and that of a tool in it:
/// nothing that is in either.
const INSIDE: char = '/';

/// What is asked.
pub(super) fn read(body: &Value) -> Request {
    let heard = items(body, "input").filter_map(|item| {
        let text = || text_of(item.get("content"));
        match (word(item, "type"), word(item, "role")) {
            ("message" | "", "user") => Some(Heard::User(text())),
            ("message" | "", "assistant") => Some(Heard::Model(text())),
            ("function_call_output" | "custom_tool_call_output", _) => {
                Some(Heard::Tool(text_of(item.get("output"))))
            }
            _ => None,
        }
    });
    let tools = items(body, "tools").flat_map(|tool| match word(tool, "type") {
        "namespace" => {
            let space = word(tool, "name");
            let inside = items(tool, "tools").filter_map(read_tool);
            let inside = inside.map(|tool| Tool {
                name: format!("{space}{INSIDE}{}", tool.name),
                ..tool
            });
            inside.collect::<Vec<_>>()
        }
        _ => read_tool(tool).into_iter().collect(),
    });
    Request {
        heard: heard.collect(),
        tools: tools.collect(),
    }
}

fn read_tool(tool: &Value) -> Option<Tool> {
    let input = match word(tool, "type") {
        "function" => Input::Object(tool.get("parameters").cloned().unwrap_or_default()),
        "custom" => Input::Text,
        _ => return None,
    };
    Some(Tool {
        name: word(tool, "name").to_owned(),
        input,
    })
}

/// An answer, as a stream.
pub(super) fn events(pieces: &[Piece]) -> Vec<String> {
    let response = unique("response-");
    let mut events = vec![named(&json!({
        "type": "response.created",
        "response": {"id": response, "object": "response", "status": "in_progress", "model": NAME, "output": []},
    }))];
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Thought(_) | Piece::Call(..) | Piece::TextCall(..) => None,
    });
    let all: String = texts.collect();
    let mut message = None;
    for (place, piece) in pieces.iter().enumerate() {
        let Piece::Text(text) = piece else {
            events.extend(other(place, piece));
            continue;
        };
        let id = message.get_or_insert_with(|| {
            let id = unique("message-");
            events.push(named(&json!({
                "type": "response.output_item.added", "output_index": place,
                "item": {"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []},
            })));
            id
        });
        events.push(named(&json!({
            "type": "response.output_text.delta", "item_id": id, "output_index": place,
            "content_index": 0, "delta": text,
        })));
    }
    if let Some(id) = message {
        let item = said(&id, &all);
        events.push(named(&json!({
            "type": "response.output_item.done", "output_index": 0, "item": item,
        })));
    }
    events.push(named(&json!({
        "type": "response.completed",
        "response": completed(&response, &[]),
    })));
    events
}

/// An answer, at once.
pub(super) fn whole(pieces: &[Piece]) -> Value {
    let output: Vec<_> = pieces.iter().map(item).collect();
    completed(&unique("response-"), &output)
}

/// The events of a piece that is no text.
fn other(place: usize, piece: &Piece) -> Vec<String> {
    let item = item(piece);
    let mut events = vec![named(&json!({
        "type": "response.output_item.added", "output_index": place, "item": item,
    }))];
    if let Piece::Thought(text) = piece {
        let id = word(&item, "id");
        events.push(named(&json!({
            "type": "response.reasoning_summary_part.added", "item_id": id,
            "output_index": place, "summary_index": 0, "part": {"type": "summary_text", "text": ""},
        })));
        events.push(named(&json!({
            "type": "response.reasoning_summary_text.delta", "item_id": id,
            "output_index": place, "summary_index": 0, "delta": text,
        })));
    }
    events.push(named(&json!({
        "type": "response.output_item.done", "output_index": place, "item": item,
    })));
    events
}

fn item(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => said(&unique("message-"), text),
        Piece::Thought(text) => json!({
            "type": "reasoning", "id": unique("reasoning-"), "encrypted_content": null,
            "summary": [{"type": "summary_text", "text": text}],
        }),
        Piece::Call(name, arguments) => {
            let (space, name) = match name.split_once(INSIDE) {
                Some((space, name)) => (Some(space), name),
                None => (None, name.as_str()),
            };
            let mut call = json!({
                "type": "function_call", "id": unique("item-"), "call_id": unique("call_"),
                "name": name, "arguments": arguments.to_string(), "status": "completed",
            });
            if let (Some(space), Some(call)) = (space, call.as_object_mut()) {
                call.insert("namespace".to_owned(), json!(space));
            }
            call
        }
        Piece::TextCall(name, text) => json!({
            "type": "custom_tool_call", "id": unique("item-"), "call_id": unique("call_"),
            "name": name, "input": text, "status": "completed",
        }),
    }
}

fn said(id: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn completed(id: &str, output: &[Value]) -> Value {
    json!({
        "id": id, "object": "response", "status": "completed", "model": NAME, "output": output,
        "usage": {
            "input_tokens": READ, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": WRITTEN, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": READ + WRITTEN,
        },
    })
}
