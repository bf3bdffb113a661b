//! How much of the log one answer holds.

use std::slice;

use agenthost_core::{ClientMessage, Input};
use agenthost_protocol::connection::{ChannelReplayCursor, ReconnectRequest};
use agenthost_protocol::rpc::ClientRequest;
use agenthost_store::StoreError;

use super::HostLoop;

/// Most bytes of a replay. A client that missed more gets snapshots.
const MAX_REPLAY_BYTES: u64 = 8 * 1024 * 1024;

impl HostLoop {
    /// A replay is one message, so what it holds is bounded.
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

    /// Bounds the replays of an answer together. A channel that missed more than
    /// there is room for is treated as one without a baseline.
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
}
