//! Plugins that clients bring.
//!
//! Only the client has their files, so it is asked for them, by the requests
//! that it would read files of the host with (CUS-8). They go when it does.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::Uri;

use super::all_of;
use crate::clients::Presence;
use crate::customizing::{BroughtPlugin, CustomizationErrand, Ticket, Wanted};
use crate::effect::{Effect, Effects};
use crate::host::Host;
use crate::questions::Asker;

impl Host {
    /// Tells which plugins the clients of a session bring, if they are others
    /// than before.
    pub(crate) fn tell_brought(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let brought: Vec<_> = state
            .active_clients
            .iter()
            .flat_map(|active| {
                let plugins = active.customizations.iter().flatten();
                plugins.map(|plugin| BroughtPlugin {
                    client: active.client_id.clone(),
                    plugin: plugin.clone(),
                })
            })
            .collect();
        let Some(known) = self.customizing.get_mut(session) else {
            return;
        };
        if known.brought == brought {
            return;
        }
        known.brought.clone_from(&brought);
        let told = CustomizationErrand::ClientPlugins {
            session: session.clone(),
            plugins: brought,
        };
        out.push(Effect::Customize(Box::new(told)));
        self.decide_brought(session, out);
    }

    /// What clients decided about their plugins may be something else now
    /// (CUS-14).
    fn decide_brought(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        let of_clients = state.into_iter().flat_map(all_of).filter(|one| {
            matches!(one, Customization::Plugin(plugin) if plugin.container.client_id.is_some())
        });
        for shown in of_clients.cloned().collect::<Vec<_>>() {
            let decided = self.as_shown(session, shown);
            self.publish(session, decided, out);
        }
        self.customizations_changed(session, out);
    }

    /// A client is back: what could not be read from it can be tried again.
    pub(crate) fn read_again_from(&mut self, client: &ClientId, out: &mut Effects) {
        let failed = |one: &Customization| match one {
            Customization::Plugin(plugin) => {
                plugin.container.client_id.as_ref() == Some(client)
                    && matches!(plugin.container.load, Some(LoadState::Error(_)))
            }
            _ => false,
        };
        for session in self.customizing.keys().cloned().collect::<Vec<_>>() {
            let state = self.session(&session);
            if state.is_some_and(|state| all_of(state).any(failed))
                && let Some(known) = self.customizing.get_mut(&session)
            {
                known.brought.clear();
                self.tell_brought(&session, out);
            }
        }
    }

    /// Asks a client for what is needed of it.
    pub(super) fn ask_for(
        &mut self,
        ticket: Ticket,
        client: &ClientId,
        wanted: Wanted,
        out: &mut Effects,
    ) {
        let client = self.clients.clients.get(client);
        let connections = match client.map(|client| &client.presence) {
            Some(Presence::Active(connections)) => connections.clone(),
            Some(Presence::Grace(_)) | None => Vec::new(),
        };
        self.ask_client(connections, wanted, Asker::Customization(ticket), out);
    }
}
