//! Reads JSON-RPC messages, one per line, from the output of an agent.
//!
//! Agents also print banners and log lines to stdout, where only messages are allowed. Lines
//! that are not messages are noise: the reader stores the last of them for error messages and
//! ignores them otherwise. A line without an end is an error, because its message is lost.

use std::io;
use std::sync::Arc;

use agenthost_process::StreamTail;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::repair;
use super::text_chunk::{SESSION_UPDATE_METHOD, TextChunk};

/// The maximum length of a line, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// A message as one line of JSON.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct JsonRpcLine {
    /// The JSON text, repaired if necessary.
    pub(crate) text: String,
    /// The method of a request or notification; `None` for a response.
    pub(crate) method: Option<String>,
    pub(crate) kind: JsonRpcKind,
}

/// The kind of a JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonRpcKind {
    Notification,
    Request,
    Response,
}

/// Prints the method and the size, not the content.
impl std::fmt::Debug for JsonRpcLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonRpcLine")
            .field("method", &self.method)
            .field("bytes", &self.text.len())
            .finish()
    }
}

/// The error that ends the stream of lines.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonRpcReadError {
    /// A line exceeded the maximum length.
    #[error("its standard output has a line of more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// The pipe returned an error.
    #[error("read its standard output: {0}")]
    Io(#[from] io::Error),
}

