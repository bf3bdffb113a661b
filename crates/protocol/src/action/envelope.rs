//! Actions on their way to subscribers.

use std::sync::Arc;

use serde::Serialize;

use super::Action;
use super::received::{RawAction, ReceivedAction};
use crate::ids::{ClientId, ClientSeq, ServerSeq};
use crate::uri::Uri;
use crate::wire::{DecodeError, FieldShape, Node, Shape, Wire};

/// Which client dispatched an action, and its own number for it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActionOrigin {
    /// The client.
    pub client_id: ClientId,
    /// Its number, as it came.
    pub client_seq: ClientSeq,
}

/// An accepted action, numbered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionEnvelope {
    /// The channel whose state it changes.
    pub channel: Uri,
    /// The action.
    pub action: Arc<Action>,
    /// Its place in the host's history.
    pub server_seq: ServerSeq,
    /// The client it came from; absent if the host originated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<ActionOrigin>,
}

impl Wire for ActionEnvelope {
    /// Refuses a rejection: taken for an accepted action, it would change the
    /// state of whoever reads it (CRT-9).
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

/// A refused action. Goes to the client it came from and to nobody else
/// (DSP-10).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Rejection {
    /// The channel it was meant for.
    pub channel: Uri,
    /// The action as it came, right or wrong.
    pub action: RawAction,
    /// A number of its own, in order with everything else.
    pub server_seq: ServerSeq,
    /// The client it came from.
    pub origin: ActionOrigin,
    /// Why, for people.
    pub rejection_reason: String,
}

/// An envelope as a client receives it: accepted or refused.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReceivedEnvelope {
    /// The channel.
    pub channel: Uri,
    /// The action; a newer host may send types that we don't know.
    pub action: ReceivedAction,
    /// Its place in the host's history.
    pub server_seq: ServerSeq,
    /// The client it came from.
    pub origin: Option<ActionOrigin>,
    /// Present if the action was refused and changed nothing.
    pub rejection_reason: Option<String>,
}
