//! How much of the log one answer holds.

use std::slice;

use agenthost_core::{Input, Received};
use agenthost_protocol::connection::{ChannelReplayCursor, ReconnectRequest};
use agenthost_protocol::rpc::ClientRequest;
use agenthost_store::StoreError;

use super::Driver;

/// Most bytes of a replay. A client that missed more gets snapshots.
const REPLAY: u64 = 8 * 1024 * 1024;

impl Driver {
    /// A replay is one message, so what it holds is bounded.
    pub(super) fn bound_replay(&mut self, input: Input) -> Result<Input, StoreError> {
        let Input::Received {
            connection,
            message: Received::Request(id, request),
        } = input
        else {
            return Ok(input);
        };
        let message = match *request {
            ClientRequest::Reconnect(ReconnectRequest::Connection(params))
                if self
                    .store
                    .replay_bytes(params.last_seen_server_seq, &params.subscriptions)?
                    > REPLAY =>
            {
                Received::TooMuchMissed(id, Box::new(params))
            }
            ClientRequest::Reconnect(ReconnectRequest::Connection(params))
                if self.older.has(connection) =>
            {
                match self.past(&params)? {
                    Some(past) => {
                        self.older.recall_past(connection, &id, past);
                        let request = ReconnectRequest::Connection(params);
                        Received::Request(id, Box::new(ClientRequest::Reconnect(request)))
                    }
                    None => Received::TooMuchMissed(id, Box::new(params)),
                }
            }
            ClientRequest::Reconnect(ReconnectRequest::Channels(mut params)) => {
                self.bound_replays(&mut params.subscriptions)?;
                let request = ReconnectRequest::Channels(params);
                Received::Request(id, Box::new(ClientRequest::Reconnect(request)))
            }
            request => Received::Request(id, Box::new(request)),
        };
        Ok(Input::Received {
            connection,
            message,
        })
    }

    /// Bounds the replays of an answer together. A channel that missed more than
    /// there is room for is treated as one without a baseline.
    fn bound_replays(&self, cursors: &mut [ChannelReplayCursor]) -> Result<(), StoreError> {
        let mut room = REPLAY;
        for cursor in cursors {
            if cursor.last_seen_server_seq == ChannelReplayCursor::NO_BASELINE {
                continue;
            }
            let channel = slice::from_ref(&cursor.channel);
            let bytes = self
                .store
                .replay_bytes(cursor.last_seen_server_seq, channel)?;
            match room.checked_sub(bytes) {
                Some(rest) => room = rest,
                None => cursor.last_seen_server_seq = ChannelReplayCursor::NO_BASELINE,
            }
        }
        Ok(())
    }
}
