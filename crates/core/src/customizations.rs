//! The customizations of sessions: what there is, and what is on.
//!
//! Somebody else reads them (`customizing`). Here they become state: with what
//! was decided about them, and with the state of servers that run.

mod agents;
mod brought;
mod decisions;
mod kept;
mod readable;
mod remembered;
mod touched;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::list::List;
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationRemoved, CustomizationUpdated,
    CustomizationsChanged, LoadState, McpServerCustomization, McpServerState, SessionAction,
    SessionState,
};
use agenthost_protocol::uri::Uri;

use crate::agent::SlashCommand;
use crate::agent_content::{clean_commands, clean_customization};
use crate::customizing::{BroughtPlugin, CustomizationErrand, CustomizationEvent};
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::servers::Failure;
use crate::tool_servers::ServerTool;
use crate::tool_use::ToolMoment;

pub(crate) use decisions::{DECISIONS, check_decisions, sort_decisions};
pub use kept::as_kept;
pub(crate) use turns::Preparing;

/// Most names that can stand at the beginning of a message.
const COMMANDS: usize = 1_000;

/// What is known of the customizations of a session beside their state, for as
/// long as somebody reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Customizing {
    /// What can stand at the beginning of a message.
    pub(crate) commands: Vec<SlashCommand>,
    /// The tools of servers that run.
    pub(crate) server_tools: Vec<ServerTool>,
    /// When its hooks of tools are run.
    pub(crate) tool_hooks: BTreeSet<ToolMoment>,
    /// Servers whose state is of this run of the host.
    pub(crate) servers: BTreeSet<CustomizationId>,
    /// Whether what there is was found in this run of the host.
    pub(crate) found: bool,
    /// Whether an agent came for tools.
    pub(crate) sought: bool,
    /// Servers that a person stopped: no turn starts them.
    pub(crate) halted: BTreeSet<CustomizationId>,
    /// Servers that may not be started as things are: nobody allowed their code.
    pub(crate) barred: BTreeSet<CustomizationId>,
    /// Servers that failed.
    pub(crate) failures: BTreeMap<CustomizationId, Failure>,
    /// What is wrong with servers that run.
    pub(crate) complaints: BTreeMap<CustomizationId, String>,
    /// How far reading has got, apart from that.
    pub(crate) loads: BTreeMap<CustomizationId, LoadState>,
    /// What clients brought, as it was last told.
    brought: Vec<BroughtPlugin>,
    /// The tools that custom agents are to use, by chat, as it was last told.
    /// Where there is none, all.
    pub(crate) allowed: BTreeMap<Uri, Vec<String>>,
    /// What is off, as it was last told.
    off: BTreeSet<CustomizationId>,
}

impl Host {
    /// Whether anything is read for sessions.
    fn customizes(&self) -> bool {
        self.config.customizable.is_some()
    }

    /// Has the customizations of a session read, and from then on followed.
    pub(crate) fn follow(&mut self, session: &Uri, out: &mut Effects) {
        if !self.customizes() || self.customizing.contains_key(session) {
            return;
        }
        if self.session(session).is_none() {
            return;
        }
        self.customizing
            .insert(session.clone(), Customizing::default());
        self.tell_whose_tokens(session, out);
        self.stop_old_servers(session, out);
        self.follow_folders(session, out);
        self.tell_brought(session, out);
        self.offer_to_gateway(session, out);
    }

    /// Has what is in the folders of a session read, which may be others now.
    pub(crate) fn follow_folders(&self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        if self.customizing.contains_key(session) {
            let directories = state.metadata.working_directories.clone();
            let follow = CustomizationErrand::Follow {
                session: session.clone(),
                provider: state.metadata.provider.clone(),
                directories: directories.unwrap_or_default(),
            };
            out.push(Effect::Customize(Box::new(follow)));
        }
    }

    /// Tells which code may run, if that is something else than before.
    pub(crate) fn tell_trusted(&mut self, out: &mut Effects) {
        let keys = self.trusted_code();
        if self.trusted_told == keys {
            return;
        }
        self.trusted_told.clone_from(&keys);
        out.push(Effect::TrustCode { keys: keys.clone() });
        if self.customizes() {
            let trust = CustomizationErrand::Trust { keys };
            out.push(Effect::Customize(Box::new(trust)));
            for known in self.customizing.values_mut() {
                known.barred.clear();
            }
        }
    }

    /// Nobody needs the customizations of a session any more.
    pub(crate) fn unfollow(&mut self, session: &Uri, out: &mut Effects) {
        if self.customizing.remove(session).is_some() {
            let session = session.clone();
            self.drop_checks_of_session(&session, out);
            self.end_servers(&session, out);
            out.push(Effect::Customize(Box::new(CustomizationErrand::Forget {
                session,
            })));
        }
    }

