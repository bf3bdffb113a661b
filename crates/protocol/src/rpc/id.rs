//! Ids of JSON-RPC requests.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::{DecodeError, Node};

/// The id of a request, as its sender wrote it: a string, a number or `null` (RPC-2).
///
/// `serde` is for messages between processes of one host; on the wire, the id is JSON as
/// [`Display`](fmt::Display) prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RequestId {
    /// The sender chose `null`, or the id could not be decoded.
    Null,
    /// A number, with its original digits.
    Number(Box<str>),
    /// An id that is a string.
    Text(Box<str>),
}

impl RequestId {
    pub(super) fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if node.is_null() {
            Ok(RequestId::Null)
        } else if node.is_text() {
            node.text().map(|text| RequestId::Text(text.into()))
        } else {
            node.number()
                .map(|number| RequestId::Number(number.into()))
                .ok_or_else(|| DecodeError::expected("a string, a number or null", node))
        }
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        RequestId::Number(number.to_string().into())
    }
}

/// Prints the id as JSON, a number with its original digits, so that the sender recognizes it.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Null => f.write_str("null"),
            RequestId::Number(digits) => f.write_str(digits),
            RequestId::Text(text) => {
                f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
            }
        }
    }
}
