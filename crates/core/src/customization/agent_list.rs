//! What agents are known to have before there is a session.
//!
//! It is read for the first session that has it. The list of agents shows what
//! came of that (CUS-4, CUS-5): as it was read, because decisions are about
//! sessions.

use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AgentsChanged, RootAction};
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::RootChannel;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;

/// How long changes are gathered: the list of agents is told as a whole, and
/// many containers may be read at once.
const AGENT_LIST_DEBOUNCE: Millis = Millis(250);

impl Host {
    /// Containers were found or read, among them perhaps some that agents are
    /// known to have.
    pub(super) fn collect_agent_customizations(
        &mut self,
        all: &[Customization],
        out: &mut Effects,
    ) {
        // What is not shown yet will be, without being asked again.
        let gathering = self.has_unpublished_agents();
        let agents = self.config.agents.iter_mut();
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

    /// Shows the agents as they are known now.
    pub(crate) fn publish_agent_list(&mut self, out: &mut Effects) {
        if self.has_unpublished_agents() {
            let agents = self.config.agents.clone();
            let changed = RootAction::AgentsChanged(AgentsChanged { agents });
            self.originate(&RootChannel.into(), changed, out);
        }
    }

    /// Whether the agents are others than is shown.
    fn has_unpublished_agents(&self) -> bool {
        let root = self.root();
        root.is_some_and(|root| root.agents != self.config.agents)
    }
}

/// Whether it is known what is in a container of the host. While it is read
/// again, what was known stays. A client may call its own what it likes, and
/// says nothing about agents.
fn is_loaded_container(customization: &Customization) -> bool {
    let container = match customization {
        Customization::Plugin(plugin) => &plugin.container,
        Customization::Directory(directory) => &directory.container,
        Customization::McpServer(_) | Customization::Unknown(_) => return false,
    };
    let read = !matches!(container.load, None | Some(LoadState::Loading));
    read && container.client_id.is_none()
}