/// A reader of JSON-RPC messages.
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    noise: Arc<StreamTail>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader of a pipe that stores lines without a message in `noise`.
    pub(crate) fn new(source: R, noise: Arc<StreamTail>) -> Self {
        LineReader {
            source: BufReader::with_capacity(64 * 1024, source),
            noise,
        }
    }

    /// Returns the next message; `None` at the end of the stream.
    pub(crate) async fn next_message(&mut self) -> Result<Option<JsonRpcLine>, JsonRpcReadError> {
        while let Some(bytes) = self.read_line().await? {
            // Invalid UTF-8 is replaced, so that the rest of the message stays usable.
            let text = String::from_utf8_lossy(&bytes);
            let line = text.trim_start_matches('\u{feff}').trim();
            if let Some(chunk) = TextChunk::parse(line) {
                return Ok(Some(self.merge_chunks(chunk, line)));
            }
            match parse_message(line) {
                Some(line) => return Ok(Some(line)),
                None => {
                    self.noise.push(text.as_bytes());
                    self.noise.push(b"\n");
                }
            }
        }
        Ok(None)
    }

    /// Merges a text chunk with the chunks of the same message that are already in the buffer.
    fn merge_chunks(&mut self, mut chunk: TextChunk<'_>, line: &str) -> JsonRpcLine {
        let mut merged_bytes = 0;
        let mut rest = self.source.buffer();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (next, after) = rest.split_at(end + 1);
            let next = str::from_utf8(next).ok().and_then(TextChunk::parse);
            if !next.is_some_and(|next| chunk.append(&next)) {
                break;
            }
            merged_bytes += end + 1;
            rest = after;
        }
        let text = match merged_bytes {
            0 => None,
            _ => chunk.to_json(),
        };
        if text.is_some() {
            self.source.consume(merged_bytes);
        }
        JsonRpcLine {
            text: text.unwrap_or_else(|| line.to_owned()),
            method: Some(SESSION_UPDATE_METHOD.to_owned()),
            kind: JsonRpcKind::Notification,
        }
    }

    /// Returns the next line without its line break.
    async fn read_line(&mut self) -> Result<Option<Vec<u8>>, JsonRpcReadError> {
        let mut line = Vec::new();
        loop {
            let piece = self.source.fill_buf().await?;
            if piece.is_empty() {
                // A last line without a line break was truncated.
                self.noise.push(&line);
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let piece = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            line.extend_from_slice(piece);
            let consumed = piece.len() + usize::from(end.is_some());
            self.source.consume(consumed);
            if line.len() > MAX_LINE_BYTES {
                return Err(JsonRpcReadError::TooLong);
            }
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

/// Parses a message. Returns `None` for a message that is invalid after repair, because the
/// protocol crate would respond to it with an error.
fn parse_message(text: &str) -> Option<JsonRpcLine> {
    if !text.starts_with('{') {
        return None;
    }
    let text = repair::replace_lone_surrogates(text);
    let message: Map<String, Value> = serde_json::from_str(&text).ok()?;
    if let Some(response) = repair::repair_response(&message) {
        return Some(JsonRpcLine {
            text: response.to_string(),
            method: None,
            kind: JsonRpcKind::Response,
        });
    }
    let method = message.get("method")?.as_str()?.to_owned();
    let params = message.get("params");
    if params.is_some_and(|params| !params.is_object() && !params.is_null()) {
        return None;
    }
    let kind = match message.get("id") {
        None | Some(Value::Null) => JsonRpcKind::Notification,
        Some(Value::String(_) | Value::Number(_)) => JsonRpcKind::Request,
        Some(_) => return None,
    };
    let text = match message.get("jsonrpc").and_then(Value::as_str) {
        Some("2.0") => text.into_owned(),
        _ => {
            let mut message = message;
            message.insert("jsonrpc".to_owned(), Value::from("2.0"));
            Value::Object(message).to_string()
        }
    };
    Some(JsonRpcLine {
        text,
        method: Some(method),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(bytes: &[u8]) -> (Vec<JsonRpcLine>, StreamTail) {
        let noise = Arc::new(StreamTail::new(100));
        let mut reader = LineReader::new(bytes, Arc::clone(&noise));
        let mut lines = Vec::new();
        while let Some(line) = reader.next_message().await.unwrap() {
            lines.push(line);
        }
        drop(reader);
        (lines, Arc::into_inner(noise).unwrap())
    }

    #[tokio::test]
    async fn lines_that_are_not_messages_are_noise() {
        let written = b"\xef\xbb\xbfWelcome!\r\n\
            {\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":{\"t\":\"\xff\"}}\r\n\
            [1]\n{\"level\":\"info\"}\n{broken\n\n\
            \xef\xbb\xbf {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":null}\n\
            {\"jsonrpc\":\"2.0\",\"id\"";
        let (lines, noise) = read_all(written).await;
        let methods: Vec<_> = lines.iter().map(|line| line.method.as_deref()).collect();
        assert_eq!(methods, [Some("a/b"), None]);
        assert!(lines[0].text.contains('\u{fffd}'));
        assert!(lines[1].text.starts_with('{'));
        assert_eq!(noise.last_line().unwrap(), "{\"jsonrpc\":\"2.0\",\"id\"");
    }

    fn chunk(session: &str, kind: &str, rest: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"{kind}","content":{{"type":"text",{rest}}}}}}}}}"#
        )
    }

    /// Merging keeps all text, in its original order.
    #[tokio::test]
    async fn buffered_text_chunks_are_merged() {
        let say = |text: &str| chunk("1", "agent_message_chunk", &format!(r#""text":"{text}""#));
        let other = chunk("2", "agent_message_chunk", r#""text":"other""#);
        let thought = chunk("1", "agent_thought_chunk", r#""text":"hm""#);
        let noted = chunk("1", "agent_message_chunk", r#""text":"n","_meta":{}"#);
        let long = say(&"x".repeat(20_000));
        let written = [
            &say("a"),
            &say("b\\n"),
            &say("\\u00e9"),
            &other,
            &thought,
            &thought,
            &say("c"),
            &noted,
            &say("d"),
            &long,
            &say("e"),
            &"noise".to_owned(),
            &say("f"),
            &say("g"),
        ];
        let (lines, noise) =
            read_all(format!("{}\n", written.map(String::as_str).join("\n")).as_bytes()).await;
        let texts = lines.iter().map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.text).unwrap();
            let text = line.pointer("/params/update/content/text").unwrap();
            let text = text.as_str().unwrap();
            text.chars().take(10).collect::<String>()
        });
        let texts: Vec<_> = texts.collect();
        assert_eq!(
            texts,
            [
                "ab\né",
                "other",
                "hmhm",
                "c",
                "n",
                "d",
                "xxxxxxxxxx",
                "e",
                "fg"
            ]
        );
        assert_eq!(noise.last_line().unwrap(), "noise");
    }

    #[tokio::test]
    async fn an_overlong_line_is_an_error() {
        let endless = vec![b'x'; MAX_LINE_BYTES + 70_000];
        let mut reader = LineReader::new(&*endless, Arc::new(StreamTail::new(10)));
        let error = reader.next_message().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "its standard output has a line of more than 8388608 bytes"
        );
    }
}
