//! Preserves the results of servers as raw JSON.
//!
//! `rmcp` guesses the type of a result from its shape and drops unknown fields, but agents and
//! MCP Apps need the complete result. So the host wraps a result in an object with one field of
//! its own before `rmcp` deserializes it. This matches no known shape, and `rmcp` keeps it
//! unchanged.

use agenthost_protocol::wire::{Json, Object};
use rmcp::model::ServerResult;

const RAW_RESULT_FIELD: &str = "agenthost.sealed";

/// Wraps the result of a response. The response to `initialize` is not wrapped, because `rmcp`
/// must read it.
pub(crate) fn wrap_raw_result(message: &mut Json) {
    let Some(result) = message.get_mut("result") else {
        return;
    };
    if result.get("protocolVersion").is_some() {
        return;
    }
    let sealed = Object::from_iter([(RAW_RESULT_FIELD.to_owned(), result.take())]);
    *result = Json::Object(sealed);
}

/// Returns the result as the server sent it.
pub(crate) fn unwrap_raw_result(result: &ServerResult) -> Json {
    // Values that were deserialized from JSON always serialize again.
    match serde_json::to_value(result) {
        Ok(Json::Object(mut object)) => match object.remove(RAW_RESULT_FIELD) {
            Some(result) => result,
            None => Json::Object(object),
        },
        Ok(other) => other,
        Err(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_raw_result_survives_a_round_trip() {
        let results = [
            json!({}),
            json!({"content": [{"type": "hologram", "x": 1.5}], "later": {"a": null}}),
            json!({"content": [{"type": "text", "text": "hi", "new": true}], "_meta": {"k": 1}}),
            json!({"tools": [{"name": "x", "inputSchema": {"type": "object"}, "extra": []}]}),
            json!({"contents": [], "ttlMs": 5}),
            json!({"action": "accept", "taskId": "1"}),
        ];
        for result in results {
            let mut message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            wrap_raw_result(&mut message);
            let read: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
            let JsonRpcMessage::Response(response) = read else {
                panic!("not a response: {read:?}");
            };
            assert_eq!(unwrap_raw_result(&response.result), result);
        }
    }
}
