//! Routes each effect of a step to the part of the server that carries it out.

use agenthost_core::{Effect, Input, SessionEnvironment};
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
        let effect = match self.execute_on_driver(effect)? {
            Ok(input) => return Ok(input),
            Err(effect) => *effect,
        };
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
            // Executed before.
            Effect::Agent { .. }
            | Effect::Terminal { .. }
            | Effect::Customization(_)
            | Effect::Mcp(_)
            | Effect::StoreToken { .. }
            | Effect::SetTokenPrincipals { .. } => {}
            Effect::ReportRemoved { session, rule } => report_removal(&session, rule),
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
}

fn report_removal(session: &Uri, rule: &str) {
    tracing::info!(%session, rule, "removed a session beyond a limit");
}

/// Reads the environment of a session. Without a readable one, the session works with that of
/// the host.
pub(super) fn read_environment(
    store: &Store,
    session: &Uri,
) -> Result<SessionEnvironment, StoreError> {
    match store.session_environment(session) {
        Err(error @ StoreError::Unreadable { .. }) => {
            tracing::error!(%session, %error, "failed to read an environment");
            Ok(SessionEnvironment::default())
        }
        read => read,
    }
}
