//! The mirror: the channels that a client follows.

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;

use crate::client::{Client, ClientUpdate};
use crate::optimistic::{OptimisticState, StateDiverged};

/// A channel that is followed.
#[derive(Debug)]
pub(crate) struct MirroredChannel {
    pub(crate) optimistic: OptimisticState,
    /// The last sequence number on this channel, or that of its snapshot.
    pub(crate) cursor: ServerSeq,
}

impl Client {
    /// How many actions of ours the host has not spoken of.
    pub fn unconfirmed_count(&self) -> usize {
        self.mirror
            .values()
            .map(|followed| followed.optimistic.pending().len())
            .sum()
    }

    /// The state of a channel that is followed, with what we did ahead of the
    /// host.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.optimistic_state(channel)
            .map(OptimisticState::optimistic)
    }

    /// The state of a channel that is followed, as far as the host has said.
    pub fn confirmed_state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.optimistic_state(channel)
            .map(OptimisticState::confirmed)
    }

    fn optimistic_state(&self, channel: &Uri) -> Option<&OptimisticState> {
        Some(&self.mirror.get(channel)?.optimistic)
    }

    /// Follows a channel from a snapshot on.
    pub(crate) fn install_snapshot(&mut self, snapshot: Snapshot) {
        let Snapshot {
            resource,
            state,
            from_seq: cursor,
        } = snapshot;
        self.last_seen_seq = self.last_seen_seq.max(cursor);
        match self.mirror.get_mut(&resource) {
            // Subscribed again: what is open is still on its way.
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

    /// Takes note of an action.
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
            // The host is the authority; what it did here, the mirror can't
            // follow.
            if let Err(StateDiverged) = followed {
                self.mirror.remove(&envelope.channel);
            }
        }
        ClientUpdate::Action(Box::new(envelope))
    }
}
