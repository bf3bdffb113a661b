//! What a client of an older version missed.
//!
//! An action may have to be told differently depending on what there was when
//! it happened. So the channels are put back to where they were when the
//! client left, and everything happens once more.

use agenthost_core::{ConnectionId, Host};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_versions::{Envelope, Lost, Moment, Scene};

use super::Older;
use super::world::scene;

/// A channel as it was, with the session it belongs to.
pub(crate) type Past = (Uri, Option<Uri>, ChannelState);

impl Older {
    /// Remembers where channels were for whoever comes back.
    pub(crate) fn recall_past(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        past: Vec<Past>,
    ) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.open.entry(id.clone()).or_default().past = past;
        }
    }

    /// What was missed, as the log has it, in the words of who missed it.
    pub(crate) fn replay(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        id: &RequestId,
        missed: &[String],
    ) -> Result<Vec<Envelope>, Lost> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Vec::new());
        };
        let past = match peer.open.get_mut(id) {
            Some(open) => std::mem::take(&mut open.past),
            None => Vec::new(),
        };
        let mut then = scene(host.scene(past.iter().map(|(channel, ..)| channel)));
        then.channels = past;
        let mut all = Vec::new();
        for text in missed {
            let envelope: ActionEnvelope =
                wire::from_str(text).map_err(|error| Lost::from(unreadable(&error)))?;
            let before = happen(&mut then, &envelope)?;
            let at = Moment {
                viewer: &peer.viewer,
                world: &then,
                before: before.as_ref(),
            };
            all.extend(peer.chain.action(&at, &envelope)?);
        }
        if peer.release() == Release::V0_4 {
            let follows = |channel: &String| peer.follows.contains(&Uri::from(channel.as_str()));
            all.retain(|envelope| envelope.channel.as_ref().is_none_or(follows));
        }
        Ok(all)
    }
}

/// Has an action happen again: the state before it.
fn happen(then: &mut Scene, envelope: &ActionEnvelope) -> Result<Option<ChannelState>, Lost> {
    let mut channels = then.channels.iter_mut();
    let Some((_, _, state)) = channels.find(|(channel, ..)| *channel == envelope.channel) else {
        return Ok(None);
    };
    let before = state.clone();
    match state.reduce(&envelope.action) {
        Outcome::Applied | Outcome::NoOp => Ok(Some(before)),
        outcome @ (Outcome::WrongChannel | Outcome::Invalid(_)) => {
            Err(Lost::from(unreadable(&format!("{outcome:?}"))))
        }
    }
}

fn unreadable(error: &impl std::fmt::Display) -> serde_json::Error {
    serde::de::Error::custom(error)
}
