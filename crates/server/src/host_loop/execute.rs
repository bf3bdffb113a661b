//! What comes of a step: the world hears of it.

use std::slice;
use std::sync::Arc;

use agenthost_core::customization::driver::CustomizationCommand;
use agenthost_core::tools::mcp::driver::McpCommand;
use agenthost_core::{
    AccessToken, AppVisibility, ConnectionId, Effect, Input, Principal, Recipient, RecoveryOutcome,
    ResponseBody, TokenKey, strip_apps_from_action,
};
use agenthost_protocol::action::{ActionEnvelope, Rejection};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::{HostNotification, HostRequest, RequestId, RpcError, encode};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_store::StoreError;
use axum::extract::ws::Utf8Bytes;

use super::HostLoop;
use crate::delivery::encode::{
    EncodedText, LoadedRecovery, ReconnectOutcome, ReconnectOutcomes, to_text_message,
    to_utf8_bytes,
};
use crate::delivery::outbox::{CloseReason, OutgoingMessage};

impl HostLoop {
    /// Does one thing. What the host has to know at once comes back.
    pub(super) fn execute(&mut self, effect: Effect) -> Result<Vec<Input>, StoreError> {
        let Some(effect) = self.workers.change_worker.hold_effect(effect) else {
            return Ok(Vec::new());
        };
        match effect {
            Effect::Respond {
                connection,
                id,
                result: answer,
            } if self.legacy.contains(connection) => self.respond_legacy(connection, id, answer),
            effect => Ok(self.route_effect(effect)?.into_iter().collect()),
        }
    }

    fn route_effect(&mut self, effect: Effect) -> Result<Option<Input>, StoreError> {
        match effect {
            Effect::Respond {
                connection,
                id,
                result,
            } => self.respond(connection, id, result)?,
            Effect::Publish { envelope, to } => self.publish(&envelope, &to)?,
            Effect::PublishLegacy {
                envelope,
                before,
                view,
                to,
            } => self.publish_legacy(&envelope, before.as_ref(), &view, &to)?,
            Effect::PublishToOne {
                connection,
                envelope,
            } => self.publish_to_one(connection, &envelope)?,
            Effect::RejectAction {
                connection,
                rejection,
            } => self.send_rejection(connection, &rejection)?,
            Effect::Notify { notification, to } => self.notify(&notification, to)?,
            Effect::ForwardMcpNotification { method, params, to } => {
                self.send_text(to_utf8_bytes(encode::notification(&method, &params))?, to)?;
            }
            Effect::SendRequest {
                connection,
                id,
                request,
            } => self.send_request(connection, &id, &request)?,
            Effect::CloseConnection { connection } => {
                let close = OutgoingMessage::Close(CloseReason::Done);
                self.publisher.send(connection, close)?;
            }
            Effect::ReportDiscarded {
                channel,
                action,
                reason,
            } => tracing::warn!(%channel, action, reason, "an action was discarded"),
            Effect::Agent {
                session,
                provider,
                command,
            } => return Ok(self.agents.send_command(&session, &provider, *command)),
            Effect::StoreToken { key, token } => self.store_token(key, token),
            Effect::SetTokenPrincipals {
                session,
                principals,
            } => self.set_token_principals(session, principals),
            Effect::Customization(command) => return Ok(self.run_customization_command(*command)),
            Effect::Mcp(command) => return Ok(self.run_mcp_command(*command)),
            Effect::Terminal {
                chat_key,
                terminal,
                command,
            } => {
                let session = chat_key.as_ref().map(|chat_key| &chat_key.session);
                let workers = &mut self.workers;
                return Ok(workers.run_terminal_command(session, terminal, *command));
            }
            Effect::TrackChanges(job) => self.workers.change_worker.submit(*job),
            Effect::TrustCode { keys } => {
                self.workers.change_worker.tracker().set_trusted_keys(keys)
            }
            Effect::StoreContent(text) => self.workers.store_content(&text),
            Effect::ShareContent { from, to } => self.workers.share_content(&from, &to),
            Effect::DeleteContent { session } => self.workers.delete_content(&session),
            Effect::Watch(request) => self.workers.start_watch(request),
            Effect::Unwatch { channel } => self.workers.stop_watch(&channel),
            Effect::AccessFiles(job) => return Ok(self.workers.run_file_job(job)),
            Effect::SearchFiles(search) => return Ok(self.workers.search_files(search)),
            Effect::Schedule { delay, input } => self.workers.schedule(delay, *input),
        }
        Ok(None)
    }

