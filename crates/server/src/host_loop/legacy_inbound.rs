//! What connections say whose version is not the host's, or not known yet.

use agenthost_core::{ConnectionId, Effects, Input, LoadExtent};
use agenthost_protocol::connection::ReconnectParams;
use agenthost_protocol::wire::Json;
use agenthost_store::StoreError;

use super::HostLoop;
use crate::connection::message::decode_message;
use crate::legacy;
use crate::legacy::{InboundKind, PastState};

impl HostLoop {
    /// Takes in a message as it came.
    pub(super) fn receive_raw(
        &mut self,
        connection: ConnectionId,
        text: &str,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let limits = self.message_limits;
        let message = match self.legacy.classify(&self.host, connection, text, limits) {
            InboundKind::Current => return self.receive_current(connection, text, out),
            InboundKind::Repaired(text) => return self.receive_current(connection, &text, out),
            InboundKind::Legacy(message) => message,
        };
        // Steps look at what the message is about. An action is about the end
        // of a chat, all else may be about any of it.
        let is_dispatch = message.get("method").and_then(Json::as_str) == Some("dispatchAction");
        let extent = if is_dispatch {
            LoadExtent::Tail
        } else {
            LoadExtent::Whole
        };
        let named_channels = legacy::named_channels(&self.host, &message);
        let needs = self.host.missing_among(named_channels, extent);
        if !needs.is_empty() {
            let writes = std::mem::take(&mut out.writes);
            self.persist(&writes)?;
        }
        for need in needs {
            self.load_channel(need, out)?;
        }
        for input in self
            .legacy
            .upgrade_message(&self.host, connection, message, limits)
        {
            self.step_host(input, out)?;
        }
        Ok(())
    }

    /// Where the channels of a client that comes back were when it left, with
    /// what they belong to; `None` if that is not known any more.
    pub(super) fn load_past_states(
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

    fn receive_current(
        &mut self,
        connection: ConnectionId,
        text: &str,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        if let Some(message) = decode_message(text, self.message_limits) {
            let received = Input::Received {
                connection,
                message,
            };
            self.step_host(received, out)?;
        }
        self.legacy.confirm_current(&self.host, connection);
        Ok(())
    }
}
