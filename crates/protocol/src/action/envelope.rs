//! Actions on their way to subscribers.

use std::sync::Arc;

use super::Action;
use super::received::ReceivedAction;
use crate::ids::{ClientId, ClientSeq, ServerSeq};
use crate::uri::Uri;
use crate::wire::{Json, Wire};

/// Which client dispatched an action, and its own number for it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActionOrigin {
    /// The client.
    pub client_id: ClientId,
    /// Its number, as it came.
    pub client_seq: ClientSeq,
}

/// An accepted action, numbered.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActionEnvelope {
    /// The channel whose state it changes.
    pub channel: Uri,
    /// The action.
    pub action: Arc<Action>,
    /// Its place in the host's history.
    pub server_seq: ServerSeq,
    /// The client it came from; absent if the host originated it.
    pub origin: Option<ActionOrigin>,
}

/// A refused action. Goes to the client it came from and to nobody else
/// (DSP-10).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Rejection {
    /// The channel it was meant for.
    pub channel: Uri,
    /// The action as it came, right or wrong.
    pub action: Json,
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
