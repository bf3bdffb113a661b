//! Publishes problems of MCP servers that run nevertheless.
//!
//! A server may list invalid tools beside valid ones. The protocol has no such state of a
//! server, so the container of the server becomes degraded (CUS-5). A server without a
//! container gets the problem in its `_meta`.

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{ContainerBase, Customization, LoadProblem, LoadState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::customization::all_customizations;
use crate::host::Host;
use crate::host::effect::Effects;

/// Key in the `_meta` of a server for the problem of a running server.
const PROBLEM_META_KEY: &str = "agenthost.problem";

impl Host {
    /// Sets or clears the problem of a running server, and publishes the change.
    pub(super) fn set_server_problem(
        &mut self,
        session: &Uri,
        server: &CustomizationId,
        about: Option<String>,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let mut all = state.into_iter().flat_map(all_customizations);
        let shown = all.find(|one| contains_server(one, server)).cloned();
        drop(all);
        let (Some(shown), Some(known)) = (shown, self.customizations.get_mut(session)) else {
            return;
        };
        let before = match &about {
            Some(about) => known.problems.insert(server.clone(), about.clone()),
            None => known.problems.remove(server),
        };
        if before == about {
            return;
        }
        let shown = self.with_problems(session, shown);
        self.publish_customization(session, shown, out);
    }

    /// Records the load state of a customization as the driver reported it, without problems of
    /// servers.
    pub(crate) fn record_load_state(&mut self, session: &Uri, new: &Customization) {
        if let (Some(known), Some(id)) = (self.customizations.get_mut(session), new.id()) {
            match new.load() {
                Some(load) => known.load_states.insert(id.clone(), load.clone()),
                None => known.load_states.remove(id),
            };
        }
    }

    /// Returns a customization as published: with its enablement and the problems of its
    /// servers.
    pub(crate) fn to_published(&self, session: &Uri, new: Customization) -> Customization {
        let decided = self.apply_enablement(session, new);
        self.with_problems(session, decided)
    }

    fn with_problems(&self, session: &Uri, mut shown: Customization) -> Customization {
        let Some(known) = self.customizations.get(session) else {
            return shown;
        };
        let load = shown.id().and_then(|id| known.load_states.get(id));
        let about: Vec<String> = shown
            .children()
            .into_iter()
            .flatten()
            .filter_map(|child| {
                let about = known.problems.get(child.id()?)?;
                Some(format!("MCP server `{}`: {about}", child.base()?.name))
            })
            .collect();
        if let (Some(load), Some(container)) = (load, container_mut(&mut shown)) {
            container.load = Some(degrade_load_state(load, &about));
        }
        if let Customization::McpServer(server) = &mut shown {
            let meta = server.base.meta.take();
            let mut meta = meta.unwrap_or_default();
            match known.problems.get(&server.base.id) {
                Some(about) => {
                    meta.insert(PROBLEM_META_KEY.to_owned(), Json::from(about.as_str()));
                }
                None => {
                    meta.shift_remove(PROBLEM_META_KEY);
                }
            }
            server.base.meta = (!meta.is_empty()).then_some(meta);
        }
        shown
    }
}

/// Returns `true` if a customization is this server or contains it.
pub(super) fn contains_server(one: &Customization, server: &CustomizationId) -> bool {
    let mut children = one.children().into_iter().flatten();
    one.id() == Some(server) || children.any(|child| child.id() == Some(server))
}

fn container_mut(customization: &mut Customization) -> Option<&mut ContainerBase> {
    match customization {
        Customization::Plugin(plugin) => Some(&mut plugin.container),
        Customization::Directory(directory) => Some(&mut directory.container),
        Customization::McpServer(_) | Customization::Unknown(_) => None,
    }
}

/// Adds problems to a load state. A container that is loading or failed keeps its state, which
/// is worse.
fn degrade_load_state(load: &LoadState, about: &[String]) -> LoadState {
    let before = match load {
        _ if about.is_empty() => return load.clone(),
        LoadState::Loading | LoadState::Error(_) => return load.clone(),
        LoadState::Loaded => None,
        LoadState::Degraded(problem) => Some(problem.message.clone()),
    };
    let all: Vec<_> = before.into_iter().chain(about.iter().cloned()).collect();
    LoadState::Degraded(LoadProblem {
        message: all.join("; "),
    })
}
