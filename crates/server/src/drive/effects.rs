//! What comes of a step: the world hears of it.

use std::slice;

use agenthost_core::{Answer, ConnectionId, Effect, Input, Recovery, Seen, without_apps};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::encode;
use agenthost_protocol::wire;
use agenthost_store::StoreError;
use axum::extract::ws::Utf8Bytes;

use super::Driver;
use crate::encode::{Encoded, Recovered, text, utf8};
use crate::outbox::{Closing, Outgoing};

impl Driver {
    /// Does one thing. What the host has to know at once comes back.
    pub(super) fn effect(&mut self, effect: Effect) -> Result<Vec<Input>, StoreError> {
        let Some(effect) = self.later.surveys.hold(effect) else {
            return Ok(Vec::new());
        };
        match effect {
            Effect::Reply {
                connection,
                id,
                answer,
            } if self.older.has(connection) => self.answer_older(connection, id, answer),
            effect => Ok(self.act(effect)?.into_iter().collect()),
        }
    }

    fn act(&mut self, effect: Effect) -> Result<Option<Input>, StoreError> {
        match effect {
            Effect::Reply {
                connection,
                id,
                answer,
            } => {
                let outgoing = match answer {
                    Err(error) => text(encode::failure(&id, &error))?,
                    Ok(Answer::Replay {
                        after,
                        until,
                        channels,
                        missing,
                        seen,
                    }) => {
                        let envelopes = self.store.replay(after, until, &channels)?;
                        let envelopes = as_seen(envelopes, seen)?;
                        text(crate::encode::replay(&id, envelopes, &missing))?
                    }
                    Ok(Answer::Recoveries {
                        channels,
                        until,
                        seen,
                    }) => Outgoing::Recoveries(id, self.recovered(channels, until, seen)?),
                    Ok(answer) => Outgoing::Answer(id, Box::new(answer)),
                };
                self.deliveries.send(connection, outgoing)?;
            }
            Effect::Publish { envelope, to } => {
                let text = self.action_text(&envelope)?;
                self.deliveries.publish(&envelope, &to, &text)?;
            }
            Effect::Retell {
                envelope,
                before,
                scene,
                to,
            } => self.retell(&envelope, before.as_ref(), *scene, &to)?,
            Effect::Notify {
                notification,
                mut to,
            } => {
                self.notify_older(&notification, &mut to)?;
                let encoded = encode::notification(notification.method(), &*notification);
                let text = utf8(encoded)?;
                for connection in to {
                    self.deliveries
                        .send(connection, Outgoing::Text(text.clone()))?;
                }
            }
            Effect::Show {
                connection,
                envelope,
            } if self.older.has(connection) => {
                let scene = self.host.scene([&envelope.channel]);
                let before = self.host.state(&envelope.channel).cloned();
                self.retell(&envelope, before.as_ref(), scene, &[connection])?;
            }
            Effect::Reject {
                connection,
                rejection,
            } if self.older.has(connection) => {
                let words = self.older.rejection(&self.host, connection, &rejection);
                self.tell(connection, words)?;
            }
            Effect::Ask {
                connection,
                id,
                request,
            } if self.older.has(connection) => {
                let words = self.older.request(&self.host, connection, &id, &request);
                self.tell(connection, words)?;
            }
            Effect::Show {
                connection,
                envelope,
            } => self.say(connection, encode::notification("action", &*envelope))?,
            Effect::Reject {
                connection,
                rejection,
            } => self.say(connection, encode::notification("action", &*rejection))?,
            Effect::Ask {
                connection,
                id,
                request,
            } => self.say(
                connection,
                encode::request(&id, request.method(), &*request),
            )?,
            Effect::Close { connection } => {
                self.deliveries
                    .send(connection, Outgoing::Close(Closing::Done))?;
            }
            Effect::Agent {
                session,
                provider,
                command,
            } => return Ok(self.agents.command(&session, &provider, *command)),
            Effect::Token { place, token } => {
                if let Some(customizing) = &self.customizing {
                    customizing.token(place.clone(), token.clone());
                }
                self.agents.keep_token(place, token);
            }
            Effect::TokensOf {
                session,
                principals,
            } => {
                if let Some(customizing) = &self.customizing {
                    customizing.tokens_of(&session, principals.clone());
                }
                self.agents.use_tokens_of(session, principals);
            }
            Effect::Discarded {
                channel,
                action,
                reason,
            } => {
                tracing::warn!(%channel, action, reason, "an action was discarded");
            }
            Effect::Terminal {
                place,
                terminal,
                command,
            } => {
                let session = place.as_ref().map(|place| &place.session);
                return Ok(self.later.terminal(session, terminal, *command));
            }
            Effect::Changes(errand) => self.later.surveys.begin(*errand),
            Effect::TrustCode { keys } => self.later.surveys.changes().trust(keys),
            Effect::KeepContent(kept) => self.later.keep(&kept),
            Effect::ShareContent { from, to } => self.later.share_content(&from, &to),
            Effect::ForgetContent { session } => self.later.forget_content(&session),
            Effect::Watch(errand) => self.later.watch(errand),
            Effect::Unwatch { channel } => self.later.unwatch(&channel),
            Effect::UseFiles(errand) => return Ok(self.later.use_files(errand)),
            Effect::Customize(errand) => {
                let customizing = self.customizing.as_ref();
                return Ok(customizing.and_then(|one| one.customize(*errand)));
            }
            Effect::Tools(errand) => {
                let customizing = self.customizing.as_ref();
                return Ok(customizing.and_then(|one| one.tools(*errand)));
            }
            Effect::PassOn { method, params, to } => {
                let text = utf8(encode::notification(&method, &params))?;
                for connection in to {
                    self.deliveries
                        .send(connection, Outgoing::Text(text.clone()))?;
                }
            }
            Effect::FindFiles(search) => return Ok(self.later.find(search)),
            Effect::Later { after, input } => self.later.after(after, *input),
        }
        Ok(None)
    }

