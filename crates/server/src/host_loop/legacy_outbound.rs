//! Sends responses, actions and notifications to legacy clients.

use agenthost_core::{ConnectionId, Input, ResponseBody};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::rpc::{HostNotification, RequestId, RpcError};
use agenthost_protocol::state_view::StateView;
use agenthost_store::StoreError;

use super::HostLoop;
use crate::delivery::outbox::{CloseReason, OutgoingMessage};
use crate::legacy::{ActionContext, DowngradeCache, DowngradeError, LegacyMessages};

impl HostLoop {
    pub(super) fn respond_legacy(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<ResponseBody, RpcError>,
    ) -> Result<Vec<Input>, StoreError> {
        let answer = match answer {
            Ok(ResponseBody::Recoveries {
                channels,
                until,
                apps: seen,
            }) => {
                let channels = self.load_recoveries(channels, until, seen)?;
                let recoveries = self.legacy.reconnect_outcomes(connection, &id, channels);
                let outgoing = OutgoingMessage::Recoveries(id, recoveries);
                self.publisher.send(connection, outgoing)?;
                return Ok(Vec::new());
            }
            answer => answer,
        };
        let replayed = match &answer {
            Ok(ResponseBody::Replay {
                after,
                until,
                channels,
                apps: seen,
                ..
            }) => {
                let missed = self.store.replay(*after, *until, channels)?;
                let missed = super::replay::filter_replay(missed, *seen)?;
                self.legacy
                    .downgrade_replay(&self.host, connection, &id, &missed)
            }
            _ => Ok(Vec::new()),
        };
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(error) => {
                self.send_legacy(connection, Err(error.into()))?;
                return Ok(Vec::new());
            }
        };
        match self.legacy.take_response(connection, id, answer, replayed) {
            Some((answer, inputs)) => {
                let outgoing = OutgoingMessage::LegacyResponse(Box::new(answer));
                self.publisher.send(connection, outgoing)?;
                Ok(inputs)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Publishes an action to legacy clients. Messages that are equal for several clients are
    /// encoded once.
    pub(super) fn publish_legacy(
        &mut self,
        envelope: &ActionEnvelope,
        before: Option<&ChannelState>,
        view: &StateView,
        to: &[ConnectionId],
    ) -> Result<(), StoreError> {
        let current = match before {
            Some(_) => None,
            None => Some(self.action_text(envelope)?),
        };
        let context = ActionContext {
            envelope,
            before,
            state_view: view,
            current_text: current.as_ref(),
        };
        let mut cache = DowngradeCache::default();
        for connection in to {
            let messages = self
                .legacy
                .downgrade_action(*connection, &context, &mut cache);
            self.send_legacy(*connection, messages)?;
        }
        Ok(())
    }

    /// Sends a notification to the legacy clients in `to` and removes them from it.
    pub(super) fn notify_legacy(
        &mut self,
        notification: &HostNotification,
        to: &mut Vec<ConnectionId>,
    ) -> Result<(), StoreError> {
        let legacy: Vec<_> = to
            .extract_if(.., |one| self.legacy.contains(*one))
            .collect();
        let mut cache = DowngradeCache::default();
        for connection in legacy {
            let messages = self.legacy.downgrade_notification(
                &self.host,
                connection,
                notification,
                &mut cache,
            );
            self.send_legacy(connection, messages)?;
        }
        Ok(())
    }

    /// Sends downgraded messages. If the downgrade failed, the client would miss a message, so
    /// its connection is closed: it has to reconnect and start from snapshots.
    pub(super) fn send_legacy(
        &mut self,
        connection: ConnectionId,
        messages: Result<LegacyMessages, DowngradeError>,
    ) -> Result<(), StoreError> {
        match messages {
            Ok(messages) => {
                for text in messages.texts() {
                    let text = OutgoingMessage::Text(text.clone());
                    self.publisher.send(connection, text)?;
                }
            }
            Err(error) => {
                tracing::error!(connection = connection.0, %error, "failed to downgrade a message, closing the connection");
                let close = OutgoingMessage::Close(CloseReason::Done);
                self.publisher.send(connection, close)?;
            }
        }
        Ok(())
    }
}
