//! Receives messages of connections with a legacy or a still unknown protocol version.

use agenthost_core::{ConnectionId, Effects, Input, LoadExtent};
use agenthost_protocol::wire::Json;
use agenthost_store::StoreError;

use super::HostLoop;
use crate::connection::message::decode_message;
use crate::legacy;
use crate::legacy::InboundKind;

impl HostLoop {
    /// Handles an undecoded message: upgrades it if the client is a legacy one, and passes it
    /// to the host.
    pub(super) async fn receive_raw(
        &mut self,
        connection: ConnectionId,
        text: &str,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let limits = self.message_limits;
        // `reconnect` does not contain the version of the client, its record does.
        if self.host.client_at(connection).is_none()
            && let Some(client) = legacy::reconnecting_client(text, limits)
            && !self.host.is_client_present(&client)
        {
            self.persist(out).await?;
            self.load_client_record(client, out)?;
        }
        let message = match self.legacy.classify(&self.host, connection, text, limits) {
            InboundKind::Current => return self.receive_current(connection, text, out).await,
            InboundKind::Repaired(text) => {
                return self.receive_current(connection, &text, out).await;
            }
            InboundKind::Legacy(message) => message,
        };
        // The version steps read the channels that the message names. An action concerns the
        // end of a chat; any other message may concern all of it.
        let is_dispatch = message.get("method").and_then(Json::as_str) == Some("dispatchAction");
        let extent = if is_dispatch {
            LoadExtent::Tail
        } else {
            LoadExtent::Whole
        };
        let named_channels = legacy::named_channels(&self.host, &message);
        let needs = self.host.missing_among(named_channels, extent);
        if !needs.is_empty() {
            self.persist(out).await?;
        }
        for need in needs {
            self.load_channel(need, out)?;
        }
        for input in self
            .legacy
            .upgrade_message(&self.host, connection, message, limits)
        {
            self.step_host(input, out).await?;
        }
        Ok(())
    }

    async fn receive_current(
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
            self.step_host(received, out).await?;
        }
        self.legacy.confirm_current(&self.host, connection);
        Ok(())
    }
}
