//! Clients that are away for longer than the grace period. Their records are only in the store,
//! so the host loop loads the record that a handshake needs before it takes the step.

use agenthost_protocol::connection::ReconnectRequest;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::ClientRequest;
use agenthost_protocol::wire::Json;

use crate::connection::registry::{ClientPresence, GracePeriodId, Principal, RememberedClient};
use crate::host::Host;
use crate::host::effect::audit::{AuditActor, AuditKind, audit_details, audit_text};
use crate::host::effect::{Effects, StoreWrite};
use crate::host::input::{ClientMessage, Input};
use crate::host::step::Env;

impl Host {
    /// Returns the client whose record the input needs, if the client is not present. The
    /// caller loads it from the store and passes it in as [`Input::ClientLoaded`].
    pub fn missing_client(&self, input: &Input) -> Option<ClientId> {
        let Input::Received { message, .. } = input else {
            return None;
        };
        let client = client_of_handshake(message)?;
        (!self.is_client_present(client)).then(|| client.clone())
    }

    /// Returns `true` if a client is connected or in its grace period. The record of any other
    /// client is only in the store.
    pub fn is_client_present(&self, client: &ClientId) -> bool {
        self.clients.clients.contains_key(client)
    }

    /// Handles the record of a client, as the store has it. A record past its retention is
    /// ignored, although the store may not have pruned it yet.
    pub(crate) fn handle_client_loaded(
        &mut self,
        env: &Env,
        client: ClientId,
        remembered: Option<RememberedClient>,
    ) {
        let expired = env.now.0.saturating_sub(self.config.client_retention.0);
        let remembered = remembered.filter(|remembered| remembered.left_at.0 > expired);
        self.clients
            .set_returning(remembered.map(|remembered| (client, remembered.record)));
    }

    /// Releases the tools, the active-client entries and the provisional sessions of a client
    /// whose grace period has expired. Its record moves from memory to the store.
    pub(crate) fn expire_grace_period(
        &mut self,
        env: &Env,
        client: &ClientId,
        grace_period: GracePeriodId,
        out: &mut Effects,
    ) {
        if self.clients.remove_expired(client, grace_period) {
            out.write(StoreWrite::ClientReleased(client.clone(), env.now));
            out.write(StoreWrite::ClientsPruned {
                left_until: Millis(env.now.0.saturating_sub(self.config.client_retention.0)),
                max_clients: self.config.max_remembered_clients,
            });
            self.leave_unsubscribed_sessions(env, client, out);
            self.dispose_provisional(client, out);
        }
    }

    /// Forgets all clients of a revoked device: those in the store and those in their grace
    /// period now, those that are connected once their connections are closed.
    pub(crate) fn revoke_principal(&mut self, env: &Env, principal: Principal, out: &mut Effects) {
        out.write(StoreWrite::PrincipalForgotten(principal.clone()));
        let device = Some(Json::from(audit_text(&principal.0)));
        let details = audit_details([("device", device)]);
        out.audit(AuditKind::DeviceRevoked, AuditActor::Host, None, details);
        self.clients.revoked.insert(principal.clone());
        let mut absent = Vec::new();
        for (id, client) in &self.clients.clients {
            if client.record.principal != principal {
                continue;
            }
            match &client.presence {
                // The server closes the connections of a revoked device itself.
                ClientPresence::Active(_) => {}
                ClientPresence::Grace(grace_period) => absent.push((id.clone(), *grace_period)),
            }
        }
        for (client, grace_period) in absent {
            self.forget_client(env, &client, grace_period, out);
        }
    }

    /// Removes a client of a revoked device without remembering it.
    pub(crate) fn forget_client(
        &mut self,
        env: &Env,
        client: &ClientId,
        grace_period: GracePeriodId,
        out: &mut Effects,
    ) {
        if self.clients.remove_expired(client, grace_period) {
            out.write(StoreWrite::ClientRemoved(client.clone()));
            self.leave_unsubscribed_sessions(env, client, out);
            self.dispose_provisional(client, out);
        }
    }
}

/// Returns the client that a message introduces, if it is a handshake.
fn client_of_handshake(message: &ClientMessage) -> Option<&ClientId> {
    if let ClientMessage::ReplayTooLarge(_, params) = message {
        return Some(&params.client_id);
    }
    let ClientMessage::Request(_, request) = message else {
        return None;
    };
    if let ClientRequest::Initialize(params) = &**request {
        return Some(&params.client_id);
    }
    let ClientRequest::Reconnect(request) = &**request else {
        return None;
    };
    Some(match request {
        ReconnectRequest::Connection(params) => &params.client_id,
        ReconnectRequest::Channels(params) => &params.client_id,
    })
}
