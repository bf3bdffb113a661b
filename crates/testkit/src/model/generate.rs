//! The generated content API, which gemini uses.

use serde_json::{Value, json};

use super::script::{AnswerPiece, ModelRequest, ModelTool, PriorMessage, ToolParameters};
use super::{
    INPUT_TOKENS, MODEL_NAME, OUTPUT_TOKENS, array_items, message_text, sse_event, text_member,
};

/// Parses the request body.
pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let mut messages = Vec::new();
    for content in array_items(body, "contents") {
        let results = array_items(content, "parts").filter_map(|part| part.get("functionResponse"));
        messages
            .extend(results.map(|result| PriorMessage::Tool(message_text(result.get("response")))));
        let text = message_text(content.get("parts"));
        messages.push(match text_member(content, "role") {
            "model" => PriorMessage::Model(text),
            _ => PriorMessage::User(text),
        });
    }
    let declared =
        array_items(body, "tools").flat_map(|tools| array_items(tools, "functionDeclarations"));
    let tools = declared.map(|tool| {
        let schema = tool.get("parametersJsonSchema");
        let schema = schema.or_else(|| tool.get("parameters"));
        ModelTool {
            name: text_member(tool, "name").to_owned(),
            parameters: ToolParameters::Object(schema.cloned().unwrap_or_default()),
        }
    });
    ModelRequest {
        messages,
        tools: tools.collect(),
    }
}

/// Encodes a response as a stream of events.
pub(super) fn stream_events(pieces: &[AnswerPiece]) -> Vec<String> {
    let parts = pieces.iter().map(content_part);
    let mut events: Vec<_> = parts
        .map(|part| sse_event(&content(&[part], None)))
        .collect();
    events.push(sse_event(&content(&[json!({"text": ""})], Some("STOP"))));
    events
}

/// Encodes a response as one JSON document.
pub(super) fn full_response(pieces: &[AnswerPiece]) -> Value {
    let parts: Vec<_> = pieces.iter().map(content_part).collect();
    content(&parts, Some("STOP"))
}

fn content(parts: &[Value], finished: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let (Some(finished), Some(candidate)) = (finished, candidate.as_object_mut()) {
        candidate.insert("finishReason".to_owned(), json!(finished));
    }
    json!({
        "candidates": [candidate], "modelVersion": MODEL_NAME,
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}

fn content_part(piece: &AnswerPiece) -> Value {
    match piece {
        AnswerPiece::Text(text) => json!({"text": text}),
        AnswerPiece::Thought(text) => json!({"text": text, "thought": true}),
        AnswerPiece::Call(name, arguments) => {
            json!({"functionCall": {"name": name, "args": arguments}})
        }
        AnswerPiece::TextCall(name, text) => {
            json!({"functionCall": {"name": name, "args": {"input": text}}})
        }
    }
}
