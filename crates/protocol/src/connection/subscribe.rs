//! Subscriptions, resumption and dispatch.

use crate::action::{ReceivedAction, ReceivedEnvelope};
use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::{ClientId, ClientSeq, ServerSeq};
use crate::number::Millis;
use crate::uri::{RootChannel, Uri};
use crate::wire::Wire;

/// `reconnect`: a client that was here before takes up where it was.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The name that the client goes by.
    pub client_id: ClientId,
    /// The last it has seen.
    pub last_seen_server_seq: ServerSeq,
    /// Every channel that it wants, and no other (REC-7).
    pub subscriptions: Vec<Uri>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `reconnect`.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ReconnectResult {
    /// What was missed.
    Replay(ReconnectReplay),
    /// Too much was missed: start from here.
    Snapshot(ReconnectSnapshot),
}

/// What a client missed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectReplay {
    /// All of it, in order. Read with care: a host may replay what it
    /// refused, and what we don't know (CRT-9, FWD-1).
    pub actions: Vec<ReceivedEnvelope>,
    /// Channels that are gone.
    pub missing: Vec<Uri>,
}

/// Where a client starts again. A channel without a snapshot is gone
/// (REC-11).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectSnapshot {
    /// The channels as they are.
    pub snapshots: Vec<Snapshot>,
}

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
