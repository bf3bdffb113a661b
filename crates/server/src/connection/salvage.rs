//! Finds the id of a response that can't be parsed.
//!
//! A client whose request can't be parsed gets an error. A response has no response, so the
//! host must fail the pending request instead. It can do so only if the malformed text still
//! shows the id of that request.

use agenthost_protocol::rpc::RequestId;

/// Returns the id in a malformed response, or `None` if the text does not look like a response.
pub(crate) fn salvage_response_id(text: &str) -> Option<RequestId> {
    let mut scanner = MemberScanner {
        rest: text.trim_start().strip_prefix('{')?,
    };
    let mut id = None;
    let mut has_outcome = false;
    // The text may be truncated after these members.
    while let Some((name, value)) = scanner.next_member() {
        match name {
            "id" => id = value.parse::<u64>().ok(),
            "result" | "error" => has_outcome = true,
            "method" => return None,
            _ => {}
        }
    }
    // The ids of host requests are numbers.
    id.filter(|_| has_outcome).map(RequestId::from)
}

/// Scans the members of an object. Values may be invalid JSON, as long as quotes and brackets
/// are balanced.
struct MemberScanner<'a> {
    rest: &'a str,
}

impl<'a> MemberScanner<'a> {
    /// Returns the next name and value, or `None` at the end of the object or of the text.
    fn next_member(&mut self) -> Option<(&'a str, &'a str)> {
        let from = self.rest.find(|c: char| c != ',' && !c.is_whitespace())?;
        self.rest = self.rest.get(from..)?;
        let name = self.take(string_end(self.rest)?)?;
        self.rest = self.rest.trim_start().strip_prefix(':')?.trim_start();
        let value = self.take(value_end(self.rest))?;
        Some((name.trim_matches('"'), value.trim_end()))
    }

    fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Returns the length of the string literal at the start of `text`, or `None` if there is none.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.strip_prefix('"')?.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 2),
            _ => {}
        }
    }
    Some(text.len())
}

/// Returns the length of the value at the start of `text`.
fn value_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let inside = text.get(at..).and_then(string_end);
                at += inside.unwrap_or(1);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_malformed_response_is_found() {
        let deep = format!(r#"{{"id": 7, "result": {}"#, "[".repeat(100_000));
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"data":"\ud800","encoding":"utf-8"}}"#,
            r#"{"result":{"data":"a, \"id\": 8 } \x"}, "id" : 7}"#,
            r#" {"id":7,"error":{"message":"\udc00"}} and more"#,
            r#"{"id":7,"result":"it does not end"#,
            &deep,
        ] {
            assert_eq!(
                salvage_response_id(text),
                Some(RequestId::from(7_u64)),
                "{text:.80}"
            );
        }
        for text in [
            "",
            "{",
            "[",
            "\"",
            "{\"",
            r#"{"id":7}"#,
            r#"{"id":null,"result":"\ud800"}"#,
            r#"{"result":"\ud800"}"#,
            r#"{"id":7,"method":"x","params":"\ud800","result":1}"#,
            r#"{"result":{"id":7}}"#,
            r#"[{"id":7,"result":"\ud800"}]"#,
        ] {
            assert_eq!(salvage_response_id(text), None, "{text}");
        }
    }
}
