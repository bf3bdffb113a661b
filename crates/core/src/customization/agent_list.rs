//! Publishes the containers of each agent in the agent list of the root channel.
//!
//! A container is read for the first session that has it. The agent list then shows it as it
//! was read (CUS-4, CUS-5), without enablement decisions, because those belong to sessions.

use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AgentsChanged, RootAction};
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::RootChannel;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;

/// Debounce delay before the agent list is published. `AgentsChanged` carries the whole list,
/// and many containers may be read at about the same time.
const AGENT_LIST_DEBOUNCE: Millis = Millis(250);

impl Host {
    /// Copies containers that were read into the agents that list them, and schedules one
    /// publication of the agent list.
    pub(super) fn collect_agent_customizations(
        &mut self,
        all: &[Customization],
        out: &mut Effects,
    ) {
        // If there were unpublished changes before, the debounce timer is already running.
        let gathering = self.has_unpublished_agents();
        let agents = self.config.catalog.agents.iter_mut();
        for shown in agents.flat_map(|agent| agent.customizations.iter_mut().flatten()) {
            let read = all.iter().find(|read| read.id() == shown.id());
            if let Some(read) = read.filter(|read| is_loaded_container(read) && *read != shown) {
                *shown = read.clone();
            }
        }
        if !gathering && self.has_unpublished_agents() {
            out.schedule(AGENT_LIST_DEBOUNCE, Input::AgentListDebounced);
        }
    }

    /// Publishes the agent list if it has changed.
    pub(crate) fn publish_agent_list(&mut self, out: &mut Effects) {
        if self.has_unpublished_agents() {
            let agents = self.config.catalog.agents.clone();
            let changed = RootAction::AgentsChanged(AgentsChanged { agents });
            self.originate(&RootChannel.into(), changed, out);
        }
    }

    /// Returns `true` if the agents differ from those in the root state.
    fn has_unpublished_agents(&self) -> bool {
        let root = self.root();
        root.is_some_and(|root| root.agents != self.config.catalog.agents)
    }
}

/// Returns `true` if the contents of a container of the host are known. While a container is
/// read again, its previous contents stay in the list. Containers of clients don't count: a
/// client can choose any id for its plugins.
fn is_loaded_container(customization: &Customization) -> bool {
    let container = match customization {
        Customization::Plugin(plugin) => &plugin.container,
        Customization::Directory(directory) => &directory.container,
        Customization::McpServer(_) | Customization::Unknown(_) => return false,
    };
    let read = !matches!(container.load, None | Some(LoadState::Loading));
    read && container.client_id.is_none()
}
