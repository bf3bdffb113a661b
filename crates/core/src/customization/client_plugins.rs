//! Plugins that active clients offer to a session.
//!
//! Only the client has their files, so the host reads them with the same resource requests that
//! a client uses for files of the host (CUS-8). The plugins are removed when the client leaves.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::Uri;

use super::all_customizations;
use crate::connection::host_requests::RequestOrigin;
use crate::connection::registry::ClientPresence;
use crate::customization::driver::{ClientPlugin, CustomizationCommand, QueryId, ResourceQuery};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};

impl Host {
    /// Sends the plugins of the session's active clients to the driver, if they have changed.
    pub(crate) fn sync_client_plugins(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let client_plugins: Vec<_> = state
            .active_clients
            .iter()
            .flat_map(|active| {
                let plugins = active.customizations.iter().flatten();
                plugins.map(|plugin| ClientPlugin {
                    client: active.client_id.clone(),
                    plugin: plugin.clone(),
                })
            })
            .collect();
        let Some(known) = self.customizations.get_mut(session) else {
            return;
        };
        if known.plugins_sent == client_plugins {
            return;
        }
        known.plugins_sent.clone_from(&client_plugins);
        let command = CustomizationCommand::SetClientPlugins {
            session: session.clone(),
            plugins: client_plugins,
        };
        out.push(Effect::Customization(Box::new(command)));
        self.republish_client_plugins(session, out);
    }

    /// Publishes the client plugins again, because the decisions of their clients may have
    /// changed (CUS-14).
    fn republish_client_plugins(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        let of_clients = state.into_iter().flat_map(all_customizations).filter(|one| {
            matches!(one, Customization::Plugin(plugin) if plugin.container.client_id.is_some())
        });
        for shown in of_clients.cloned().collect::<Vec<_>>() {
            let decided = self.to_published(session, shown);
            self.publish_customization(session, decided, out);
        }
        self.sync_enablement(session, out);
    }

    /// Sends the plugins of a reconnected client to the driver again if reading any of them had
    /// failed.
    pub(crate) fn retry_client_plugins(&mut self, client: &ClientId, out: &mut Effects) {
        let failed = |one: &Customization| {
            let Customization::Plugin(plugin) = one else {
                return false;
            };
            plugin.container.client_id.as_ref() == Some(client)
                && matches!(plugin.container.load, Some(LoadState::Error(_)))
        };
        for session in self.customizations.sessions().cloned().collect::<Vec<_>>() {
            let state = self.session(&session);
            if state.is_some_and(|state| all_customizations(state).any(failed))
                && let Some(known) = self.customizations.get_mut(&session)
            {
                known.plugins_sent.clear();
                self.sync_client_plugins(&session, out);
            }
        }
    }

    /// Sends a resource request of the driver to a client. It fails at once if the client has
    /// no connection.
    pub(super) fn request_from_client(
        &mut self,
        id: QueryId,
        client: &ClientId,
        query: ResourceQuery,
        out: &mut Effects,
    ) {
        let client = self.clients.clients.get(client);
        let connections = match client.map(|client| &client.presence) {
            Some(ClientPresence::Active(connections)) => connections.clone(),
            Some(ClientPresence::Grace(_)) | None => Vec::new(),
        };
        self.request_from(connections, query, RequestOrigin::Customization(id), out);
    }
}
