//! What connections say whose version is not the host's, or not known yet.

use agenthost_core::{ConnectionId, Effects, Extent, Input};
use agenthost_protocol::connection::ReconnectParams;
use agenthost_protocol::wire::Json;
use agenthost_store::StoreError;

use super::Driver;
use crate::connection::decode;
use crate::older::{self, Heard, Past};

impl Driver {
    /// Takes in a message as it came.
    pub(super) fn hear(
        &mut self,
        connection: ConnectionId,
        text: &str,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let limits = self.limits;
        let message = match self.older.hear(&self.host, connection, text, limits) {
            Heard::Plain => return self.hear_plain(connection, text, out),
            Heard::Corrected(text) => return self.hear_plain(connection, &text, out),
            Heard::Older(message) => message,
        };
        // Steps look at what the message is about. An action is about the end
        // of a chat, all else may be about any of it.
        let acts = message.get("method").and_then(Json::as_str) == Some("dispatchAction");
        let extent = if acts { Extent::Tail } else { Extent::Whole };
        let named = older::named(&self.host, &message);
        let needs = self.host.needs_of(named, extent);
        if !needs.is_empty() {
            let writes = std::mem::take(&mut out.writes);
            self.keep(&writes)?;
        }
        for need in needs {
            self.restore(need, out)?;
        }
        for input in self
            .older
            .understand(&self.host, connection, message, limits)
        {
            self.step(input, out)?;
        }
        Ok(())
    }

    /// Where the channels of a client that comes back were when it left, with
    /// what they belong to; `None` if that is not known any more.
    pub(super) fn past(
        &mut self,
        params: &ReconnectParams,
    ) -> Result<Option<Vec<Past>>, StoreError> {
        let seen = params.last_seen_server_seq;
        let mut wanted: Vec<_> = params.subscriptions.clone();
        let owners = params.subscriptions.iter();
        wanted.extend(owners.filter_map(|channel| self.host.session_of(channel).cloned()));
        let mut past: Vec<Past> = Vec::new();
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

    fn hear_plain(
        &mut self,
        connection: ConnectionId,
        text: &str,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        if let Some(message) = decode(text, self.limits) {
            let received = Input::Received {
                connection,
                message,
            };
            self.step(received, out)?;
        }
        self.older.settle(&self.host, connection);
        Ok(())
    }
}