    /// Reads what channels missed from the log.
    fn recovered(
        &self,
        channels: Vec<Recovery>,
        until: ServerSeq,
        seen: Seen,
    ) -> Result<Vec<Recovered>, StoreError> {
        let one = |recovery| {
            Ok(match recovery {
                Recovery::Replay { channel, after } => {
                    let envelopes = self.store.replay(after, until, slice::from_ref(&channel))?;
                    let envelopes = as_seen(envelopes, seen)?;
                    Recovered::Replay { channel, envelopes }
                }
                Recovery::Stateless(channel) => Recovered::Replay {
                    channel,
                    envelopes: Vec::new(),
                },
                Recovery::Snapshot(snapshot) => Recovered::Snapshot(snapshot),
                Recovery::Missing(channel) => Recovered::Missing(channel),
            })
        };
        channels.into_iter().map(one).collect()
    }

    /// Sends one connection what is for nobody else.
    fn say(&mut self, to: ConnectionId, encoded: Encoded) -> Result<(), StoreError> {
        Ok(self.deliveries.send(to, text(encoded)?)?)
    }

    /// An action as the log has it. It is in the log, or it would not be here.
    pub(super) fn action_text(&self, envelope: &ActionEnvelope) -> Result<Utf8Bytes, StoreError> {
        let seq = envelope.server_seq;
        let logged = self.appended.iter().find_map(|batch| batch.envelope(seq));
        match logged {
            Some(text) => Ok(encode::notification_of("action", text).into()),
            None => utf8(encode::notification("action", envelope)),
        }
    }
}

/// What of the log a client gets to see. Few actions have anything in them that
/// not all do, so few are read.
pub(super) fn as_seen(mut envelopes: Vec<String>, seen: Seen) -> Result<Vec<String>, StoreError> {
    if seen == Seen::WithoutApps {
        let of_servers = |text: &&mut String| text.contains("\"mcp");
        for text in envelopes.iter_mut().filter(of_servers) {
            // What can't be read is shown to nobody before it gets here.
            if let Ok(envelope) = wire::from_str::<ActionEnvelope>(text)
                && let Some(plain) = without_apps(&envelope)
            {
                *text = serde_json::to_string(&plain)?;
            }
        }
    }
    Ok(envelopes)
}
