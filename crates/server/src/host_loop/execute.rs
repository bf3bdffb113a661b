//! What comes of a step: the world hears of it.

use std::slice;

use agenthost_core::{
    AppVisibility, ConnectionId, Effect, Input, RecoveryOutcome, ResponseBody,
    strip_apps_from_action,
};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::encode;
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
                result: answer,
            } => {
                let outgoing = match answer {
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
                self.publisher.send(connection, outgoing)?;
            }
            Effect::Publish { envelope, to } => {
                let text = self.action_text(&envelope)?;
                self.publisher.publish(&envelope, &to, &text)?;
            }
            Effect::PublishLegacy {
                envelope,
                before,
                view: scene,
                to,
            } => self.publish_legacy(&envelope, before.as_ref(), *scene, &to)?,
            Effect::Notify {
                notification,
                mut to,
            } => {
                self.notify_legacy(&notification, &mut to)?;
                let encoded = encode::notification(notification.method(), &*notification);
                let text = to_utf8_bytes(encoded)?;
                for connection in to {
                    self.publisher
                        .send(connection, OutgoingMessage::Text(text.clone()))?;
                }
            }
            Effect::PublishToOne {
                connection,
                envelope,
            } if self.legacy.contains(connection) => {
                let scene = self.host.state_view([&envelope.channel]);
                let before = self.host.state(&envelope.channel).cloned();
                self.publish_legacy(&envelope, before.as_ref(), scene, &[connection])?;
            }
            Effect::RejectAction {
                connection,
                rejection,
            } if self.legacy.contains(connection) => {
                let words = self
                    .legacy
                    .downgrade_rejection(&self.host, connection, &rejection);
                self.send_legacy(connection, words)?;
            }
            Effect::SendRequest {
                connection,
                id,
                request,
            } if self.legacy.contains(connection) => {
                let words = self
                    .legacy
                    .downgrade_request(&self.host, connection, &id, &request);
                self.send_legacy(connection, words)?;
            }
            Effect::PublishToOne {
                connection,
                envelope,
            } => self.send_encoded(connection, encode::notification("action", &*envelope))?,
            Effect::RejectAction {
                connection,
                rejection,
            } => self.send_encoded(connection, encode::notification("action", &*rejection))?,
            Effect::SendRequest {
                connection,
                id,
                request,
            } => self.send_encoded(
                connection,
                encode::request(&id, request.method(), &*request),
            )?,
            Effect::CloseConnection { connection } => {
                self.publisher
                    .send(connection, OutgoingMessage::Close(CloseReason::Done))?;
            }
            Effect::Agent {
                session,
                provider,
                command,
            } => return Ok(self.agents.send_command(&session, &provider, *command)),
            Effect::StoreToken { key: place, token } => {
                if let Some(customizing) = &self.customizations {
                    customizing.store_token(place.clone(), token.clone());
                }
                self.agents.store_token(place, token);
            }
            Effect::SetTokenPrincipals {
                session,
                principals,
            } => {
                if let Some(customizing) = &self.customizations {
                    customizing.set_token_principals(&session, principals.clone());
                }
                self.agents.set_token_principals(session, principals);
            }
            Effect::ReportDiscarded {
                channel,
                action,
                reason,
            } => {
                tracing::warn!(%channel, action, reason, "an action was discarded");
            }
            Effect::Terminal {
                chat_key: place,
                terminal,
                command,
            } => {
                let session = place.as_ref().map(|place| &place.session);
                return Ok(self
                    .workers
                    .run_terminal_command(session, terminal, *command));
            }
            Effect::TrackChanges(errand) => self.workers.change_worker.submit(*errand),
            Effect::TrustCode { keys } => {
                self.workers.change_worker.tracker().set_trusted_keys(keys)
            }
            Effect::StoreContent(kept) => self.workers.store_content(&kept),
            Effect::ShareContent { from, to } => self.workers.share_content(&from, &to),
            Effect::DeleteContent { session } => self.workers.delete_content(&session),
            Effect::Watch(errand) => self.workers.start_watch(errand),
            Effect::Unwatch { channel } => self.workers.stop_watch(&channel),
            Effect::AccessFiles(errand) => return Ok(self.workers.run_file_job(errand)),
            Effect::Customization(errand) => {
                let customizing = self.customizations.as_ref();
                return Ok(customizing.and_then(|one| one.run_command(*errand)));
            }
            Effect::Mcp(errand) => {
                let customizing = self.customizations.as_ref();
                return Ok(customizing.and_then(|one| one.run_mcp_command(*errand)));
            }
            Effect::ForwardMcpNotification { method, params, to } => {
                let text = to_utf8_bytes(encode::notification(&method, &params))?;
                for connection in to {
                    self.publisher
                        .send(connection, OutgoingMessage::Text(text.clone()))?;
                }
            }
            Effect::SearchFiles(search) => return Ok(self.workers.search_files(search)),
            Effect::Schedule {
                delay: after,
                input,
            } => self.workers.schedule(after, *input),
        }
        Ok(None)
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
