//! Actions as a peer sent them.

use super::Action;
use crate::wire::{DecodeError, Json, Node, Shape, Wire};

/// What came where an action was expected.
///
/// A malformed action and one of an unknown type are told apart, and both are
/// kept as they came: a rejection has to echo them (DSP-6, DSP-7).
#[derive(Debug, Clone, PartialEq)]
pub enum ReceivedAction {
    /// A known type with a correct payload.
    Valid(Action),
    /// A type that this version does not know.
    Unknown(RawAction),
    /// A known type with a wrong payload, or no type at all.
    Malformed(RawAction, DecodeError),
}

/// An action kept as it came.
#[derive(Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct RawAction(pub Json);

/// Shows the type alone: the rest may be a prompt, or what was typed.
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
    /// The type it claims to be.
    pub fn name(&self) -> Option<&str> {
        self.0.get("type").and_then(Json::as_str)
    }

    /// The type it claims to be, no longer than a line.
    fn short_name(&self) -> String {
        self.name().unwrap_or_default().chars().take(60).collect()
    }

    /// The error that its type is unknown.
    pub(super) fn unknown_type(&self) -> DecodeError {
        DecodeError::new(format!("unknown action type {:?}", self.short_name())).within("type")
    }
}

impl ReceivedAction {
    /// The action, or in words why it is none.
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
    /// Never fails: what is wrong with the action is part of the result.
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
