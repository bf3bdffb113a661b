//! The mirror: the channels that a client follows.

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;

use crate::ahead::{Ahead, Astray};
use crate::client::{Client, Update};

/// A channel that is followed.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) ahead: Ahead,
    /// The last sequence number on this channel, or that of its snapshot.
    pub(crate) cursor: ServerSeq,
}

impl Client {
    /// How many actions of ours the host has not spoken of.
    pub fn unsent(&self) -> usize {
        self.mirror
            .values()
            .map(|followed| followed.ahead.pending().len())
            .sum()
    }

    /// The state of a channel that is followed, with what we did ahead of the
    /// host.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.ahead(channel).map(Ahead::optimistic)
    }

    /// The state of a channel that is followed, as far as the host has said.
    pub fn confirmed(&self, channel: &Uri) -> Option<&ChannelState> {
        self.ahead(channel).map(Ahead::confirmed)
    }

    fn ahead(&self, channel: &Uri) -> Option<&Ahead> {
        Some(&self.mirror.get(channel)?.ahead)
    }

    /// Follows a channel from a snapshot on.
    pub(crate) fn start(&mut self, snapshot: Snapshot) {
        let Snapshot {
            resource,
            state,
            from_seq: cursor,
        } = snapshot;
        self.seen = self.seen.max(cursor);
        match self.mirror.get_mut(&resource) {
            // Subscribed again: what is open is still on its way.
            Some(followed) => {
                followed.ahead.refresh(state);
                followed.cursor = cursor;
            }
            None => {
                let ahead = Ahead::new(state);
                self.mirror.insert(resource, Followed { ahead, cursor });
            }
        }
    }

    /// Takes note of an action.
    pub(crate) fn follow(&mut self, envelope: ReceivedEnvelope) -> Update {
        self.seen = self.seen.max(envelope.server_seq);
        let own = envelope.origin.as_ref();
        let own = own.filter(|origin| origin.client_id == self.hello.client_id);
        let own = own.map(|origin| origin.client_seq);
        let followed = self.mirror.get_mut(&envelope.channel);
        let ahead = followed.map(|followed| {
            followed.cursor = followed.cursor.max(envelope.server_seq);
            &mut followed.ahead
        });
        if let Some(reason) = envelope.rejection_reason {
            if let (Some(ahead), Some(seq)) = (ahead, own) {
                ahead.refused(seq);
            }
            return Update::Rejected {
                origin: envelope.origin,
                reason,
            };
        }
        if let (ReceivedAction::Valid(action), Some(ahead)) = (&envelope.action, ahead) {
            let followed = match own {
                Some(seq) => ahead.echo(seq, action),
                None => ahead.foreign(action),
            };
            // The host is the authority; what it did here, the mirror can't
            // follow.
            if let Err(Astray) = followed {
                self.mirror.remove(&envelope.channel);
            }
        }
        Update::Action(Box::new(envelope))
    }
}