    fn respond(
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
                to_text_message(crate::delivery::encode::encode_replay(
                    &id, envelopes, &missing,
                ))?
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

    fn publish(
        &mut self,
        envelope: &Arc<ActionEnvelope>,
        to: &[Recipient],
    ) -> Result<(), StoreError> {
        let text = self.action_text(envelope)?;
        Ok(self.publisher.publish(envelope, to, &text)?)
    }

    fn publish_to_one(
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

    fn send_rejection(
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

    fn send_request(
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

    fn notify(
        &mut self,
        notification: &HostNotification,
        mut to: Vec<ConnectionId>,
    ) -> Result<(), StoreError> {
        self.notify_legacy(notification, &mut to)?;
        let encoded = encode::notification(notification.method(), notification);
        self.send_text(to_utf8_bytes(encoded)?, to)
    }

    /// Sends several connections the same message.
    fn send_text(&mut self, text: Utf8Bytes, to: Vec<ConnectionId>) -> Result<(), StoreError> {
        for connection in to {
            self.publisher
                .send(connection, OutgoingMessage::Text(text.clone()))?;
        }
        Ok(())
    }

    fn run_customization_command(&mut self, command: CustomizationCommand) -> Option<Input> {
        let worker = self.customizations.as_mut()?;
        worker.run(command)
    }

    fn run_mcp_command(&mut self, command: McpCommand) -> Option<Input> {
        let worker = self.customizations.as_mut()?;
        worker.run_mcp(command)
    }

    fn store_token(&mut self, key: TokenKey, token: Option<AccessToken>) {
        if let Some(worker) = &self.customizations {
            worker.store_token(key.clone(), token.clone());
        }
        self.agents.store_token(key, token);
    }

    fn set_token_principals(&mut self, session: Uri, principals: Vec<Principal>) {
        if let Some(worker) = &self.customizations {
            worker.set_token_principals(&session, principals.clone());
        }
        self.agents.set_token_principals(session, principals);
    }

    /// Reads what channels missed from the log.
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

    /// Sends one connection what is for nobody else.
    fn send_encoded(&mut self, to: ConnectionId, encoded: EncodedText) -> Result<(), StoreError> {
        Ok(self.publisher.send(to, to_text_message(encoded)?)?)
    }

    /// An action as the log has it. It is in the log, or it would not be here.
    pub(super) fn action_text(&self, envelope: &ActionEnvelope) -> Result<Utf8Bytes, StoreError> {
        let seq = envelope.server_seq;
        let logged = self.appended.iter().find_map(|batch| batch.envelope(seq));
        match logged {
            Some(text) => Ok(encode::raw_notification("action", text).into()),
            None => to_utf8_bytes(encode::notification("action", envelope)),
        }
    }
}

/// What of the log a client gets to see. Few actions have anything in them that
/// not all do, so few are read.
pub(super) fn filter_replay(
    mut envelopes: Vec<String>,
    visibility: AppVisibility,
) -> Result<Vec<String>, StoreError> {
    if visibility == AppVisibility::Hidden {
        let of_servers = |text: &&mut String| text.contains("\"mcp");
        for text in envelopes.iter_mut().filter(of_servers) {
            // What can't be read is shown to nobody before it gets here.
            if let Ok(envelope) = wire::from_str::<ActionEnvelope>(text)
                && let Some(plain) = strip_apps_from_action(&envelope)
            {
                *text = serde_json::to_string(&plain)?;
            }
        }
    }
    Ok(envelopes)
}
