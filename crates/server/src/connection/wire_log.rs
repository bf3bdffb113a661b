//! An optional log of all messages on the wire, as JSON lines.
//!
//! By default, an entry has the method, channel, action type and size of a message, but not its
//! content. Of `authenticate`, which carries a token, the content is never logged.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_core::{ConnectionId, ENVIRONMENT_META_KEY};
use agenthost_protocol::wire::Json;
use agenthost_stdx::private_file;
use agenthost_stdx::redaction::SecretRedactor;
use agenthost_stdx::sync::lock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::host_loop::redaction::redact_json;

/// The path of the wire log, and the level of detail.
#[derive(Debug, Clone)]
pub struct WireLogConfig {
    /// The file. Entries are appended to it.
    pub path: PathBuf,
    /// `true` if whole messages are logged, with prompts and output.
    pub contents: bool,
}

/// The direction of a message, from the view of the host.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireDirection {
    In,
    Out,
}

/// The open log file, shared by all connections.
#[derive(Debug, Clone)]
pub(crate) struct WireLog {
    file: Arc<Mutex<File>>,
    contents: bool,
    redactor: SecretRedactor,
}

/// A line of the log.
#[derive(Serialize)]
struct WireLogEntry<'a> {
    at: u128,
    connection: u32,
    direction: WireDirection,
    bytes: usize,
    #[serde(flatten)]
    outline: MessageOutline<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Json>,
}

/// The fields of a message that do not reveal its content.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageOutline<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<i64>,
}

#[derive(Deserialize)]
struct OutlinedMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<OutlinedParams<'a>>,
    error: Option<OutlinedError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutlinedParams<'a> {
    #[serde(borrow)]
    channel: Option<Cow<'a, str>>,
    #[serde(borrow)]
    action: Option<OutlinedAction<'a>>,
    server_seq: Option<u64>,
}

#[derive(Deserialize)]
struct OutlinedAction<'a> {
    #[serde(borrow, rename = "type")]
    name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct OutlinedError {
    code: i64,
}

impl WireLog {
    /// Opens the log. Fails if other users have access to the file.
    pub(crate) fn open(config: &WireLogConfig, redactor: SecretRedactor) -> io::Result<Self> {
        Ok(WireLog {
            file: Arc::new(Mutex::new(private_file::open_append(&config.path)?)),
            contents: config.contents,
            redactor,
        })
    }

    pub(crate) fn record(&self, connection: ConnectionId, direction: WireDirection, text: &str) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let message: Result<OutlinedMessage<'_>, _> = serde_json::from_str(text);
        // A message that can't be outlined may be a malformed `authenticate`, with a token.
        let is_readable = message.is_ok();
        let outline = message.map(to_outline).unwrap_or_default();
        let is_secret = match outline.method.as_deref() {
            Some("authenticate") => true,
            // Environment variables may be secret.
            Some("createSession") => text.contains(ENVIRONMENT_META_KEY),
            Some(_) | None => !is_readable,
        };
        let whole = (self.contents && !is_secret).then(|| {
            let mut message: Json = serde_json::from_str(text).ok()?;
            redact_json(&self.redactor, &mut message);
            Some(message)
        });
        let line = WireLogEntry {
            at: at.map_or(0, |at| at.as_millis()),
            connection: connection.0,
            direction,
            bytes: text.len(),
            outline,
            message: whole.flatten(),
        };
        let Ok(mut line) = serde_json::to_string(&line) else {
            return;
        };
        line.push('\n');
        let mut file = lock(&self.file);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "failed to write the wire log");
        }
    }
}

fn to_outline(message: OutlinedMessage<'_>) -> MessageOutline<'_> {
    let (channel, action, server_seq) = match message.params {
        Some(params) => (params.channel, params.action, params.server_seq),
        None => (None, None, None),
    };
    MessageOutline {
        id: message.id,
        method: message.method,
        channel,
        action: action.and_then(|action| action.name),
        server_seq,
        error: message.error.map(|error| error.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(contents: bool, texts: &[&str]) -> Vec<serde_json::Value> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wire.jsonl");
        let config = WireLogConfig {
            path: path.clone(),
            contents,
        };
        let log = WireLog::open(&config, SecretRedactor::default()).unwrap();
        for text in texts {
            log.record(ConnectionId(7), WireDirection::In, text);
        }
        let lines = std::fs::read_to_string(path).unwrap();
        let parse = |line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("at");
            line
        };
        lines.lines().map(parse).collect()
    }

    const DISPATCH: &str = r#"{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/1","clientSeq":1,"action":{"type":"chat/draftChanged","draft":{"text":"private"}}}}"#;
    const TOKEN: &str = r#"{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"channel":"ahp-root://","token":"private"}}"#;

    /// SEC-9: the log has contents only if they are enabled, and never a token.
    #[test]
    fn contents_are_logged_only_if_enabled() {
        let garbage = "private garbage";
        let lines = record(false, &[DISPATCH, TOKEN, garbage]);
        assert!(!format!("{lines:?}").contains("private"));
        assert_eq!(
            lines[0],
            serde_json::json!({
                "connection": 7, "direction": "in", "bytes": DISPATCH.len(),
                "method": "dispatchAction", "channel": "ahp-chat:/1", "action": "chat/draftChanged",
            })
        );
        let lines = record(true, &[DISPATCH, TOKEN]);
        assert_eq!(
            lines[0]["message"]["params"]["action"]["draft"]["text"],
            "private"
        );
        assert!(!lines[1].to_string().contains("private"));
        let environment = r#"{"jsonrpc":"2.0","id":1,"method":"createSession","params":{"channel":"shell:/1","_meta":{"agenthost.environment":{"A":"private"}}}}"#;
        let lines = record(true, &[environment]);
        assert!(!format!("{lines:?}").contains("private"), "{lines:?}");
        assert_eq!(lines[0]["method"], "createSession");
        let secret = DISPATCH.replace("private", &format!("ghp_{}", "a".repeat(36)));
        let lines = record(true, &[&secret]);
        assert_eq!(
            lines[0]["message"]["params"]["action"]["draft"]["text"],
            "[redacted]"
        );
        // `channel` is no string, and a member is there twice.
        let odd = TOKEN.replace(r#""ahp-root://""#, "5");
        let twice = TOKEN.replace(r#""id":"a""#, r#""id":"a","method":"authenticate""#);
        let lines = record(true, &[&odd, &twice]);
        assert!(!format!("{lines:?}").contains("private"), "{lines:?}");
    }
}
