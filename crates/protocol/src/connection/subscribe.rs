//! Messages for subscriptions and for dispatched actions.

use crate::action::ReceivedAction;
use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::ClientSeq;
use crate::number::Millis;
use crate::uri::Uri;
use crate::wire::Wire;

/// Parameters of the `subscribe` request, which registers the connection for a channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SubscribeParams {
    /// URI of the channel.
    pub channel: Uri,
    /// Delivery options of the subscription.
    pub delivery: Option<DeliveryOptions>,
    /// Requested part of the state.
    pub view: Option<SubscribeView>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

impl SubscribeParams {
    /// Returns a subscription to the whole channel, without batching.
    pub fn of_channel(channel: Uri) -> Self {
        SubscribeParams {
            channel,
            delivery: None,
            view: None,
            meta: None,
        }
    }
}

/// Delivery options of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct DeliveryOptions {
    /// Maximum time for which the host may buffer and merge actions; zero disables merging
    /// (SUB-12).
    pub max_latency_ms: Option<Millis>,
}

/// The part of a state that a subscriber requests.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct SubscribeView {
    /// Approximate number of latest turns in a chat snapshot; absent means all turns (SUB-16).
    pub turns: Option<u64>,
}

/// Result of the `subscribe` request.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct SubscribeResult {
    /// Snapshot of the channel; absent if the channel has no state.
    pub snapshot: Option<Snapshot>,
}

/// Parameters of the `unsubscribe` notification, which ends a subscription.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UnsubscribeParams {
    /// URI of the channel.
    pub channel: Uri,
}

/// Parameters of the `dispatchAction` notification, with which a client proposes an action.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DispatchActionParams {
    /// URI of the channel.
    pub channel: Uri,
    /// Sequence number of the client for this action.
    pub client_seq: ClientSeq,
    /// The proposed action. If it is malformed, the other fields still identify the client that
    /// receives the rejection.
    pub action: ReceivedAction,
}
