//! Handles `reconnect` with a replay cursor for each channel (AHP 1.1).
//!
//! Each channel is recovered independently: by a replay of the missed actions, by a
//! snapshot, or not at all if it was removed. A cursor says nothing about other channels.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::connection::{ChannelReconnectParams, ChannelReplayCursor};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::rpc::{RequestId, RpcError};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::input::ConnectionId;
use crate::host::step::Env;

/// The result of `reconnect` for one channel.
#[derive(Debug, Clone)]
pub enum RecoveryOutcome {
    /// The logged actions after a cursor.
    Replay {
        channel: Uri,
        /// Sequence number that the client has seen.
        after: ServerSeq,
    },
    /// A channel without state, which has nothing to replay.
    Stateless(Uri),
    /// The current state of the channel.
    Snapshot(Snapshot),
    /// The channel was removed, or the client can't subscribe to it.
    Missing(Uri),
}

impl RecoveryOutcome {
    /// Returns the URI of the channel.
    pub fn channel(&self) -> &Uri {
        match self {
            RecoveryOutcome::Replay { channel, .. }
            | RecoveryOutcome::Stateless(channel)
            | RecoveryOutcome::Missing(channel) => channel,
            RecoveryOutcome::Snapshot(snapshot) => &snapshot.resource,
        }
    }
}

impl Host {
    /// Reconnects a client with one cursor for each channel. An error does not close the
    /// connection: the client initializes on the same one (HSK-22).
    pub(crate) fn recover_channels(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        params: &ChannelReconnectParams,
        out: &mut Effects,
    ) -> Result<(), RpcError> {
        let client = &params.client_id;
        let record = self.find_returning_client(connection, client)?;
        // The plan needs the windowed chats of the client, which attaching it clears.
        let plan = self.plan_recovery(params);
        self.attach_returning_client(connection, client, record, out);
        let mut outcomes = BTreeMap::new();
        for channel in plan.snapshots {
            let recovery = self.recover_by_snapshot(connection, &channel, out);
            outcomes.insert(channel, recovery);
        }
        // Taking snapshots can change other channels, so replays come last: a replay ends
        // where live delivery begins (REC-8).
        let mut followed = Vec::new();
        for cursor in plan.replays {
            let channel = cursor.channel;
            let recovery = match self.add_subscriber(connection, &channel) {
                Ok(()) => {
                    followed.push(channel.clone());
                    RecoveryOutcome::Replay {
                        channel: channel.clone(),
                        after: cursor.last_seen_server_seq,
                    }
                }
                Err(_) => RecoveryOutcome::Missing(channel.clone()),
            };
            outcomes.insert(channel, recovery);
        }
        let wanted = params.subscriptions.iter();
        let answer = ResponseBody::Recoveries {
            until: self.log.seq,
            channels: wanted
                .filter_map(|cursor| outcomes.remove(&cursor.channel))
                .collect(),
            apps: self.app_visibility(connection),
        };
        out.respond(connection, id, answer);
        for channel in &followed {
            self.refresh_changeset(channel, out);
            self.track_customizations(channel, out);
        }
        let root = Uri::from(RootChannel);
        let mut cursors = params.subscriptions.iter();
        let cursor = cursors.find(|cursor| cursor.channel == root);
        let seen = cursor.map_or(ServerSeq(0), |cursor| cursor.last_seen_server_seq);
        self.send_list_changes(connection, seen, out);
        self.retry_client_plugins(client, out);
        self.leave_unsubscribed_sessions(env, client, out);
        Ok(())
    }

    /// Splits the channels of a request into those to replay from the log and those that
    /// need a snapshot. Must be called before the client is attached.
    pub(crate) fn plan_recovery(&self, params: &ChannelReconnectParams) -> RecoveryPlan {
        let mut plan = RecoveryPlan::default();
        for cursor in unique_cursors(params) {
            if self.can_replay_channel(&params.client_id, &cursor) {
                plan.replays.push(cursor)
            } else {
                plan.snapshots.push(cursor.channel)
            }
        }
        plan
    }

    /// Returns `true` if the log has all actions that a client missed on a channel (REC-3).
    /// A client with a window of a chat needs a snapshot (SUB-19), and so does a channel
    /// that was created after the cursor: it is not the one that the client knows.
    fn can_replay_channel(&self, client: &ClientId, cursor: &ChannelReplayCursor) -> bool {
        let ChannelReplayCursor {
            channel,
            last_seen_server_seq: seen,
        } = cursor;
        let known = self.channels.get(channel);
        let known = known.is_some_and(|channel| channel.created_seq < *seen);
        let record = self.clients.record(client);
        let windowed = record.is_some_and(|record| record.windowed.contains(channel));
        known && !windowed && self.has_actions_since(client, *seen)
    }

    /// Recovers a channel whose missed actions are not available.
    fn recover_by_snapshot(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
        out: &mut Effects,
    ) -> RecoveryOutcome {
        if self.is_stateless(connection, channel) {
            return RecoveryOutcome::Stateless(channel.clone());
        }
        match self.subscribe_derived(connection, channel, out) {
            Ok(snapshot) => RecoveryOutcome::Snapshot(snapshot),
            Err(_) => RecoveryOutcome::Missing(channel.clone()),
        }
    }
}

/// The recovery method for each channel of a request.
#[derive(Debug, Default)]
pub(crate) struct RecoveryPlan {
    /// Channels to replay from the log.
    pub(crate) replays: Vec<ChannelReplayCursor>,
    /// Channels to send snapshots of, if they exist.
    pub(crate) snapshots: Vec<Uri>,
}

/// Returns the cursors of a request, one for each channel, in the order of the request. If
/// a channel has two different cursors, neither can be trusted, so it gets a snapshot.
fn unique_cursors(params: &ChannelReconnectParams) -> Vec<ChannelReplayCursor> {
    let mut places = BTreeMap::new();
    let mut cursors: Vec<ChannelReplayCursor> = Vec::new();
    for cursor in &params.subscriptions {
        match places.entry(&cursor.channel) {
            Entry::Vacant(place) => {
                place.insert(cursors.len());
                cursors.push(cursor.clone());
            }
            Entry::Occupied(place) => {
                if let Some(first) = cursors.get_mut(*place.get())
                    && first.last_seen_server_seq != cursor.last_seen_server_seq
                {
                    first.last_seen_server_seq = ChannelReplayCursor::NO_BASELINE;
                }
            }
        }
    }
    cursors
}
