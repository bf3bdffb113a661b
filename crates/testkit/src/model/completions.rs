//! The chat completions API, which goose and many other agents use.

use serde_json::{Value, json};

use super::script::{AnswerPiece, ModelRequest, ModelTool, PriorMessage, ToolParameters};
use super::{
    INPUT_TOKENS, MODEL_NAME, OUTPUT_TOKENS, array_items, message_text, sse_event, text_member,
    unique_id,
};

/// Parses the request body.
pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let messages = array_items(body, "messages").filter_map(|message| {
        let text = message_text(message.get("content"));
        match text_member(message, "role") {
            "user" => Some(PriorMessage::User(text)),
            "assistant" => Some(PriorMessage::Model(text)),
            "tool" => Some(PriorMessage::Tool(text)),
            _ => None,
        }
    });
    let tools = array_items(body, "tools").filter_map(|tool| {
        let function = tool.get("function")?;
        Some(ModelTool {
            name: text_member(function, "name").to_owned(),
            parameters: ToolParameters::Object(
                function.get("parameters").cloned().unwrap_or_default(),
            ),
        })
    });
    ModelRequest {
        messages: messages.collect(),
        tools: tools.collect(),
    }
}

/// Encodes a response as a stream of events.
pub(super) fn stream_events(pieces: &[AnswerPiece]) -> Vec<String> {
    let id = unique_id("completion-");
    let chunk = |delta: Value, finished: Option<&str>| {
        sse_event(&json!({
            "id": id, "object": "chat.completion.chunk", "created": 1, "model": MODEL_NAME,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finished}],
        }))
    };
    let mut events: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            AnswerPiece::Text(text) => chunk(json!({"role": "assistant", "content": text}), None),
            AnswerPiece::Thought(text) => {
                let thought =
                    json!({"role": "assistant", "content": "", "reasoning_content": text});
                chunk(thought, None)
            }
            AnswerPiece::Call(..) | AnswerPiece::TextCall(..) => {
                let calls =
                    json!({"role": "assistant", "content": null, "tool_calls": [tool_call(piece)]});
                chunk(calls, None)
            }
        })
        .collect();
    events.push(chunk(json!({}), Some(finish_reason(pieces))));
    events.push(sse_event(&json!({
        "id": id, "object": "chat.completion.chunk", "created": 1, "model": MODEL_NAME,
        "choices": [], "usage": usage(),
    })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Encodes a response as one JSON document.
pub(super) fn full_response(pieces: &[AnswerPiece]) -> Value {
    let mut text = String::new();
    let mut calls = Vec::new();
    for piece in pieces {
        match piece {
            AnswerPiece::Text(more) => text.push_str(more),
            AnswerPiece::Thought(_) => {}
            AnswerPiece::Call(..) | AnswerPiece::TextCall(..) => calls.push(tool_call(piece)),
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if let (false, Some(message)) = (calls.is_empty(), message.as_object_mut()) {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    json!({
        "id": unique_id("completion-"), "object": "chat.completion", "created": 1, "model": MODEL_NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(pieces)}],
        "usage": usage(),
    })
}

fn tool_call(piece: &AnswerPiece) -> Value {
    let (name, arguments) = match piece {
        AnswerPiece::Call(name, arguments) => (name.as_str(), arguments.to_string()),
        AnswerPiece::TextCall(name, text) => (name.as_str(), json!({"input": text}).to_string()),
        AnswerPiece::Text(_) | AnswerPiece::Thought(_) => ("", String::new()),
    };
    json!({
        "index": 0, "id": unique_id("call_"), "type": "function",
        "function": {"name": name, "arguments": arguments},
    })
}

fn finish_reason(pieces: &[AnswerPiece]) -> &'static str {
    let calls =
        |piece: &AnswerPiece| matches!(piece, AnswerPiece::Call(..) | AnswerPiece::TextCall(..));
    if pieces.iter().any(calls) {
        "tool_calls"
    } else {
        "stop"
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS})
}
