//! Sends responses, actions, notifications and host requests to clients.

use std::sync::Arc;

use agenthost_core::{ConnectionId, Recipient, ResponseBody};
use agenthost_protocol::action::{ActionEnvelope, Rejection};
use agenthost_protocol::rpc::{HostNotification, HostRequest, RequestId, RpcError, encode};
use agenthost_store::StoreError;
use axum::extract::ws::Utf8Bytes;

use super::HostLoop;
use super::replay::filter_replay;
use crate::delivery::encode::{
    EncodedText, ReconnectOutcomes, encode_replay, to_text_message, to_utf8_bytes,
};
use crate::delivery::outbox::OutgoingMessage;

impl HostLoop {
    pub(super) fn respond(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        result: Result<ResponseBody, RpcError>,
    ) -> Result<(), StoreError> {
        let outgoing = match result {
            Err(error) => to_text_message(encode::failure(&id, &error))?,
            Ok(ResponseBody::Replay {
                after,
                until,
                channels,
                missing,
                apps: seen,
            }) => {
                let envelopes = self.store.replay(after, until, &channels)?;
                let envelopes = filter_replay(envelopes, seen)?;
                to_text_message(encode_replay(&id, envelopes, &missing))?
            }
            Ok(ResponseBody::Recoveries {
                channels,
                until,
                apps: seen,
            }) => {
                let channels = self.load_recoveries(channels, until, seen)?;
                let address_mapping = None;
                OutgoingMessage::Recoveries(
                    id,
                    ReconnectOutcomes {
                        channels,
                        address_mapping,
                    },
                )
            }
            Ok(answer) => OutgoingMessage::Response(id, Box::new(answer)),
        };
        Ok(self.publisher.send(connection, outgoing)?)
    }

    pub(super) fn publish(
        &mut self,
        envelope: &Arc<ActionEnvelope>,
        to: &[Recipient],
    ) -> Result<(), StoreError> {
        let text = self.action_text(envelope)?;
        Ok(self.publisher.publish(envelope, to, &text)?)
    }

    pub(super) fn publish_to_one(
        &mut self,
        connection: ConnectionId,
        envelope: &ActionEnvelope,
    ) -> Result<(), StoreError> {
        if self.legacy.contains(connection) {
            let view = self.host.state_view([&envelope.channel]);
            let before = self.host.state(&envelope.channel).cloned();
            return self.publish_legacy(envelope, before.as_ref(), &view, &[connection]);
        }
        self.send_encoded(connection, encode::notification("action", envelope))
    }

    pub(super) fn send_rejection(
        &mut self,
        connection: ConnectionId,
        rejection: &Rejection,
    ) -> Result<(), StoreError> {
        if self.legacy.contains(connection) {
            let message = self
                .legacy
                .downgrade_rejection(&self.host, connection, rejection);
            return self.send_legacy(connection, message);
        }
        self.send_encoded(connection, encode::notification("action", rejection))
    }

    pub(super) fn send_request(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        request: &HostRequest,
    ) -> Result<(), StoreError> {
        if self.legacy.contains(connection) {
            let message = self
                .legacy
                .downgrade_request(&self.host, connection, id, request);
            return self.send_legacy(connection, message);
        }
        self.send_encoded(connection, encode::request(id, request.method(), request))
    }

    pub(super) fn notify(
        &mut self,
        notification: &HostNotification,
        mut to: Vec<ConnectionId>,
    ) -> Result<(), StoreError> {
        self.notify_legacy(notification, &mut to)?;
        let encoded = encode::notification(notification.method(), notification);
        self.send_text(to_utf8_bytes(encoded)?, to)
    }

    /// Sends a message to several connections.
    pub(super) fn send_text(
        &mut self,
        text: Utf8Bytes,
        to: Vec<ConnectionId>,
    ) -> Result<(), StoreError> {
        for connection in to {
            self.publisher
                .send(connection, OutgoingMessage::Text(text.clone()))?;
        }
        Ok(())
    }

    /// Sends an encoded message to one connection.
    fn send_encoded(&mut self, to: ConnectionId, encoded: EncodedText) -> Result<(), StoreError> {
        Ok(self.publisher.send(to, to_text_message(encoded)?)?)
    }

    /// Returns the encoded notification of an action. Most actions are in the log already, so
    /// they are encoded only once.
    pub(super) fn action_text(&self, envelope: &ActionEnvelope) -> Result<Utf8Bytes, StoreError> {
        let seq = envelope.server_seq;
        let logged = self.appended.iter().find_map(|batch| batch.envelope(seq));
        match logged {
            Some(text) => Ok(encode::raw_notification("action", text).into()),
            None => to_utf8_bytes(encode::notification("action", envelope)),
        }
    }
}
