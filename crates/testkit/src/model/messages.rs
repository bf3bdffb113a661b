//! Messages, as claude wants them.

use serde_json::{Value, json};

use super::script::{Heard, Input, Piece, Request, Tool};
use super::{NAME, READ, WRITTEN, items, named, text_of, unique, word};

/// What is asked. What tools said stands in messages of the user.
pub(super) fn read(body: &Value) -> Request {
    let mut heard = Vec::new();
    for message in items(body, "messages") {
        let of_user = word(message, "role") == "user";
        if of_user {
            let results =
                items(message, "content").filter(|block| word(block, "type") == "tool_result");
            heard.extend(results.map(|block| Heard::Tool(text_of(block.get("content")))));
        }
        let text = text_of(message.get("content"));
        heard.push(match of_user {
            true => Heard::User(text),
            false => Heard::Model(text),
        });
    }
    let tools = items(body, "tools").map(|tool| Tool {
        name: word(tool, "name").to_owned(),
        input: Input::Object(tool.get("input_schema").cloned().unwrap_or_default()),
    });
    Request {
        heard,
        tools: tools.collect(),
    }
}

/// An answer, as a stream.
pub(super) fn events(pieces: &[Piece]) -> Vec<String> {
    let message = json!({
        "id": unique("msg_"), "type": "message", "role": "assistant", "model": NAME,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": READ, "output_tokens": 1},
    });
    let mut events = vec![named(&json!({"type": "message_start", "message": message}))];
    let mut place = 0;
    let mut in_text = false;
    for piece in pieces {
        let is_text = matches!(piece, Piece::Text(_));
        if in_text && !is_text {
            events.push(stop(place));
            place += 1;
        }
        if !(in_text && is_text) {
            let block = block(piece, "");
            events.push(named(
                &json!({"type": "content_block_start", "index": place, "content_block": block}),
            ));
        }
        for delta in deltas(piece) {
            events.push(named(
                &json!({"type": "content_block_delta", "index": place, "delta": delta}),
            ));
        }
        in_text = is_text;
        if !is_text {
            events.push(stop(place));
            place += 1;
        }
    }
    if in_text {
        events.push(stop(place));
    }
    events.push(named(&json!({
        "type": "message_delta", "delta": {"stop_reason": reason(pieces), "stop_sequence": null},
        "usage": {"output_tokens": WRITTEN},
    })));
    events.push(named(&json!({"type": "message_stop"})));
    events
}

/// An answer, at once.
pub(super) fn whole(pieces: &[Piece]) -> Value {
    let content: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Thought(text) => block(piece, text),
            Piece::Call(..) | Piece::TextCall(..) => block(piece, ""),
        })
        .collect();
    json!({
        "id": unique("msg_"), "type": "message", "role": "assistant", "model": NAME,
        "content": content, "stop_reason": reason(pieces), "stop_sequence": null,
        "usage": {"input_tokens": READ, "output_tokens": WRITTEN},
    })
}

fn block(piece: &Piece, text: &str) -> Value {
    match piece {
        Piece::Text(_) => json!({"type": "text", "text": text}),
        Piece::Thought(_) => json!({"type": "thinking", "thinking": text, "signature": ""}),
        Piece::Call(name, _) | Piece::TextCall(name, _) => {
            json!({"type": "tool_use", "id": unique("toolu_"), "name": name, "input": {}})
        }
    }
}

fn deltas(piece: &Piece) -> Vec<Value> {
    match piece {
        Piece::Text(text) => vec![json!({"type": "text_delta", "text": text})],
        Piece::Thought(text) => vec![
            json!({"type": "thinking_delta", "thinking": text}),
            json!({"type": "signature_delta", "signature": "c2lnbmVk"}),
        ],
        Piece::Call(_, arguments) => {
            vec![json!({"type": "input_json_delta", "partial_json": arguments.to_string()})]
        }
        Piece::TextCall(_, text) => {
            let input = json!({"input": text}).to_string();
            vec![json!({"type": "input_json_delta", "partial_json": input})]
        }
    }
}

fn stop(place: usize) -> String {
    named(&json!({"type": "content_block_stop", "index": place}))
}

fn reason(pieces: &[Piece]) -> &'static str {
    let calls = |piece: &Piece| matches!(piece, Piece::Call(..) | Piece::TextCall(..));
    if pieces.iter().any(calls) {
        "tool_use"
    } else {
        "end_turn"
    }
}
