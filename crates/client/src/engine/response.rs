//! Responses to requests of the owner of an engine.

use agenthost_protocol::rpc::{Command, Message, RequestId, RpcError};
use agenthost_protocol::wire::{Document, Limits, Wire};

use crate::error::EngineError;

/// The response to a request, not decoded yet.
#[derive(Debug)]
pub struct ClientResponse {
    /// The id that [`ClientEngine::request`](super::ClientEngine::request) returned.
    pub id: RequestId,
    /// The text of the response, or `None` if the connection was lost before it arrived. The
    /// host may or may not have executed the request then.
    pub(super) text: Option<String>,
}

impl ClientResponse {
    /// Decodes the result of a command. The outer error is a broken message, the inner one the
    /// answer of the host; `None` is a lost connection.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError`] if the response is not a valid response to the command.
    pub fn decode<C: Command>(self) -> Result<Option<Result<C::Result, RpcError>>, EngineError> {
        self.decode_result()
    }

    /// Decodes the result of a request that is no command, like [`Self::decode`].
    ///
    /// # Errors
    ///
    /// Returns [`EngineError`] if the response is not valid.
    pub fn decode_result<R: Wire>(self) -> Result<Option<Result<R, RpcError>>, EngineError> {
        let Some(text) = self.text else {
            return Ok(None);
        };
        let document = Document::parse(&text, Limits::STATE)?;
        let Message::Response(response) = Message::decode(&document)? else {
            return Ok(None);
        };
        Ok(Some(match response.outcome {
            Ok(node) => Ok(R::decode(node)?),
            Err(error) => Err(error),
        }))
    }
}
