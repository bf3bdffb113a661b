//! The messages between host and runner, and their encoding.
//!
//! A frame is its length (4 bytes), its kind (1 byte), a number (8 bytes, little-endian like the
//! length) and JSON text.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::runner::RunnerError;

/// The version of the messages. A host understands the versions from [`MIN_PROTOCOL`] to this
/// one.
pub(crate) const PROTOCOL: u32 = 1;

/// The earliest version that this host understands.
pub(crate) const MIN_PROTOCOL: u32 = 1;

/// Limit on the size of a frame. The largest is a prompt with the history of a chat.
const MAX_FRAME_BYTES: usize = 512 * 1024 * 1024;

/// Bytes of a frame before its text, without the length.
const HEADER_BYTES: usize = 9;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Host to runner, first: a [`Hello`].
    Hello,
    /// Runner to host, the answer: a [`Welcome`].
    Welcome,
    /// Host to runner: begin to send inputs after this number.
    Begin,
    /// Host to runner: a command with its number.
    Command,
    /// Host to runner: a command that is not sent again.
    UnstoredCommand,
    /// Host to runner: the actions of all inputs up to this number are in the log.
    Handled,
    /// Host to runner: read the configuration of agents again.
    Reload,
    /// Host to runner: end all work and exit.
    Stop,
    /// Runner to host: an input with its number.
    Input,
    /// Runner to host: all commands up to this number were received.
    Received,
    /// Runner to host: the runner ends, for the reason in the text.
    Failed,
}

const KINDS: [FrameKind; 11] = [
    FrameKind::Hello,
    FrameKind::Welcome,
    FrameKind::Begin,
    FrameKind::Command,
    FrameKind::UnstoredCommand,
    FrameKind::Handled,
    FrameKind::Reload,
    FrameKind::Stop,
    FrameKind::Input,
    FrameKind::Received,
    FrameKind::Failed,
];

/// The first message of a host.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The secret of the runner, which only its owner can read.
    pub(crate) secret: String,
    /// The versions of the messages that the host understands.
    pub(crate) min_protocol: u32,
    pub(crate) protocol: u32,
}

/// The state of a runner when a host connects.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// The version of the messages that the runner uses.
    pub(crate) protocol: u32,
    /// The id of the runner.
    pub(crate) id: String,
    /// The version of its program.
    pub(crate) version: String,
    /// The last input that a host has handled.
    pub(crate) handled: u64,
    /// The last input.
    pub(crate) last_input: u64,
    /// The last command that was received.
    pub(crate) received: u64,
    /// `true` if no agent is open, no terminal runs, and no input waits.
    pub(crate) is_idle: bool,
}

/// One received frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) number: u64,
    pub(crate) text: String,
}

impl Frame {
    /// Decodes the text.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, RunnerError> {
        // The error has no excerpt, because the text may be a prompt.
        serde_json::from_str(&self.text).map_err(|error| RunnerError::Malformed {
            line: error.line(),
            column: error.column(),
        })
    }
}

/// Encodes a frame.
pub(crate) fn encode_frame(kind: FrameKind, number: u64, text: &str) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + text.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(4 + HEADER_BYTES + text.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.push(kind as u8);
    frame.extend_from_slice(&number.to_le_bytes());
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// Encodes a value as text of a frame.
pub(crate) fn encode_text<T: Serialize>(value: &T) -> String {
    // The values have string keys and finite numbers, so this can't fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a frame. Returns `None` at the end of the stream.
pub(crate) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Option<Frame>, RunnerError> {
    let mut first = [0];
    if stream.read(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut rest = [0; 3];
    stream.read_exact(&mut rest).await?;
    let ([a], [b, c, d]) = (first, rest);
    let length = u32::from_le_bytes([a, b, c, d]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if !(HEADER_BYTES..=MAX_FRAME_BYTES).contains(&length) {
        return Err(RunnerError::FrameLength(length));
    }
    let kind = stream.read_u8().await?;
    let kind = KINDS.get(usize::from(kind)).copied();
    let kind = kind.ok_or(RunnerError::UnknownFrame)?;
    let number = stream.read_u64_le().await?;
    let mut text = vec![0; length - HEADER_BYTES];
    stream.read_exact(&mut text).await?;
    let text = String::from_utf8(text).map_err(|_| RunnerError::UnknownFrame)?;
    Ok(Some(Frame { kind, number, text }))
}
