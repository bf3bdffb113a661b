//! The responses API, which codex uses.

use serde_json::{Value, json};

use super::script::{AnswerPiece, ModelRequest, ModelTool, PriorMessage, ToolParameters};
use super::{
    INPUT_TOKENS, MODEL_NAME, OUTPUT_TOKENS, array_items, message_text, named_sse_event,
    text_member, unique_id,
};

/// The separator between the name of a tool namespace and the name of a tool; it occurs in
/// neither.
const NAMESPACE_SEPARATOR: char = '/';

/// Parses the request body.
pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let messages = array_items(body, "input").filter_map(|item| {
        let text = || message_text(item.get("content"));
        match (text_member(item, "type"), text_member(item, "role")) {
            ("message" | "", "user") => Some(PriorMessage::User(text())),
            ("message" | "", "assistant") => Some(PriorMessage::Model(text())),
            ("function_call_output" | "custom_tool_call_output", _) => {
                Some(PriorMessage::Tool(message_text(item.get("output"))))
            }
            _ => None,
        }
    });
    let tools = array_items(body, "tools").flat_map(|tool| match text_member(tool, "type") {
        "namespace" => {
            let space = text_member(tool, "name");
            let inside = array_items(tool, "tools").filter_map(parse_tool);
            let inside = inside.map(|tool| ModelTool {
                name: format!("{space}{NAMESPACE_SEPARATOR}{}", tool.name),
                ..tool
            });
            inside.collect::<Vec<_>>()
        }
        _ => parse_tool(tool).into_iter().collect(),
    });
    ModelRequest {
        messages: messages.collect(),
        tools: tools.collect(),
    }
}

fn parse_tool(tool: &Value) -> Option<ModelTool> {
    let input = match text_member(tool, "type") {
        "function" => ToolParameters::Object(tool.get("parameters").cloned().unwrap_or_default()),
        "custom" => ToolParameters::Text,
        _ => return None,
    };
    Some(ModelTool {
        name: text_member(tool, "name").to_owned(),
        parameters: input,
    })
}

/// Encodes a response as a stream of events.
pub(super) fn stream_events(pieces: &[AnswerPiece]) -> Vec<String> {
    let response = unique_id("response-");
    let mut events = vec![named_sse_event(&json!({
        "type": "response.created",
        "response": {"id": response, "object": "response", "status": "in_progress", "model": MODEL_NAME, "output": []},
    }))];
    let texts = pieces.iter().filter_map(|piece| match piece {
        AnswerPiece::Text(text) => Some(text.as_str()),
        AnswerPiece::Thought(_) | AnswerPiece::Call(..) | AnswerPiece::TextCall(..) => None,
    });
    let all: String = texts.collect();
    let mut message = None;
    for (place, piece) in pieces.iter().enumerate() {
        let AnswerPiece::Text(text) = piece else {
            events.extend(non_text_events(place, piece));
            continue;
        };
        let id = message.get_or_insert_with(|| {
            let id = unique_id("message-");
            events.push(named_sse_event(&json!({
                "type": "response.output_item.added", "output_index": place,
                "item": {"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []},
            })));
            id
        });
        events.push(named_sse_event(&json!({
            "type": "response.output_text.delta", "item_id": id, "output_index": place,
            "content_index": 0, "delta": text,
        })));
    }
    if let Some(id) = message {
        let item = message_item(&id, &all);
        events.push(named_sse_event(&json!({
            "type": "response.output_item.done", "output_index": 0, "item": item,
        })));
    }
    events.push(named_sse_event(&json!({
        "type": "response.completed",
        "response": completed_response(&response, &[]),
    })));
    events
}

/// Encodes a response as one JSON document.
pub(super) fn full_response(pieces: &[AnswerPiece]) -> Value {
    let output: Vec<_> = pieces.iter().map(output_item).collect();
    completed_response(&unique_id("response-"), &output)
}

/// Encodes the events of a piece that is not text.
fn non_text_events(place: usize, piece: &AnswerPiece) -> Vec<String> {
    let item = output_item(piece);
    let mut events = vec![named_sse_event(&json!({
        "type": "response.output_item.added", "output_index": place, "item": item,
    }))];
    if let AnswerPiece::Thought(text) = piece {
        let id = text_member(&item, "id");
        events.push(named_sse_event(&json!({
            "type": "response.reasoning_summary_part.added", "item_id": id,
            "output_index": place, "summary_index": 0, "part": {"type": "summary_text", "text": ""},
        })));
        events.push(named_sse_event(&json!({
            "type": "response.reasoning_summary_text.delta", "item_id": id,
            "output_index": place, "summary_index": 0, "delta": text,
        })));
    }
    events.push(named_sse_event(&json!({
        "type": "response.output_item.done", "output_index": place, "item": item,
    })));
    events
}

fn output_item(piece: &AnswerPiece) -> Value {
    match piece {
        AnswerPiece::Text(text) => message_item(&unique_id("message-"), text),
        AnswerPiece::Thought(text) => json!({
            "type": "reasoning", "id": unique_id("reasoning-"), "encrypted_content": null,
            "summary": [{"type": "summary_text", "text": text}],
        }),
        AnswerPiece::Call(name, arguments) => {
            let (space, name) = match name.split_once(NAMESPACE_SEPARATOR) {
                Some((space, name)) => (Some(space), name),
                None => (None, name.as_str()),
            };
            let mut call = json!({
                "type": "function_call", "id": unique_id("item-"), "call_id": unique_id("call_"),
                "name": name, "arguments": arguments.to_string(), "status": "completed",
            });
            if let (Some(space), Some(call)) = (space, call.as_object_mut()) {
                call.insert("namespace".to_owned(), json!(space));
            }
            call
        }
        AnswerPiece::TextCall(name, text) => json!({
            "type": "custom_tool_call", "id": unique_id("item-"), "call_id": unique_id("call_"),
            "name": name, "input": text, "status": "completed",
        }),
    }
}

fn message_item(id: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn completed_response(id: &str, output: &[Value]) -> Value {
    json!({
        "id": id, "object": "response", "status": "completed", "model": MODEL_NAME, "output": output,
        "usage": {
            "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}
