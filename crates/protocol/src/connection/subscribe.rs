//! Subscriptions and dispatch.

use crate::action::ReceivedAction;
use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::ClientSeq;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::Wire;

/// `subscribe`: a client wants to see a channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SubscribeParams {
    /// The channel.
    pub channel: Uri,
    /// How it wants to be told.
    pub delivery: Option<DeliveryOptions>,
    /// How much it wants to see.
    pub view: Option<SubscribeView>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// How a client wants to be told.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct DeliveryOptions {
    /// How long the host may wait to say several things at once; zero means
    /// not at all (SUB-12).
    pub max_latency_ms: Option<Millis>,
}

/// How much a client wants to see.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct SubscribeView {
    /// About how many turns of a chat; absent means all (SUB-16).
    pub turns: Option<u64>,
}

/// Answer to `subscribe`.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct SubscribeResult {
    /// The channel as it is; absent if it has no state.
    pub snapshot: Option<Snapshot>,
}

/// `unsubscribe`: a client no longer wants to see a channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UnsubscribeParams {
    /// The channel.
    pub channel: Uri,
}

/// `dispatchAction`: a client wants something to happen.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DispatchActionParams {
    /// The channel.
    pub channel: Uri,
    /// The client's own number for it.
    pub client_seq: ClientSeq,
    /// What should happen. If it is wrong, the rest still says whom to tell.
    pub action: ReceivedAction,
}
