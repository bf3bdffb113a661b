//! Actions as received from a peer, before validation.

use super::Action;
use crate::wire::{DecodeError, Json, Node, Shape, Wire};

/// A value received in place of an action.
///
/// Distinguishes malformed actions from actions of an unknown type. Both keep the original
/// JSON, because a rejection must echo it (DSP-6, DSP-7).
#[derive(Debug, Clone, PartialEq)]
pub enum ReceivedAction {
    /// A known type with a well-formed payload.
    Valid(Action),
    /// A type that this protocol version does not define.
    Unknown(RawAction),
    /// A known type with a malformed payload, or a value without a `type`.
    Malformed(RawAction, DecodeError),
}

/// The original JSON of an action.
#[derive(Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct RawAction(pub Json);

/// Prints only the type: the payload can contain a prompt or terminal input.
impl std::fmt::Debug for RawAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawAction({:?})", self.short_name())
    }
}

impl Wire for RawAction {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        Ok(RawAction(node.to_json()))
    }

    fn shape() -> Shape {
        Shape::Any
    }
}

impl RawAction {
    /// Returns the value of the `type` field, if it is a string.
    pub fn name(&self) -> Option<&str> {
        self.0.get("type").and_then(Json::as_str)
    }

    /// Returns the value of the `type` field, truncated to 60 characters for error messages.
    fn short_name(&self) -> String {
        self.name().unwrap_or_default().chars().take(60).collect()
    }

    /// Returns the error for an unknown action type.
    pub(super) fn unknown_type(&self) -> DecodeError {
        DecodeError::new(format!("unknown action type {:?}", self.short_name())).within("type")
    }
}

impl ReceivedAction {
    /// Returns the action, or its original JSON with the error message.
    pub fn into_valid(self) -> Result<Action, (RawAction, String)> {
        match self {
            ReceivedAction::Valid(action) => Ok(action),
            ReceivedAction::Unknown(raw) => {
                let reason = raw.unknown_type().within("action").to_string();
                Err((raw, reason))
            }
            ReceivedAction::Malformed(raw, error) => Err((raw, error.to_string())),
        }
    }
}

impl Wire for ReceivedAction {
    /// Never fails: an error in the action becomes part of the result.
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let malformed = |error: DecodeError| {
            ReceivedAction::Malformed(RawAction(node.to_json()), error.within("action"))
        };
        let name = match node.tag("type") {
            Ok(name) => name,
            Err(error) => return Ok(malformed(error)),
        };
        Ok(match Action::decode_named(&name, node) {
            Some(Ok(action)) => ReceivedAction::Valid(action),
            Some(Err(error)) => malformed(error),
            None => ReceivedAction::Unknown(RawAction(node.to_json())),
        })
    }

    fn shape() -> Shape {
        Action::shape()
    }
}

impl serde::Serialize for ReceivedAction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ReceivedAction::Valid(action) => action.serialize(serializer),
            ReceivedAction::Unknown(raw) | ReceivedAction::Malformed(raw, _) => {
                raw.0.serialize(serializer)
            }
        }
    }
}
