//! The messages API, which claude uses.

use serde_json::{Value, json};

use super::script::{AnswerPiece, ModelRequest, ModelTool, PriorMessage, ToolParameters};
use super::{
    INPUT_TOKENS, MODEL_NAME, OUTPUT_TOKENS, array_items, message_text, named_sse_event,
    text_member, unique_id,
};

/// Parses the request body. Tool results are a part of user messages in this API.
pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let mut messages = Vec::new();
    for message in array_items(body, "messages") {
        let of_user = text_member(message, "role") == "user";
        if of_user {
            let results = array_items(message, "content")
                .filter(|block| text_member(block, "type") == "tool_result");
            messages.extend(
                results.map(|block| PriorMessage::Tool(message_text(block.get("content")))),
            );
        }
        let text = message_text(message.get("content"));
        messages.push(if of_user {
            PriorMessage::User(text)
        } else {
            PriorMessage::Model(text)
        });
    }
    let tools = array_items(body, "tools").map(|tool| ModelTool {
        name: text_member(tool, "name").to_owned(),
        parameters: ToolParameters::Object(tool.get("input_schema").cloned().unwrap_or_default()),
    });
    ModelRequest {
        messages,
        tools: tools.collect(),
    }
}

/// Encodes a response as a stream of events.
pub(super) fn stream_events(pieces: &[AnswerPiece]) -> Vec<String> {
    let message = json!({
        "id": unique_id("msg_"), "type": "message", "role": "assistant", "model": MODEL_NAME,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1},
    });
    let mut events = vec![named_sse_event(
        &json!({"type": "message_start", "message": message}),
    )];
    let mut index = 0;
    let mut in_text = false;
    for piece in pieces {
        let is_text = matches!(piece, AnswerPiece::Text(_));
        if in_text && !is_text {
            events.push(stop_event(index));
            index += 1;
        }
        if !(in_text && is_text) {
            let block = content_block(piece, "");
            events.push(named_sse_event(
                &json!({"type": "content_block_start", "index": index, "content_block": block}),
            ));
        }
        for delta in block_deltas(piece) {
            events.push(named_sse_event(
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        in_text = is_text;
        if !is_text {
            events.push(stop_event(index));
            index += 1;
        }
    }
    if in_text {
        events.push(stop_event(index));
    }
    events.push(named_sse_event(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(pieces), "stop_sequence": null},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    })));
    events.push(named_sse_event(&json!({"type": "message_stop"})));
    events
}

/// Encodes a response as one JSON document.
pub(super) fn full_response(pieces: &[AnswerPiece]) -> Value {
    let content: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            AnswerPiece::Text(text) | AnswerPiece::Thought(text) => content_block(piece, text),
            AnswerPiece::Call(..) | AnswerPiece::TextCall(..) => content_block(piece, ""),
        })
        .collect();
    json!({
        "id": unique_id("msg_"), "type": "message", "role": "assistant", "model": MODEL_NAME,
        "content": content, "stop_reason": stop_reason(pieces), "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    })
}

fn content_block(piece: &AnswerPiece, text: &str) -> Value {
    match piece {
        AnswerPiece::Text(_) => json!({"type": "text", "text": text}),
        AnswerPiece::Thought(_) => json!({"type": "thinking", "thinking": text, "signature": ""}),
        AnswerPiece::Call(name, _) | AnswerPiece::TextCall(name, _) => {
            json!({"type": "tool_use", "id": unique_id("toolu_"), "name": name, "input": {}})
        }
    }
}

fn block_deltas(piece: &AnswerPiece) -> Vec<Value> {
    match piece {
        AnswerPiece::Text(text) => vec![json!({"type": "text_delta", "text": text})],
        AnswerPiece::Thought(text) => vec![
            json!({"type": "thinking_delta", "thinking": text}),
            json!({"type": "signature_delta", "signature": "c2lnbmVk"}),
        ],
        AnswerPiece::Call(_, arguments) => {
            vec![json!({"type": "input_json_delta", "partial_json": arguments.to_string()})]
        }
        AnswerPiece::TextCall(_, text) => {
            let input = json!({"input": text}).to_string();
            vec![json!({"type": "input_json_delta", "partial_json": input})]
        }
    }
}

fn stop_event(place: usize) -> String {
    named_sse_event(&json!({"type": "content_block_stop", "index": place}))
}

fn stop_reason(pieces: &[AnswerPiece]) -> &'static str {
    let calls =
        |piece: &AnswerPiece| matches!(piece, AnswerPiece::Call(..) | AnswerPiece::TextCall(..));
    if pieces.iter().any(calls) {
        "tool_use"
    } else {
        "end_turn"
    }
}
