//! What is wrong with servers that run all the same.
//!
//! A server may list tools that make no sense beside others that do. The
//! protocol has no words for that in the state of a server, so what it stands
//! in is degraded (CUS-5); one that stands by itself says it in its `_meta`.

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{ContainerBase, Customization, LoadProblem, LoadState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::customization::all_customizations;
use crate::host::Host;
use crate::host::effect::Effects;

/// What is wrong with a server that runs, in its `_meta`.
const PROBLEM_META_KEY: &str = "agenthost.problem";

impl Host {
    /// Something is wrong with a server that runs, or nothing any more.
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

    /// Remembers how far reading something has got, whatever its servers do.
    pub(crate) fn record_load_state(&mut self, session: &Uri, new: &Customization) {
        if let (Some(known), Some(id)) = (self.customizations.get_mut(session), new.id()) {
            match new.load() {
                Some(load) => known.load_states.insert(id.clone(), load.clone()),
                None => known.load_states.remove(id),
            };
        }
    }

    /// A customization as clients get to see it: with what was decided about
    /// it, and what is wrong with its servers.
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
                Some(format!("the server `{}`: {about}", child.base()?.name))
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

/// Whether something is a server, or has it in it.
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

/// What could not be read at all has worse to say.
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
