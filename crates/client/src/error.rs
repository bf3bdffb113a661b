//! Errors of the engine: messages that cannot be decoded, encoded or accepted.

use agenthost_protocol::rpc::{InvalidMessage, encode};
use agenthost_protocol::wire::{DecodeError, Limits, ParseError};

use crate::optimistic::TooManyPending;

/// Maximum size of a message to a host: the default of `limits.message_bytes` of agenthost.
pub const MAX_MESSAGE_BYTES: usize = Limits::MESSAGE.bytes;

/// Errors of a [`ClientEngine`](crate::ClientEngine).
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The host sent text that is not JSON.
    #[error("the host sent invalid JSON: {0}")]
    Parse(#[from] ParseError),
    /// The host sent JSON that is not a JSON-RPC message.
    #[error("the host sent an invalid message: {0}")]
    Invalid(#[from] InvalidMessage),
    /// The host sent a message whose parameters or result have the wrong type.
    #[error("the host sent a message that cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
    /// An outgoing message could not be encoded.
    #[error("encode a message: {0}")]
    Encode(#[from] encode::EncodeError),
    /// The host would close the connection instead of reading the message.
    #[error(
        "the message has {} MB, and hosts accept at most {} MB\nhint: send less text, or fewer or smaller files",
        megabytes(*.bytes),
        megabytes(MAX_MESSAGE_BYTES)
    )]
    TooLarge {
        /// Size of the encoded message.
        bytes: usize,
    },
    /// The limit of unconfirmed actions of a channel is reached.
    #[error(transparent)]
    TooManyPending(#[from] TooManyPending),
    /// The host refused the handshake.
    #[error("the host refused the handshake: {0}")]
    HandshakeRefused(String),
}

/// Returns a number of bytes in megabytes, rounded up.
fn megabytes(bytes: usize) -> usize {
    bytes.div_ceil(1024 * 1024)
}

/// Returns a message unless hosts do not accept its size.
pub(crate) fn check_size(text: String) -> Result<String, EngineError> {
    match text.len() {
        bytes if bytes > MAX_MESSAGE_BYTES => Err(EngineError::TooLarge { bytes }),
        _ => Ok(text),
    }
}
