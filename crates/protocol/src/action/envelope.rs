//! Envelopes that carry accepted and rejected actions to clients.

use std::sync::Arc;

use serde::Serialize;

use super::Action;
use super::received::{RawAction, ReceivedAction};
use crate::ids::{ClientId, ClientSeq, ServerSeq};
use crate::uri::Uri;
use crate::wire::{DecodeError, FieldShape, Node, Shape, Wire};

/// The client that dispatched an action, with the sequence number of that client.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActionOrigin {
    /// Client that dispatched the action.
    pub client_id: ClientId,
    /// Sequence number of the client, copied verbatim from its dispatch.
    pub client_seq: ClientSeq,
}

/// An accepted action with its sequence number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionEnvelope {
    /// Channel that the action changes.
    pub channel: Uri,
    /// The accepted action, shared between subscribers.
    pub action: Arc<Action>,
    /// Host-wide sequence number of the action.
    pub server_seq: ServerSeq,
    /// Client that dispatched the action; absent if the host originated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<ActionOrigin>,
}

impl Wire for ActionEnvelope {
    /// Fails for a rejection: if it were read as an accepted action, the reader would apply it
    /// to its state (CRT-9).
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let received = ReceivedEnvelope::decode(node)?;
        if received.rejection_reason.is_some() {
            let problem = "expected an accepted action, found a rejection";
            return Err(DecodeError::new(problem).within("rejectionReason"));
        }
        let action = match received.action {
            ReceivedAction::Valid(action) => action,
            ReceivedAction::Unknown(raw) => return Err(raw.unknown_type().within("action")),
            ReceivedAction::Malformed(_, error) => return Err(error),
        };
        Ok(ActionEnvelope {
            channel: received.channel,
            action: Arc::new(action),
            server_seq: received.server_seq,
            origin: received.origin,
        })
    }

    fn shape() -> Shape {
        Shape::Object {
            name: "ActionEnvelope",
            fields: vec![
                FieldShape::of::<Uri>("channel"),
                FieldShape::of::<Action>("action"),
                FieldShape::of::<ServerSeq>("serverSeq"),
                FieldShape::of::<Option<ActionOrigin>>("origin"),
            ],
        }
    }
}

/// A rejected action. The host sends it only to the client that dispatched the action (DSP-10).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Rejection {
    /// Channel that the action was dispatched to.
    pub channel: Uri,
    /// The action exactly as received, well-formed or not.
    pub action: RawAction,
    /// Sequence number of the rejection, from the same counter as accepted actions.
    pub server_seq: ServerSeq,
    /// Client that dispatched the action.
    pub origin: ActionOrigin,
    /// Human-readable reason for the rejection.
    pub rejection_reason: String,
}

/// An envelope as a client receives it: accepted or rejected.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReceivedEnvelope {
    /// Channel of the action.
    pub channel: Uri,
    /// The action; a host of a later version can send types that are unknown here.
    pub action: ReceivedAction,
    /// Host-wide sequence number of the envelope.
    pub server_seq: ServerSeq,
    /// Client that dispatched the action; absent if the host originated it.
    pub origin: Option<ActionOrigin>,
    /// Reason for the rejection. If present, the action changed nothing.
    pub rejection_reason: Option<String>,
}
