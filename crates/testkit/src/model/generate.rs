//! Generated content, as gemini wants it.

use serde_json::{Value, json};

use super::script::{Heard, Input, Piece, Request, Tool};
use super::{NAME, READ, WRITTEN, event, items, text_of, word};

/// What is asked.
pub(super) fn read(body: &Value) -> Request {
    let mut heard = Vec::new();
    for content in items(body, "contents") {
        let results = items(content, "parts").filter_map(|part| part.get("functionResponse"));
        heard.extend(results.map(|result| Heard::Tool(text_of(result.get("response")))));
        let text = text_of(content.get("parts"));
        heard.push(match word(content, "role") {
            "model" => Heard::Model(text),
            _ => Heard::User(text),
        });
    }
    let declared = items(body, "tools").flat_map(|tools| items(tools, "functionDeclarations"));
    let tools = declared.map(|tool| {
        let schema = tool.get("parametersJsonSchema");
        let schema = schema.or_else(|| tool.get("parameters"));
        Tool {
            name: word(tool, "name").to_owned(),
            input: Input::Object(schema.cloned().unwrap_or_default()),
        }
    });
    Request {
        heard,
        tools: tools.collect(),
    }
}

/// An answer, as a stream.
pub(super) fn events(pieces: &[Piece]) -> Vec<String> {
    let parts = pieces.iter().map(part);
    let mut events: Vec<_> = parts.map(|part| event(&content(&[part], None))).collect();
    events.push(event(&content(&[json!({"text": ""})], Some("STOP"))));
    events
}

/// An answer, at once.
pub(super) fn whole(pieces: &[Piece]) -> Value {
    let parts: Vec<_> = pieces.iter().map(part).collect();
    content(&parts, Some("STOP"))
}

fn content(parts: &[Value], finished: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let (Some(finished), Some(candidate)) = (finished, candidate.as_object_mut()) {
        candidate.insert("finishReason".to_owned(), json!(finished));
    }
    json!({
        "candidates": [candidate], "modelVersion": NAME,
        "usageMetadata": {
            "promptTokenCount": READ, "candidatesTokenCount": WRITTEN,
            "totalTokenCount": READ + WRITTEN,
        },
    })
}

fn part(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({"text": text}),
        Piece::Thought(text) => json!({"text": text, "thought": true}),
        Piece::Call(name, arguments) => json!({"functionCall": {"name": name, "args": arguments}}),
        Piece::TextCall(name, text) => {
            json!({"functionCall": {"name": name, "args": {"input": text}}})
        }
    }
}
