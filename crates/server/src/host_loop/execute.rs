//! Routes each effect of a step to the part of the server that carries it out.

use agenthost_core::agent::AgentCommand;
use agenthost_core::{
    AccessToken, Effect, Input, Principal, PtyCommand, SessionEnvironment, TokenKey,
};
use agenthost_protocol::rpc::encode;
use agenthost_protocol::uri::Uri;
use agenthost_store::{Store, StoreError};

use super::HostLoop;
use crate::delivery::encode::to_utf8_bytes;
use crate::delivery::outbox::{CloseReason, OutgoingMessage};

impl HostLoop {
    /// Runs an effect. Returns the inputs that result from it at once.
    pub(super) fn execute(&mut self, effect: Effect) -> Result<Vec<Input>, StoreError> {
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
        let workers = &mut self.workers;
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
            } => tracing::warn!(%channel, action, reason, "discarded an action"),
            Effect::ReportRemoved { session, rule } => report_removal(&session, rule),
            Effect::Agent {
                session,
                provider,
                command,
            } => {
                if let AgentCommand::Open { .. } = &*command {
                    let environment = read_environment(&self.store, &session)?;
                    self.agents.set_environment(session.clone(), environment);
                }
                return Ok(self.agents.send_command(&session, &provider, *command));
            }
            Effect::StoreToken { key, token } => self.store_token(key, token),
            Effect::SetTokenPrincipals {
                session,
                principals,
            } => self.set_token_principals(session, principals),
            Effect::Customization(command) => {
                let worker = workers.customization_worker.as_mut();
                return Ok(worker.and_then(|worker| worker.run(*command)));
            }
            Effect::Mcp(command) => {
                let worker = workers.customization_worker.as_mut();
                return Ok(worker.and_then(|worker| worker.run_mcp(*command)));
            }
            Effect::Terminal {
                content_session,
                terminal,
                command,
            } => {
                let session = content_session.as_ref();
                let environment = match (&*command, session) {
                    (PtyCommand::Open { .. }, Some(session)) => {
                        read_environment(&self.store, session)?
                    }
                    _ => SessionEnvironment::default(),
                };
                let worker = &mut workers.terminal_worker;
                return Ok(worker.run(session, &environment, terminal, *command));
            }
            Effect::TrackChanges(job) => workers.change_worker.submit(*job),
            Effect::TrustCode { keys } => workers.change_worker.tracker().set_trusted_keys(keys),
            Effect::StoreContent(text) => workers.file_worker.store_content(&text),
            Effect::ShareContent { from, to } => workers.file_worker.share_content(&from, &to),
            Effect::DeleteContent { session } => workers.file_worker.delete_content(&session),
            Effect::Watch(request) => workers.watch_worker.start(request, &mut workers.tasks),
            Effect::Unwatch { channel } => workers.watch_worker.stop(&channel),
            Effect::AccessFiles(job) => {
                return Ok(workers.file_worker.run(job, &mut workers.tasks));
            }
            Effect::SearchFiles(search) => {
                return Ok(workers.search_worker.run(search, &mut workers.tasks));
            }
            Effect::Schedule { delay, input } => {
                workers.timer_worker.run(delay, *input, &mut workers.tasks)
            }
        }
        Ok(None)
    }

    /// Stores a token for MCP servers and for agents.
    fn store_token(&mut self, key: TokenKey, token: Option<AccessToken>) {
        if let Some(worker) = &self.workers.customization_worker {
            worker.store_token(key.clone(), token.clone());
        }
        self.agents.store_token(key, token);
    }

    /// Sets the principals whose tokens the MCP servers and the agent of a session use.
    fn set_token_principals(&mut self, session: Uri, principals: Vec<Principal>) {
        if let Some(worker) = &self.workers.customization_worker {
            worker.set_token_principals(&session, principals.clone());
        }
        self.agents.set_token_principals(session, principals);
    }
}

fn report_removal(session: &Uri, rule: &str) {
    tracing::info!(%session, rule, "removed a session beyond a limit");
}

/// Reads the environment of a session. Without a readable one, the session works with that of
/// the host.
fn read_environment(store: &Store, session: &Uri) -> Result<SessionEnvironment, StoreError> {
    match store.session_environment(session) {
        Err(error @ StoreError::Unreadable { .. }) => {
            tracing::error!(%session, %error, "failed to read an environment");
            Ok(SessionEnvironment::default())
        }
        read => read,
    }
}
