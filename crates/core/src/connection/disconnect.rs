//! Handles closed connections and clients that leave a session.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{ActiveClientRemoved, SessionAction};
use agenthost_protocol::uri::Uri;

use crate::connection::registry::ClientPresence;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::{ConnectionId, Input};
use crate::host::step::Env;

impl Host {
    /// Handles a closed connection: cancels its requests and subscriptions, and starts the
    /// grace period if it was the last one of its client.
    pub(crate) fn handle_disconnect(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        out: &mut Effects,
    ) {
        self.drop_access_requests(connection, out);
        let detached = self.clients.detach(connection);
        self.fail_requests_of(connection, out);
        for uri in detached.subscriptions {
            if let Some(channel) = self.channels.get_mut(&uri) {
                channel.subscribers.remove(&connection);
            }
            self.stop_idle_watch(&uri, out);
        }
        if let Some((client, departure)) = detached.departed_client {
            let record = self.clients.record(&client);
            if record.is_some_and(|record| self.clients.revoked.contains(&record.principal)) {
                self.forget_client(env, &client, departure, out);
                return;
            }
            let ended = Input::GraceExpired {
                client,
                grace_period: departure,
            };
            out.schedule(self.config.grace_period, ended);
        }
    }

    /// Removes a client from the active clients of a session if none of its connections is
    /// subscribed to the session (CLT-6).
    pub(crate) fn leave_unsubscribed_session(
        &mut self,
        env: &Env,
        client: &ClientId,
        session: &Uri,
        out: &mut Effects,
    ) {
        let connections: &[ConnectionId] = match self.clients.clients.get(client) {
            Some(client) => match &client.presence {
                ClientPresence::Active(connections) => connections,
                ClientPresence::Grace(_) => &[],
            },
            None => &[],
        };
        let watches = connections.iter().any(|connection| {
            let connection = self.clients.connections.get(connection);
            connection.is_some_and(|connection| connection.subscriptions.contains(session))
        });
        if !watches {
            self.remove_active_client(env, client, session, out);
        }
    }

    /// Removes a client from every session that it is not subscribed to: it reconnected
    /// without these subscriptions, or its grace period has expired (CLT-7).
    pub(crate) fn leave_unsubscribed_sessions(
        &mut self,
        env: &Env,
        client: &ClientId,
        out: &mut Effects,
    ) {
        for session in self.sessions.uris().cloned().collect::<Vec<_>>() {
            self.leave_unsubscribed_session(env, client, &session, out);
        }
    }

    /// Removes active clients that the host no longer knows from a session that was loaded
    /// from the log.
    pub(crate) fn drop_forgotten_clients(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let active = state.active_clients.iter().map(|active| &active.client_id);
        let forgotten: Vec<_> = active
            .filter(|client| !self.clients.clients.contains_key(client))
            .cloned()
            .collect();
        for client in forgotten {
            self.remove_active_client(env, &client, session, out);
        }
    }

    fn remove_active_client(
        &mut self,
        env: &Env,
        client: &ClientId,
        session: &Uri,
        out: &mut Effects,
    ) {
        let takes_part = self.session(session).is_some_and(|session| {
            let mut active = session.active_clients.iter();
            active.any(|active| active.client_id == *client)
        });
        if !takes_part {
            return;
        }
        let removed = ActiveClientRemoved {
            client_id: client.clone(),
        };
        let removed = SessionAction::ActiveClientRemoved(removed);
        self.originate(session, removed.clone(), out);
        self.react(env, session, &removed.into(), out);
    }
}
