//! Downgrades replays for legacy clients that reconnect.
//!
//! The downgrade of an action can depend on the channel state when it happened. So the channels
//! are reset to their states when the client disconnected, and the missed actions are reduced
//! again.

use agenthost_core::{ConnectionId, Host};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_versions::{JsonEnvelope, TranslationContext, TranslationError};

use super::LegacyClients;

/// A channel, the session that it belongs to, and a past state of the channel.
pub(crate) type PastState = (Uri, Option<Uri>, ChannelState);

impl LegacyClients {
    /// Stores the past channel states for the response to a `reconnect`.
    pub(crate) fn set_past_states(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        past: Vec<PastState>,
    ) {
        let peer = self.clients.get_mut(&connection);
        if let Some(open) = peer.and_then(|peer| peer.open_requests.get_or_default(id)) {
            open.past_states = past;
        }
    }

    /// Downgrades the missed actions of a client, given as the log has them.
    pub(crate) fn downgrade_replay(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        id: &RequestId,
        missed: &[String],
    ) -> Result<Vec<JsonEnvelope>, TranslationError> {
        let Some(peer) = self.clients.get_mut(&connection) else {
            return Ok(Vec::new());
        };
        let past = match peer.open_requests.get_mut(id) {
            Some(open) => std::mem::take(&mut open.past_states),
            None => Vec::new(),
        };
        let mut view = host.state_view(past.iter().map(|(channel, ..)| channel));
        view.channels = past;
        let mut all = Vec::new();
        for text in missed {
            let envelope: ActionEnvelope = wire::from_str(text)
                .map_err(|error| TranslationError::from(to_json_error(&error)))?;
            let before = reduce_again(&mut view, &envelope)?;
            let at = TranslationContext {
                client: &peer.target,
                states: &view,
                state_before: before.as_ref(),
            };
            all.extend(peer.chain.downgrade_action(&at, &envelope)?);
        }
        if peer.release() == Release::V0_4 {
            let follows =
                |channel: &String| peer.subscriptions.contains(&Uri::from(channel.as_str()));
            all.retain(|envelope| envelope.channel.as_ref().is_none_or(follows));
        }
        Ok(all)
    }
}

/// Reduces an action again. Returns the state before it, or `None` if its channel is not in the
/// view.
fn reduce_again(
    view: &mut StateView,
    envelope: &ActionEnvelope,
) -> Result<Option<ChannelState>, TranslationError> {
    let mut channels = view.channels.iter_mut();
    let Some((_, _, state)) = channels.find(|(channel, ..)| *channel == envelope.channel) else {
        return Ok(None);
    };
    let before = state.clone();
    match state.reduce(&envelope.action) {
        Outcome::Applied | Outcome::NoOp => Ok(Some(before)),
        outcome @ (Outcome::WrongChannel | Outcome::Invalid(_)) => Err(TranslationError::from(
            to_json_error(&format!("{outcome:?}")),
        )),
    }
}

fn to_json_error(error: &impl std::fmt::Display) -> serde_json::Error {
    serde::de::Error::custom(error)
}
