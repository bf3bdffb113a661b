//! Repairs messages that violate JSON-RPC but have a clear meaning.
//!
//! Some agents split surrogate pairs, write `"error": null` beside a result, or leave out
//! required fields. The repair happens before a strict parser sees the message.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The error code for errors without a valid code.
const INTERNAL_ERROR_CODE: i64 = -32603;

/// Replaces escaped surrogates without their other half by `U+FFFD`.
pub(crate) fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let mut repaired = String::new();
    let mut rest = text;
    while let Some(index) = rest.find('\\') {
        let (before, escape) = rest.split_at(index);
        repaired.push_str(before);
        let consumed = match surrogate_half(escape) {
            Some(SurrogateHalf::High)
                if escape.get(6..).and_then(surrogate_half) == Some(SurrogateHalf::Low) =>
            {
                repaired.push_str(escape.get(..12).unwrap_or_default());
                12
            }
            Some(SurrogateHalf::High | SurrogateHalf::Low) => {
                repaired.push_str("\\ufffd");
                6
            }
            None => {
                // The backslash and the character after it, which may be another backslash.
                let next = escape.chars().nth(1).map_or(0, char::len_utf8);
                repaired.push_str(escape.get(..1 + next).unwrap_or_default());
                1 + next
            }
        };
        rest = escape.get(consumed..).unwrap_or_default();
    }
    repaired.push_str(rest);
    Cow::Owned(repaired)
}

/// One half of a surrogate pair, with which JSON escapes characters beyond 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SurrogateHalf {
    High,
    Low,
}

fn surrogate_half(escape: &str) -> Option<SurrogateHalf> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..0xdc00 => Some(SurrogateHalf::High),
        0xdc00..0xe000 => Some(SurrogateHalf::Low),
        _ => None,
    }
}

/// Returns a valid form of a response; `None` if the message is no response.
pub(crate) fn repair_response(message: &Map<String, Value>) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    if message
        .get("method")
        .is_some_and(|method| !method.is_null())
    {
        return None;
    }
    if !message.contains_key("result") && !message.contains_key("error") {
        return None;
    }
    let error = message.get("error").filter(|error| !error.is_null());
    let Some(error) = error else {
        let result = message.get("result").cloned().unwrap_or_default();
        return Some(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    };
    let code = error.get("code").and_then(Value::as_i64);
    let code = code.filter(|code| i32::try_from(*code).is_ok());
    let error_message = error.get("message").and_then(Value::as_str);
    let error_message = error_message.or_else(|| error.as_str());
    let mut repaired = Map::new();
    repaired.insert(
        "code".to_owned(),
        json!(code.unwrap_or(INTERNAL_ERROR_CODE)),
    );
    let error_message = error_message.unwrap_or("the error has no message");
    repaired.insert("message".to_owned(), json!(error_message));
    let data = error.get("data").cloned();
    repaired.extend(data.map(|data| ("data".to_owned(), data)));
    Some(json!({"jsonrpc": "2.0", "id": id, "error": repaired}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced() {
        let cases = [
            (r#""plain \n é""#, r#""plain \n é""#),
            (r#""\ud83e\udd80 fine""#, r#""\ud83e\udd80 fine""#),
            (r#""lone \ud83d end""#, r#""lone \ufffd end""#),
            (r#""\udd80\ud83e""#, r#""\ufffd\ufffd""#),
            (r#""\ud83e\ud83e\udd80""#, r#""\ufffd\ud83e\udd80""#),
            (r#""\\ud83e \u00e9""#, r#""\\ud83e \u00e9""#),
            (r#""\u12"#, r#""\u12"#),
            ("\"\\é\\u\"", "\"\\é\\u\""),
            ("\\u\\", "\\u\\"),
        ];
        for (written, expected) in cases {
            assert_eq!(replace_lone_surrogates(written), expected);
        }
    }

    #[test]
    fn malformed_responses_are_repaired() {
        let read = |text: &str| {
            let message: Value = serde_json::from_str(text).unwrap();
            repair_response(message.as_object().unwrap()).map(|response| response.to_string())
        };
        let result = Some(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#.to_owned());
        assert_eq!(read(r#"{"id":1,"result":{"a":1},"error":null}"#), result);
        assert_eq!(read(r#"{"id":1,"result":{"a":1},"method":null}"#), result);
        for (error, code, message) in [
            (r#""no""#, -32603, "no"),
            (r#"{"code":"x"}"#, -32603, "the error has no message"),
            (r#"{"code":-32000,"message":"sign in"}"#, -32000, "sign in"),
            (r#"{"code":1e30,"message":"big"}"#, -32603, "big"),
        ] {
            let text = format!(r#"{{"id":"a","result":null,"error":{error}}}"#);
            let response: Value = serde_json::from_str(&read(&text).unwrap()).unwrap();
            assert_eq!(response["error"], json!({"code": code, "message": message}));
        }
        let with_data = read(r#"{"id":1,"error":{"code":-1,"message":"m","data":"why"}}"#);
        assert!(with_data.unwrap().contains(r#""data":"why""#));
        assert_eq!(read(r#"{"id":1,"method":"a","params":{}}"#), None);
        assert_eq!(read(r#"{"level":"info","id":7}"#), None);
    }
}
