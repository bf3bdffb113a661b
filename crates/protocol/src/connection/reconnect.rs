//! The `reconnect` request and its result, in two forms.
//!
//! AHP 1.0 has one sequence number for all channels and one outcome. AHP 1.1 has a cursor and
//! an outcome for each channel. The negotiated version does not determine the form, because a
//! 1.0 host also accepts `1.1.0`. Therefore the two forms are distinguished by their shape.

use serde::{Serialize, Serializer};

use crate::action::ReceivedEnvelope;
use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::{ClientId, ServerSeq};
use crate::uri::{RootChannel, Uri};
use crate::version::Version;
use crate::wire::{DecodeError, Node, Shape, Wire};

/// Protocol version that introduced a cursor for each channel.
pub const CHANNEL_CURSORS_VERSION: Version = Version::new(1, 1, 0);

/// Parameters of the `reconnect` request, in either form.
#[derive(Debug, Clone, PartialEq)]
pub enum ReconnectRequest {
    /// The 1.0 form: one sequence number for all channels.
    Connection(ReconnectParams),
    /// The 1.1 form: a cursor for each channel.
    Channels(ChannelReconnectParams),
}

/// Result of the `reconnect` request, in either form.
#[derive(Debug, Clone, PartialEq)]
pub enum ReconnectResponse {
    /// The 1.0 form: one outcome for all channels.
    Connection(ReconnectResult),
    /// The 1.1 form: an outcome for each channel.
    Channels(ChannelReconnectResult),
}

/// Parameters of the `reconnect` request in AHP 1.0: a known client resumes on a new connection.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectParams {
    /// The root channel. Released versions of VS Code omit it.
    #[wire(default)]
    pub channel: RootChannel,
    /// Id of the client, as sent in `initialize`.
    pub client_id: ClientId,
    /// Last sequence number that the client received.
    pub last_seen_server_seq: ServerSeq,
    /// Complete list of channels to subscribe to; it replaces the previous subscriptions
    /// (REC-7).
    pub subscriptions: Vec<Uri>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `reconnect` request in AHP 1.0.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ReconnectResult {
    /// A replay of the missed actions.
    Replay(ReconnectReplay),
    /// New snapshots, because the missed actions are not available.
    Snapshot(ReconnectSnapshot),
}

/// The actions that a client missed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectReplay {
    /// Missed envelopes in ascending order. A host can also replay rejected actions and actions
    /// of unknown types, so clients must check each envelope (CRT-9, FWD-1).
    pub actions: Vec<ReceivedEnvelope>,
    /// Requested channels that no longer exist or are not permitted.
    pub missing: Vec<Uri>,
}

/// New snapshots for a client that reconnects. A requested channel without a snapshot no longer
/// exists (REC-11).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReconnectSnapshot {
    /// Snapshots of the requested channels that have state.
    pub snapshots: Vec<Snapshot>,
}

/// Parameters of the `reconnect` request in AHP 1.1.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReconnectParams {
    /// The root channel; always `ahp-root://`.
    #[wire(default)]
    pub channel: RootChannel,
    /// Id of the client, as sent in `initialize`.
    pub client_id: ClientId,
    /// Complete list of channels to subscribe to, each with a cursor.
    pub subscriptions: Vec<ChannelReplayCursor>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The position of a client in the history of one channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReplayCursor {
    /// URI of the channel.
    pub channel: Uri,
    /// Sequence number of the last action on this channel that the client applied, or the
    /// `fromSeq` of its snapshot; 0 if the client has no state of the channel.
    pub last_seen_server_seq: ServerSeq,
}

impl ChannelReplayCursor {
    /// Cursor of a client that has no state of the channel.
    pub const NO_BASELINE: ServerSeq = ServerSeq(0);
}

/// Result of the `reconnect` request in AHP 1.1.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReconnectResult {
    /// One outcome for each requested channel.
    pub channels: Vec<ChannelRecovery>,
}

/// The outcome for one channel, independent of the other channels.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ChannelRecovery {
    /// The missed actions of the channel.
    Replay(ChannelReplayRecovery),
    /// A new snapshot of the channel.
    Snapshot(ChannelSnapshotRecovery),
    /// The channel no longer exists or is not permitted.
    Missing(ChannelMissingRecovery),
}

/// The actions on a channel that a client missed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelReplayRecovery {
    /// URI of the channel.
    pub channel: Uri,
    /// Missed envelopes in ascending order; empty for a channel without state.
    pub actions: Vec<ReceivedEnvelope>,
}

/// A new snapshot of a channel whose missed actions are not available.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelSnapshotRecovery {
    /// URI of the channel.
    pub channel: Uri,
    /// Snapshot of the channel.
    pub snapshot: Snapshot,
}

/// A channel that no longer exists or is not permitted.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChannelMissingRecovery {
    /// URI of the channel.
    pub channel: Uri,
}

impl Wire for ReconnectRequest {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if has_cursors(node)? {
            ChannelReconnectParams::decode(node).map(ReconnectRequest::Channels)
        } else {
            ReconnectParams::decode(node).map(ReconnectRequest::Connection)
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![ReconnectParams::shape, ChannelReconnectParams::shape])
    }
}

/// Returns `true` if the parameters have the 1.1 form. An entry that is an object decides; if
/// there are no entries, the absence of `lastSeenServerSeq` does.
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
