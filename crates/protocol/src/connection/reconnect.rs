//! Resumption of a connection, in two forms.
//!
//! AHP 1.0 has one sequence number for all channels and one outcome. AHP 1.1
//! has a cursor and an outcome for each channel. The version that was agreed on
//! does not tell which form a peer uses: a host of 1.0 agrees on `1.1.0`, too.
//! So both are told apart by their shape.

use serde::{Serialize, Serializer};

use crate::action::ReceivedEnvelope;
use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::{ClientId, ServerSeq};
use crate::uri::{RootChannel, Uri};
use crate::version::Version;
use crate::wire::{DecodeError, Node, Shape, Wire};

/// The version that introduced a cursor for each channel.
pub const CHANNEL_CURSORS_VERSION: Version = Version::new(1, 1, 0);

/// Parameters of `reconnect`, in either form.
#[derive(Debug, Clone, PartialEq)]
pub enum ReconnectRequest {
    /// One sequence number for all channels.
    Connection(ReconnectParams),
    /// A cursor for each channel.
    Channels(ChannelReconnectParams),
}

/// Result of `reconnect`, in either form.
#[derive(Debug, Clone, PartialEq)]
pub enum ReconnectResponse {
    /// One outcome for all channels.
    Connection(ReconnectResult),
    /// An outcome for each channel.
    Channels(ChannelReconnectResult),
}

/// `reconnect`: a client that was here before takes up where it was.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectParams {
    /// The root channel. Released versions of VS Code leave it out.
    #[wire(default)]
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

/// `reconnect` of AHP 1.1.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReconnectParams {
    /// The root channel.
    #[wire(default)]
    pub channel: RootChannel,
    /// The name that the client goes by.
    pub client_id: ClientId,
    /// Every channel that the client wants, and no other.
    pub subscriptions: Vec<ChannelReplayCursor>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// How far a client has followed one channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReplayCursor {
    /// The channel.
    pub channel: Uri,
    /// The last action on this channel that the client applied, or the
    /// `fromSeq` of its snapshot; 0 if the client has no state of the channel.
    pub last_seen_server_seq: ServerSeq,
}

impl ChannelReplayCursor {
    /// The number of a client that has no state of the channel.
    pub const NO_BASELINE: ServerSeq = ServerSeq(0);
}

/// Answer to `reconnect` of AHP 1.1.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReconnectResult {
    /// One outcome for each channel that was asked for.
    pub channels: Vec<ChannelRecovery>,
}

/// The outcome for one channel, independent of all others.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChannelRecovery {
    /// The actions that were missed.
    Replay(ChannelReplayRecovery),
    /// The state to start again from.
    Snapshot(ChannelSnapshotRecovery),
    /// The channel can't be followed any more.
    Missing(ChannelMissingRecovery),
}

/// The actions on a channel that a client missed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReplayRecovery {
    /// The channel.
    pub channel: Uri,
    /// All of them, in order; none for a channel without state.
    pub actions: Vec<ReceivedEnvelope>,
}

/// A channel whose missed actions are not available.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelSnapshotRecovery {
    /// The channel.
    pub channel: Uri,
    /// Its state.
    pub snapshot: Snapshot,
}

/// A channel that can't be followed any more.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelMissingRecovery {
    /// The channel.
    pub channel: Uri,
}

impl Wire for ReconnectRequest {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        match has_cursors(node)? {
            true => ChannelReconnectParams::decode(node).map(ReconnectRequest::Channels),
            false => ReconnectParams::decode(node).map(ReconnectRequest::Connection),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![ReconnectParams::shape, ChannelReconnectParams::shape])
    }
}

/// Whether `reconnect` has a cursor for each channel. An entry that is an object
/// decides; without entries, the absence of the number for all of them does.
fn has_cursors(node: Node<'_>) -> Result<bool, DecodeError> {
    let Some(subscriptions) = node.get("subscriptions")? else {
        return Ok(false);
    };
    if !subscriptions.is_array() {
        return Ok(false);
    }
    let mut entries = subscriptions.items()?.peekable();
    if entries.peek().is_none() {
        return Ok(node.get("lastSeenServerSeq")?.is_none());
    }
    Ok(entries.any(Node::is_object))
}

impl Serialize for ReconnectRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ReconnectRequest::Connection(params) => params.serialize(serializer),
            ReconnectRequest::Channels(params) => params.serialize(serializer),
        }
    }
}

impl Wire for ReconnectResponse {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        match node.get("channels")? {
            Some(_) => ChannelReconnectResult::decode(node).map(ReconnectResponse::Channels),
            None => ReconnectResult::decode(node).map(ReconnectResponse::Connection),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![ReconnectResult::shape, ChannelReconnectResult::shape])
    }
}

impl Serialize for ReconnectResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ReconnectResponse::Connection(result) => result.serialize(serializer),
            ReconnectResponse::Channels(result) => result.serialize(serializer),
        }
    }
}
