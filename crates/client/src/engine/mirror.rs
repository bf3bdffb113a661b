//! The mirror: the states of the channels that a client is subscribed to.

use agenthost_protocol::action::{Action, ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::connection::SubscribeParams;
use agenthost_protocol::ids::{ClientId, ClientSeq, ServerSeq};
use std::sync::Arc;

use agenthost_protocol::sorted::{SortedMap, sort_by_key};
use agenthost_protocol::uri::Uri;

use super::ClientUpdate;
use crate::optimistic::{OptimisticState, PendingAction, StateDiverged, TooManyPending};

/// The state of a subscribed channel and its replay cursor.
#[derive(Debug)]
pub(super) struct MirroredChannel {
    pub(super) optimistic: OptimisticState,
    /// The last sequence number on this channel, or that of its snapshot.
    pub(super) cursor: ServerSeq,
}

#[derive(Default)]
pub(super) struct ChannelMirror {
    pub(super) channels: SortedMap<Uri, MirroredChannel>,
    /// The highest sequence number that was received on any channel.
    pub(super) last_seen: ServerSeq,
    /// Channels to subscribe to as soon as the connection is open.
    wanted: SortedMap<Uri, SubscribeParams>,
}

impl std::fmt::Debug for ChannelMirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelMirror")
            .field("channels", &self.channels.keys().collect::<Vec<_>>())
            .field("last_seen", &self.last_seen)
            .finish_non_exhaustive()
    }
}

impl ChannelMirror {
    pub(super) fn get(&self, channel: &Uri) -> Option<&OptimisticState> {
        Some(&self.channels.get(channel)?.optimistic)
    }

    pub(super) fn channels(&self) -> impl Iterator<Item = &Uri> {
        self.channels.keys()
    }

    pub(super) fn unconfirmed_count(&self) -> usize {
        let channels = self.channels.values();
        channels
            .map(|mirrored| mirrored.optimistic.pending().len())
            .sum()
    }

    pub(super) fn want(&mut self, params: SubscribeParams) {
        self.wanted.insert(params.channel.clone(), params);
    }

    pub(super) fn take_wanted(&mut self) -> SortedMap<Uri, SubscribeParams> {
        std::mem::take(&mut self.wanted)
    }

    pub(super) fn remove(&mut self, channel: &Uri) {
        self.channels.remove(channel);
        self.wanted.remove(channel);
    }

    /// Replaces the confirmed state of a channel by a snapshot, or adds the channel.
    pub(super) fn install(&mut self, snapshot: Snapshot) {
        let Snapshot {
            resource,
            state,
            from_seq: cursor,
        } = snapshot;
        self.last_seen = self.last_seen.max(cursor);
        match self.channels.get_mut(&resource) {
            // After a repeated subscription, the pending actions are still in flight.
            Some(mirrored) => {
                mirrored.optimistic.replace_confirmed(state);
                mirrored.cursor = cursor;
            }
            None => {
                let optimistic = OptimisticState::new(state);
                let mirrored = MirroredChannel { optimistic, cursor };
                self.channels.insert(resource, mirrored);
            }
        }
    }

    /// Applies an action of this client to the optimistic state, if the channel is subscribed.
    pub(super) fn dispatch(
        &mut self,
        channel: &Uri,
        client_seq: ClientSeq,
        action: &Arc<Action>,
    ) -> Result<(), TooManyPending> {
        match self.channels.get_mut(channel) {
            Some(mirrored) => mirrored.optimistic.dispatch(client_seq, action.clone()),
            None => Ok(()),
        }
    }

    /// Applies an action or a rejection of the host.
    pub(super) fn apply(&mut self, envelope: ReceivedEnvelope, client: &ClientId) -> ClientUpdate {
        self.last_seen = self.last_seen.max(envelope.server_seq);
        let own = envelope.origin.as_ref();
        let own = own.filter(|origin| origin.client_id == *client);
        let own = own.map(|origin| origin.client_seq);
        let mirrored = self.channels.get_mut(&envelope.channel);
        let optimistic = mirrored.map(|mirrored| {
            mirrored.cursor = mirrored.cursor.max(envelope.server_seq);
            &mut mirrored.optimistic
        });
        if let Some(reason) = envelope.rejection_reason {
            if let (Some(optimistic), Some(seq)) = (optimistic, own) {
                optimistic.drop_rejected(seq);
            }
            return ClientUpdate::Rejected {
                origin: envelope.origin,
                reason,
            };
        }
        if let (ReceivedAction::Valid(action), Some(optimistic)) = (&envelope.action, optimistic) {
            let applied = match own {
                Some(seq) => optimistic.apply_echo(seq, action),
                None => optimistic.apply_foreign(action),
            };
            // The host is the authority. A mirror that cannot apply its action has diverged
            // and is dropped.
            if let Err(StateDiverged) = applied {
                self.channels.remove(&envelope.channel);
            }
        }
        ClientUpdate::Action(Box::new(envelope))
    }

    /// Removes an unconfirmed action and its effect on the optimistic state.
    pub(super) fn drop_pending(&mut self, channel: &Uri, client_seq: ClientSeq) {
        if let Some(mirrored) = self.channels.get_mut(channel) {
            mirrored.optimistic.drop_rejected(client_seq);
        }
    }

    /// Returns all unconfirmed actions in the order of their dispatch.
    pub(super) fn unconfirmed_actions(&self) -> Vec<(Uri, PendingAction)> {
        let mut open: Vec<_> = self
            .channels
            .iter()
            .flat_map(|(channel, mirrored)| pending_of(channel, mirrored))
            .collect();
        sort_by_dispatch(&mut open);
        open
    }
}

/// Returns the unconfirmed actions of a channel.
pub(super) fn pending_of(
    channel: &Uri,
    mirrored: &MirroredChannel,
) -> impl Iterator<Item = (Uri, PendingAction)> {
    let pending = mirrored.optimistic.pending();
    pending.map(|pending| (channel.clone(), pending.clone()))
}

pub(super) fn sort_by_dispatch(actions: &mut Vec<(Uri, PendingAction)>) {
    sort_by_key(actions, |(_, pending)| i128::from(pending.client_seq.0));
}
