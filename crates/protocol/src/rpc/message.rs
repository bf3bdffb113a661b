//! Decodes the envelope of JSON-RPC messages.

use std::borrow::Cow;

use super::error::{ErrorCode, RpcError};
use super::id::RequestId;
use crate::wire::{DecodeError, Document, Node, Wire};

/// A JSON-RPC request, notification or response.
#[derive(Debug, Clone)]
pub enum Message<'d> {
    /// A request, which expects a response.
    Request(RequestId, Call<'d>),
    /// A notification, which expects no response.
    Notification(Call<'d>),
    /// A response to a request.
    Response(Response<'d>),
}

/// A method with its parameters.
#[derive(Debug, Clone)]
pub struct Call<'d> {
    /// Name of the method.
    pub method: Cow<'d, str>,
    /// Undecoded parameters; `None` if absent or `null`.
    pub params: Option<Node<'d>>,
}

/// The response to a request.
#[derive(Debug, Clone)]
pub struct Response<'d> {
    /// Id of the request.
    pub id: RequestId,
    /// Undecoded result, or the error.
    pub outcome: Result<Node<'d>, RpcError>,
}

/// The error of JSON that is not a JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct InvalidMessage {
    /// Id for the error response; `Null` if none could be decoded.
    pub id: RequestId,
    /// Description of the problem.
    pub problem: DecodeError,
}

impl From<InvalidMessage> for RpcError {
    fn from(invalid: InvalidMessage) -> Self {
        RpcError::new(ErrorCode::InvalidRequest, invalid.to_string())
    }
}

impl<'d> Message<'d> {
    /// Decodes the message in a document.
    pub fn decode(document: &'d Document<'d>) -> Result<Self, InvalidMessage> {
        let node = document.root();
        if node.is_array() {
            return Err(InvalidMessage {
                id: RequestId::Null,
                problem: DecodeError::new(
                    "expected one message, found a batch: send each message by itself",
                ),
            });
        }
        MessageMembers::from_node(node)
            .and_then(MessageMembers::into_message)
            .map_err(|problem| InvalidMessage {
                id: salvage_id(node),
                problem,
            })
    }
}

/// The members that a message can have.
struct MessageMembers<'d> {
    id: Option<RequestId>,
    method: Option<Cow<'d, str>>,
    params: Option<Node<'d>>,
    result: Option<Node<'d>>,
    error: Option<Node<'d>>,
}

impl<'d> MessageMembers<'d> {
    fn from_node(node: Node<'d>) -> Result<Self, DecodeError> {
        let version = node.tag("jsonrpc")?;
        if version != "2.0" {
            return Err(DecodeError::not_one_of(&version, &["2.0"]).within("jsonrpc"));
        }
        let id = node.get("id")?.map(RequestId::decode).transpose();
        let method = node.get("method")?.map(Node::text).transpose();
        Ok(MessageMembers {
            id: id.map_err(|error| error.within("id"))?,
            method: method.map_err(|error| error.within("method"))?,
            params: node.get("params")?.filter(|params| !params.is_null()),
            result: node.get("result")?,
            error: node.get("error")?,
        })
    }

    fn into_message(self) -> Result<Message<'d>, DecodeError> {
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let call = Call {
                    method,
                    params: self.params,
                };
                Ok(match self.id {
                    Some(id) => Message::Request(id, call),
                    None => Message::Notification(call),
                })
            }
            (None, result, error) => {
                let outcome = match (result, error) {
                    (Some(result), None) => Ok(result),
                    (None, Some(error)) => Err(read_error(error)?),
                    (Some(_), Some(_)) => {
                        return Err(DecodeError::new("expected `result` or `error`, found both"));
                    }
                    (None, None) => {
                        return Err(DecodeError::new(
                            "expected `method`, `result` or `error`, found none",
                        ));
                    }
                };
                let id = self.id.ok_or_else(|| DecodeError::missing().within("id"))?;
                Ok(Message::Response(Response { id, outcome }))
            }
            (Some(_), _, _) => Err(DecodeError::new(
                "expected `method` or a response, found both",
            )),
        }
    }
}

fn read_error(node: Node<'_>) -> Result<RpcError, DecodeError> {
    let object = ErrorObject::decode(node).map_err(|error| error.within("error"))?;
    Ok(RpcError {
        code: ErrorCode::from_number(object.code),
        message: object.message,
        data: object.data,
    })
}

#[derive(Wire)]
struct ErrorObject {
    code: i64,
    message: String,
    data: Option<crate::wire::Json>,
}

/// Returns the id of an invalid message, if it can be decoded.
fn salvage_id(node: Node<'_>) -> RequestId {
    node.get("id")
        .ok()
        .flatten()
        .and_then(|id| RequestId::decode(id).ok())
        .unwrap_or(RequestId::Null)
}
