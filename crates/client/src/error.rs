//! Errors of the engine: messages that cannot be decoded, encoded or accepted.

use agenthost_protocol::rpc::{InvalidMessage, encode};
use agenthost_protocol::wire::{DecodeError, ParseError};

use crate::optimistic::TooManyPending;

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
    /// The limit of unconfirmed actions of a channel is reached.
    #[error(transparent)]
    TooManyPending(#[from] TooManyPending),
    /// The host refused the handshake.
    #[error("the host refused the handshake: {0}")]
    HandshakeRefused(String),
}