    /// Something is known about the customizations of a session.
    pub(crate) fn customized(
        &mut self,
        env: &Env,
        session: &Uri,
        event: CustomizationEvent,
        out: &mut Effects,
    ) {
        // A chat may belong to another session by now.
        let answers = matches!(
            event,
            CustomizationEvent::Prepared { .. } | CustomizationEvent::ToolChecked { .. }
        );
        if !answers && !self.customizing.contains_key(session) {
            return;
        }
        match event {
            CustomizationEvent::Found { mut all } => {
                all.iter_mut().for_each(clean_customization);
                self.found(session, all, out);
            }
            CustomizationEvent::Updated(mut customization) => {
                clean_customization(&mut customization);
                self.updated(session, *customization, out);
            }
            CustomizationEvent::Gone(id) => {
                let gone = SessionAction::CustomizationRemoved(CustomizationRemoved { id });
                self.originate(session, gone, out);
                self.customizations_changed(session, out);
            }
            CustomizationEvent::Wanted {
                ticket,
                client,
                wanted,
            } => self.ask_for(ticket, &client, wanted, out),
            CustomizationEvent::Commands { mut commands } => {
                commands.truncate(COMMANDS);
                clean_commands(&mut commands);
                if let Some(known) = self.customizing.get_mut(session) {
                    known.commands = commands;
                }
            }
            CustomizationEvent::Prepared {
                chat,
                turn,
                outcome,
            } => self.prepared(env, &chat, &turn, *outcome, out),
            CustomizationEvent::ToolHooks { moments } => {
                self.learn_tool_hooks(session, moments, out);
            }
            CustomizationEvent::ToolChecked { ticket, verdict } => {
                self.tool_checked(env, ticket, verdict, out);
            }
        }
    }

    fn found(&mut self, session: &Uri, all: Vec<Customization>, out: &mut Effects) {
        self.learn_for_agents(&all, out);
        let all: Vec<_> = all.into_iter().filter(|one| one.id().is_some()).collect();
        if let Some(known) = self.customizing.get_mut(session) {
            known.loads.clear();
        }
        for one in &all {
            self.note_load(session, one);
        }
        let shown = all.into_iter();
        let all: List<_> = shown
            .map(|one| Arc::new(self.as_shown(session, one)))
            .collect();
        let before = self.session(session);
        let before = before.and_then(|state| state.customizations.as_ref());
        let nothing = before.is_none() && all.is_empty();
        if !nothing && before != Some(&all) {
            let changed = CustomizationsChanged {
                customizations: all,
            };
            self.originate(session, SessionAction::CustomizationsChanged(changed), out);
        }
        if let Some(known) = self.customizing.get_mut(session) {
            known.found = true;
        }
        self.customizations_changed(session, out);
        self.start_sought_servers(session, out);
    }

    fn updated(&mut self, session: &Uri, customization: Customization, out: &mut Effects) {
        self.learn_for_agents(std::slice::from_ref(&customization), out);
        self.note_load(session, &customization);
        let customization = self.as_shown(session, customization);
        self.publish(session, customization, out);
        self.customizations_changed(session, out);
        self.start_sought_servers(session, out);
    }

    /// Shows a customization as it is now, unless it is shown so already.
    pub(crate) fn publish(
        &mut self,
        session: &Uri,
        customization: Customization,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let mut all = state.into_iter().flat_map(all_of);
        let shown = all.any(|shown| *shown == customization);
        drop(all);
        if !shown {
            let updated = CustomizationUpdated {
                customization: Arc::new(customization),
            };
            self.originate(session, SessionAction::CustomizationUpdated(updated), out);
        }
    }

    /// What is on may be something else now (CUS-16).
    pub(crate) fn customizations_changed(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let off = off(state);
        if let Some(known) = self.customizing.get_mut(session)
            && known.off != off
        {
            known.off.clone_from(&off);
            let disabled = CustomizationErrand::Disabled {
                session: session.clone(),
                ids: off,
            };
            out.push(Effect::Customize(Box::new(disabled)));
        }
        self.stop_unwanted_servers(session, out);
        self.prompt_unblocked(session, out);
    }
}

pub(crate) fn all_of(session: &SessionState) -> impl Iterator<Item = &Customization> {
    session.customizations.iter().flat_map(|list| list.items())
}

/// What is off by itself.
fn off(session: &SessionState) -> BTreeSet<CustomizationId> {
    let mut off = BTreeSet::new();
    for one in all_of(session) {
        off.extend(one.id().filter(|_| !one.is_on()).cloned());
        let children = one.children().into_iter().flatten();
        let children = children.filter(|child| !child.is_on());
        off.extend(children.filter_map(|child| child.id().cloned()));
    }
    off
}

/// A server of a session.
pub(crate) struct FoundServer<'a> {
    pub(crate) server: &'a McpServerCustomization,
    /// Whether it is on, with all that it is in.
    pub(crate) is_on: bool,
}

/// All servers of a session.
pub(crate) fn servers(session: &SessionState) -> impl Iterator<Item = FoundServer<'_>> {
    all_of(session).flat_map(|one| {
        let top = match one {
            Customization::McpServer(server) => Some((&**server, true)),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                None
            }
        };
        let children = one.children().into_iter().flatten();
        let inside = children.filter_map(|child| match child {
            ChildCustomization::McpServer(server) => Some((&**server, child.is_on())),
            _ => None,
        });
        let all = top.into_iter().chain(inside);
        all.map(|(server, is_on)| FoundServer {
            server,
            is_on: is_on && one.is_on(),
        })
    })
}

/// The server of a name.
pub(crate) fn server<'a>(
    session: &'a SessionState,
    id: &CustomizationId,
) -> Option<FoundServer<'a>> {
    servers(session).find(|found| found.server.base.id == *id)
}

/// A server that does not run.
pub(crate) fn is_stopped(server: &McpServerCustomization) -> bool {
    server.state == McpServerState::Stopped
}
