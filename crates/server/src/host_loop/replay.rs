//! Replays of the log for clients that reconnect, with a size limit.

use std::slice;

use agenthost_core::{
    AppVisibility, ClientMessage, Input, RecoveryOutcome, strip_apps_from_action,
};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::connection::{ChannelReplayCursor, ReconnectParams, ReconnectRequest};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::ClientRequest;
use agenthost_protocol::wire;
use agenthost_store::StoreError;

use super::HostLoop;
use crate::delivery::encode::{LoadedRecovery, ReconnectOutcome};
use crate::legacy::PastState;

/// Limit on the bytes of a replay, which is a single message. A client that missed more gets
/// snapshots.
const MAX_REPLAY_BYTES: u64 = 8 * 1024 * 1024;

impl HostLoop {
    /// Replaces a `reconnect` whose replay would be too large, so that the host responds with
    /// snapshots. For a legacy client it also loads the past states that the downgrade of the
    /// replay needs.
    pub(super) fn limit_replay(&mut self, input: Input) -> Result<Input, StoreError> {
        let Input::Received {
            connection,
            message: ClientMessage::Request(id, request),
        } = input
        else {
            return Ok(input);
        };
        let ClientRequest::Reconnect(request) = *request else {
            let message = ClientMessage::Request(id, request);
            return Ok(Input::Received {
                connection,
                message,
            });
        };
        let message = match request {
            ReconnectRequest::Connection(params)
                if self
                    .store
                    .replay_bytes(params.last_seen_server_seq, &params.subscriptions)?
                    > MAX_REPLAY_BYTES =>
            {
                ClientMessage::ReplayTooLarge(id, Box::new(params))
            }
            ReconnectRequest::Connection(params) if self.legacy.contains(connection) => {
                match self.load_past_states(&params)? {
                    Some(past) => {
                        self.legacy.set_past_states(connection, &id, past);
                        let request = ReconnectRequest::Connection(params);
                        ClientMessage::Request(id, Box::new(ClientRequest::Reconnect(request)))
                    }
                    None => ClientMessage::ReplayTooLarge(id, Box::new(params)),
                }
            }
            ReconnectRequest::Channels(mut params) => {
                self.limit_channel_replays(&mut params.subscriptions)?;
                let request = ReconnectRequest::Channels(params);
                ClientMessage::Request(id, Box::new(ClientRequest::Reconnect(request)))
            }
            ReconnectRequest::Connection(_) => {
                ClientMessage::Request(id, Box::new(ClientRequest::Reconnect(request)))
            }
        };
        Ok(Input::Received {
            connection,
            message,
        })
    }

    /// Limits the replays of a response together. A channel that exceeds the remaining budget
    /// is treated as one without a baseline, so the client gets its snapshot.
    fn limit_channel_replays(&self, cursors: &mut [ChannelReplayCursor]) -> Result<(), StoreError> {
        let mut budget = MAX_REPLAY_BYTES;
        for cursor in cursors {
            if cursor.last_seen_server_seq == ChannelReplayCursor::NO_BASELINE {
                continue;
            }
            let channel = slice::from_ref(&cursor.channel);
            let bytes = self
                .store
                .replay_bytes(cursor.last_seen_server_seq, channel)?;
            match budget.checked_sub(bytes) {
                Some(rest) => budget = rest,
                None => cursor.last_seen_server_seq = ChannelReplayCursor::NO_BASELINE,
            }
        }
        Ok(())
    }

    /// Loads the states that the channels of a legacy client had when it disconnected, and
    /// those of their sessions. Returns `None` if the log does not reach back that far.
    fn load_past_states(
        &mut self,
        params: &ReconnectParams,
    ) -> Result<Option<Vec<PastState>>, StoreError> {
        let seen = params.last_seen_server_seq;
        let mut wanted: Vec<_> = params.subscriptions.clone();
        let owners = params.subscriptions.iter();
        wanted.extend(owners.filter_map(|channel| self.host.session_of(channel).cloned()));
        let mut past: Vec<PastState> = Vec::new();
        for (index, channel) in wanted.into_iter().enumerate() {
            let known = past.iter().any(|(known, ..)| *known == channel);
            if known || !self.host.has_channel(&channel) {
                continue;
            }
            match self.store.load_at(&channel, seen)? {
                Some(loaded) => {
                    let session = self.host.session_of(&channel).cloned();
                    past.push((channel, session, loaded.state));
                }
                None if index < params.subscriptions.len() => return Ok(None),
                None => {}
            }
        }
        Ok(Some(past))
    }

    /// Reads from the log the actions that a client missed on each of its channels.
    pub(super) fn load_recoveries(
        &self,
        channels: Vec<RecoveryOutcome>,
        until: ServerSeq,
        seen: AppVisibility,
    ) -> Result<Vec<ReconnectOutcome>, StoreError> {
        let one = |recovery| {
            let (channel, outcome) = match recovery {
                RecoveryOutcome::Replay { channel, after } => {
                    let envelopes = self.store.replay(after, until, slice::from_ref(&channel))?;
                    let envelopes = filter_replay(envelopes, seen)?;
                    (channel, LoadedRecovery::Replay(envelopes))
                }
                RecoveryOutcome::Stateless(channel) => {
                    (channel, LoadedRecovery::Replay(Vec::new()))
                }
                RecoveryOutcome::Snapshot(snapshot) => {
                    let channel = snapshot.resource.clone();
                    (channel, LoadedRecovery::Snapshot(snapshot))
                }
                RecoveryOutcome::Missing(channel) => (channel, LoadedRecovery::Missing),
            };
            Ok(ReconnectOutcome { channel, outcome })
        };
        channels.into_iter().map(one).collect()
    }
}

/// Removes from a replay the fields that only clients with MCP Apps get. Few actions have such
/// fields, so few are decoded.
pub(super) fn filter_replay(
    mut envelopes: Vec<String>,
    visibility: AppVisibility,
) -> Result<Vec<String>, StoreError> {
    if visibility == AppVisibility::Hidden {
        let of_servers = |text: &&mut String| text.contains("\"mcp");
        for text in envelopes.iter_mut().filter(of_servers) {
            // A text that does not decode stays as it is.
            if let Ok(envelope) = wire::from_str::<ActionEnvelope>(text)
                && let Some(plain) = strip_apps_from_action(&envelope)
            {
                *text = serde_json::to_string(&plain)?;
            }
        }
    }
    Ok(envelopes)
}
