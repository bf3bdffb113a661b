//! Parses JSON with comments and finds the text ranges of members.
//!
//! Comments and trailing commas are accepted. They are replaced by spaces before parsing,
//! so that positions stay the same.

use agenthost_protocol::common::{TextPosition, TextRange};
use serde_json::Value;

/// A parsed JSONC file.
#[derive(Debug, Default)]
pub(crate) struct JsoncDocument {
    /// The text without comments and trailing commas.
    stripped: String,
    /// The parsed JSON value.
    pub(crate) value: Value,
}

/// A syntax error of JSON, by its position.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not JSON: line {line}, column {column}")]
pub(crate) struct JsoncError {
    line: usize,
    column: usize,
}

impl JsoncDocument {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// If the text is not JSON.
    pub(crate) fn parse(text: &str) -> Result<Self, JsoncError> {
        let plain = strip_comments(text);
        let value = serde_json::from_str(&plain).map_err(|error| JsoncError {
            line: error.line(),
            column: error.column(),
        })?;
        Ok(JsoncDocument {
            stripped: plain,
            value,
        })
    }

    /// Returns the value at a path of keys, or null if it does not exist.
    pub(crate) fn get_path(&self, names: &[&str]) -> &Value {
        let inside = names.iter();
        inside.fold(&self.value, |value, name| {
            value.get(name).unwrap_or(&Value::Null)
        })
    }

    /// Returns the range of the member at a path of keys, including its key.
    pub(crate) fn range(&self, names: &[&str]) -> Option<TextRange> {
        let mut scan = JsonScanner {
            bytes: self.stripped.as_bytes(),
            at: 0,
        };
        let (start, end) = scan.find_member(names)?;
        Some(TextRange {
            start: text_position(&self.stripped, start),
            end: text_position(&self.stripped, end),
        })
    }
}

/// Replaces comments and trailing commas by spaces.
fn strip_comments(text: &str) -> String {
    let mut plain: Vec<u8> = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut comma = None;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let end = match (byte, next) {
            (b'"', _) => find_string_end(bytes, at),
            (b'/', Some(b'/')) => find_bytes(bytes, at, b"\n"),
            (b'/', Some(b'*')) => find_bytes(bytes, at + 2, b"*/").saturating_add(2),
            _ => at + 1,
        }
        .min(bytes.len());
        let piece = bytes.get(at..end).unwrap_or_default();
        match byte {
            b'/' if end > at + 1 => {
                plain.extend(piece.iter().map(|byte| match byte {
                    b'\n' => b'\n',
                    _ => b' ',
                }));
            }
            b'}' | b']' => {
                if let Some(place) = comma.take().and_then(|place: usize| plain.get_mut(place)) {
                    *place = b' ';
                }
                plain.push(byte);
            }
            b',' => {
                comma = Some(plain.len());
                plain.push(byte);
            }
            _ => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                plain.extend_from_slice(piece);
            }
        }
        at = end;
    }
    // Only whole characters were replaced, each byte by one space.
    String::from_utf8_lossy(&plain).into_owned()
}

/// Returns the offset after a string that begins at `start`.
fn find_string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn find_bytes(bytes: &[u8], start: usize, what: &[u8]) -> usize {
    bytes
        .get(start..)
        .and_then(|rest| rest.windows(what.len()).position(|window| window == what))
        .map_or(bytes.len(), |offset| start + offset)
}

/// Converts an offset to a line and UTF-16 units, both counted from zero.
fn text_position(text: &str, at: usize) -> TextPosition {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    TextPosition {
        line: before.matches('\n').count() as u64,
        character: line.encode_utf16().count() as u64,
    }
}

/// A scanner for JSON that is known to be valid.
struct JsonScanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl JsonScanner<'_> {
    /// Returns the range of the last member with the given key, which is the one that the
    /// JSON parser keeps.
    fn find_member(&mut self, names: &[&str]) -> Option<(usize, usize)> {
        let (wanted, deeper) = names.split_first()?;
        self.skip_whitespace();
        if self.bytes.get(self.at) != Some(&b'{') {
            return None;
        }
        self.at += 1;
        let mut found = None;
        loop {
            self.skip_whitespace();
            match self.bytes.get(self.at)? {
                b'}' => return found,
                b',' => self.at += 1,
                b'"' => {
                    let start = self.at;
                    let key_end = find_string_end(self.bytes, start);
                    let key = self.bytes.get(start..key_end)?;
                    let key: Option<String> = serde_json::from_slice(key).ok();
                    self.at = key_end;
                    self.skip_whitespace();
                    // Skip the colon.
                    self.at += 1;
                    self.skip_whitespace();
                    let value = self.at;
                    self.skip_value();
                    if key.as_deref() == Some(wanted) {
                        found = match deeper {
                            [] => Some((start, self.at)),
                            _ => JsonScanner {
                                bytes: self.bytes,
                                at: value,
                            }
                            .find_member(deeper),
                        };
                    }
                }
                _ => return found,
            }
        }
    }

    fn skip_whitespace(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Moves to the end of a value.
    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at = find_string_end(self.bytes, self.at);
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b',' if depth == 0 => return,
                byte if depth == 0 && byte.is_ascii_whitespace() => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_accepted() {
        let text = "{ // a comment\n \"a\": [1, 2, /* x */ ],\n \"b\": \"http://x, }\",\n}\n";
        let found = JsoncDocument::parse(text).unwrap();
        assert_eq!(
            found.value,
            serde_json::json!({"a": [1, 2], "b": "http://x, }"})
        );
        assert_eq!(found.stripped.len(), text.len());
    }

    #[test]
    fn ranges_of_members_are_found() {
        let text = "{\n  \"ä\": 1, \"mcpServers\": {\n    \"x\": {\"command\": \"y\"},\n    \"z\": null\n  }\n}";
        let found = JsoncDocument::parse(text).unwrap();
        let place = |names: &[&str]| {
            let range = found.range(names)?;
            let (start, end) = (range.start, range.end);
            Some([start.line, start.character, end.line, end.character])
        };
        assert_eq!(place(&["mcpServers", "x"]), Some([2, 4, 2, 25]));
        assert_eq!(place(&["mcpServers", "z"]), Some([3, 4, 3, 13]));
        assert_eq!(place(&["mcpServers"]), Some([1, 10, 4, 3]));
        assert_eq!(place(&["ä"]), Some([1, 2, 1, 8]));
        assert_eq!(place(&["mcpServers", "y"]), None);
        assert_eq!(place(&["ä", "y"]), None);
    }

    #[test]
    fn truncated_json_is_rejected() {
        for text in ["", "{", "{\"a", "{\"a\\", "/*", "//", "[1,", "{\"a\": /* }"] {
            assert!(JsoncDocument::parse(text).is_err(), "{text}");
        }
    }
}
