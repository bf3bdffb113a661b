//! The mirror: the states of the channels that a client is subscribed to.

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;

use crate::client::{Client, ClientUpdate};
use crate::optimistic::{OptimisticState, StateDiverged};

/// The state of a subscribed channel and its replay cursor.
#[derive(Debug)]
pub(crate) struct MirroredChannel {
    pub(crate) optimistic: OptimisticState,
    /// The last sequence number on this channel, or that of its snapshot.
    pub(crate) cursor: ServerSeq,
}

impl Client {
    /// Returns the number of dispatched actions that the host has neither confirmed nor
    /// rejected.
    pub fn unconfirmed_count(&self) -> usize {
        self.mirror
            .values()
            .map(|followed| followed.optimistic.pending().len())
            .sum()
    }

    /// Returns the optimistic state of a subscribed channel: the confirmed state with the
    /// pending actions of this client applied.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.optimistic_state(channel)
            .map(OptimisticState::optimistic)
    }

    /// Returns the confirmed state of a subscribed channel, without pending actions of this
    /// client.
    pub fn confirmed_state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.optimistic_state(channel)
            .map(OptimisticState::confirmed)
    }

    fn optimistic_state(&self, channel: &Uri) -> Option<&OptimisticState> {
        Some(&self.mirror.get(channel)?.optimistic)
    }

    /// Replaces the confirmed state of a channel by a snapshot, or adds the channel to the
    /// mirror.
    pub(crate) fn install_snapshot(&mut self, snapshot: Snapshot) {
        let Snapshot {
            resource,
            state,
            from_seq: cursor,
        } = snapshot;
        self.last_seen_seq = self.last_seen_seq.max(cursor);
        match self.mirror.get_mut(&resource) {
            // After a repeated subscription, the pending actions are still in flight.
            Some(followed) => {
                followed.optimistic.replace_confirmed(state);
                followed.cursor = cursor;
            }
            None => {
                let ahead = OptimisticState::new(state);
                self.mirror.insert(
                    resource,
                    MirroredChannel {
                        optimistic: ahead,
                        cursor,
                    },
                );
            }
        }
    }

    /// Applies an action or a rejection of the host to the mirror.
    pub(crate) fn apply_envelope(&mut self, envelope: ReceivedEnvelope) -> ClientUpdate {
        self.last_seen_seq = self.last_seen_seq.max(envelope.server_seq);
        let own = envelope.origin.as_ref();
        let own = own.filter(|origin| origin.client_id == self.options.client_id);
        let own = own.map(|origin| origin.client_seq);
        let followed = self.mirror.get_mut(&envelope.channel);
        let ahead = followed.map(|followed| {
            followed.cursor = followed.cursor.max(envelope.server_seq);
            &mut followed.optimistic
        });
        if let Some(reason) = envelope.rejection_reason {
            if let (Some(ahead), Some(seq)) = (ahead, own) {
                ahead.drop_rejected(seq);
            }
            return ClientUpdate::Rejected {
                origin: envelope.origin,
                reason,
            };
        }
        if let (ReceivedAction::Valid(action), Some(ahead)) = (&envelope.action, ahead) {
            let followed = match own {
                Some(seq) => ahead.apply_echo(seq, action),
                None => ahead.apply_foreign(action),
            };
            // The host is the authority. A mirror that cannot apply its action has diverged
            // and is dropped.
            if let Err(StateDiverged) = followed {
                self.mirror.remove(&envelope.channel);
            }
        }
        ClientUpdate::Action(Box::new(envelope))
    }
}
