//! Publishes the customizations of each session and their enablement.
//!
//! The customization driver (crate `customizations`) reads the files. This module turns its
//! events into session state, and adds the stored enablement decisions and the state of running
//! MCP servers.

pub(crate) mod agent_list;
pub(crate) mod client_plugins;
pub mod driver;
pub(crate) mod enablement;
pub(crate) mod enablement_export;
pub(crate) mod preparation;
pub(crate) mod readable_files;
pub(crate) mod rule_files;
pub(crate) mod session_enablement;
pub(crate) mod session_state;

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::list::List;
use agenthost_protocol::session::{
    Customization, CustomizationRemoved, CustomizationUpdated, CustomizationsChanged,
    McpServerCustomization, McpServerState, SessionAction, SessionState,
};
use agenthost_protocol::uri::Uri;

use crate::agent::content::{clean_commands, clean_customization};
use crate::customization::driver::{ClientPlugin, CustomizationCommand, CustomizationEvent};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::step::Env;

pub(crate) use enablement::{ENABLEMENT_SETTING, check_decisions, sort_decisions};
pub use enablement_export::apply_enablement_settings;
pub(crate) use preparation::PreparationState;
pub(crate) use session_state::CustomizationRegistry;

/// Maximum number of slash commands per session, so that a package with thousands of files
/// can't grow the command list without bound.
const MAX_CUSTOM_COMMANDS: usize = 1_000;

impl Host {
    /// Returns `true` if the host reads customizations for sessions.
    fn reads_customizations(&self) -> bool {
        self.config.catalog.customizable.is_some()
    }

    /// Starts tracking the customizations of a session. The driver reads them now and reports
    /// every later change.
    pub(crate) fn track_customizations(&mut self, session: &Uri, out: &mut Effects) {
        if !self.reads_customizations() || self.customizations.contains(session) {
            return;
        }
        if self.session(session).is_none() {
            return;
        }
        self.customizations.insert(session.clone());
        self.sync_token_principals(session, out);
        self.reset_server_states(session, out);
        self.track_directories(session, out);
        self.sync_client_plugins(session, out);
        self.sync_gateway_tools(session, out);
    }

    /// Sends the current working directories of a tracked session to the driver.
    pub(crate) fn track_directories(&self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        if self.customizations.contains(session) {
            let directories = state.metadata.working_directories.clone();
            let follow = CustomizationCommand::Track {
                session: session.clone(),
                provider: state.metadata.provider.clone(),
                directories: directories.unwrap_or_default(),
            };
            out.push(Effect::Customization(Box::new(follow)));
        }
    }

    /// Sends the keys of trusted code to the driver, if they have changed since they were last
    /// sent.
    pub(crate) fn sync_trusted_code(&mut self, out: &mut Effects) {
        let keys = self.trusted_code();
        if self.customizations.published_trust == keys {
            return;
        }
        self.customizations.published_trust.clone_from(&keys);
        out.push(Effect::TrustCode { keys: keys.clone() });
        if self.reads_customizations() {
            let trust = CustomizationCommand::SetTrustedCode { keys };
            out.push(Effect::Customization(Box::new(trust)));
            for known in self.customizations.values_mut() {
                known.blocked_as_untrusted.clear();
            }
        }
    }

    /// Stops tracking the customizations of a session, and ends its hook checks and MCP
    /// servers.
    pub(crate) fn untrack_customizations(&mut self, session: &Uri, out: &mut Effects) {
        if self.customizations.remove(session).is_some() {
            let session = session.clone();
            self.drop_checks_of_session(&session, out);
            self.end_servers(&session, out);
            out.push(Effect::Customization(Box::new(
                CustomizationCommand::Untrack { session },
            )));
        }
    }

    /// Handles an event of the customization driver for a session.
    pub(crate) fn handle_customization_event(
        &mut self,
        env: &Env,
        session: &Uri,
        event: CustomizationEvent,
        out: &mut Effects,
    ) {
        // These two answer a request of a chat, and the chat may have moved to another session
        // by now.
        let answers = matches!(
            event,
            CustomizationEvent::TurnPrepared { .. } | CustomizationEvent::ToolChecked { .. }
        );
        if !answers && !self.customizations.contains(session) {
            return;
        }
        match event {
            CustomizationEvent::CustomizationsFound { mut all } => {
                all.iter_mut().for_each(clean_customization);
                self.replace_customizations(session, all, out);
            }
            CustomizationEvent::CustomizationUpdated(mut customization) => {
                clean_customization(&mut customization);
                self.update_customization(session, *customization, out);
            }
            CustomizationEvent::CustomizationRemoved(id) => {
                let gone = SessionAction::CustomizationRemoved(CustomizationRemoved { id });
                self.originate(session, gone, out);
                self.sync_enablement(session, out);
            }
            CustomizationEvent::ResourceRequested {
                id: ticket,
                client,
                query: wanted,
            } => self.request_from_client(ticket, &client, wanted, out),
            CustomizationEvent::CommandsChanged { mut commands } => {
                commands.truncate(MAX_CUSTOM_COMMANDS);
                clean_commands(&mut commands);
                if let Some(known) = self.customizations.get_mut(session) {
                    known.commands = commands;
                }
            }
            CustomizationEvent::TurnPrepared {
                chat,
                turn,
                outcome,
            } => self.handle_prepared(env, &chat, &turn, *outcome, out),
            CustomizationEvent::ToolHooksChanged { phases: moments } => {
                self.set_tool_hooks(session, moments, out);
            }
            CustomizationEvent::ToolChecked {
                id: ticket,
                verdict,
            } => {
                self.resolve_check(env, ticket, verdict, out);
            }
        }
    }

    fn replace_customizations(
        &mut self,
        session: &Uri,
        all: Vec<Customization>,
        out: &mut Effects,
    ) {
        self.collect_agent_customizations(&all, out);
        let all: Vec<_> = all.into_iter().filter(|one| one.id().is_some()).collect();
        if let Some(known) = self.customizations.get_mut(session) {
            known.load_states.clear();
        }
        for one in &all {
            self.record_load_state(session, one);
        }
        let shown = all.into_iter();
        let all: List<_> = shown
            .map(|one| Arc::new(self.to_published(session, one)))
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
        if let Some(known) = self.customizations.get_mut(session) {
            known.is_discovered = true;
        }
        self.sync_enablement(session, out);
        self.start_requested_servers(session, out);
    }

    fn update_customization(
        &mut self,
        session: &Uri,
        customization: Customization,
        out: &mut Effects,
    ) {
        self.collect_agent_customizations(std::slice::from_ref(&customization), out);
        self.record_load_state(session, &customization);
        let customization = self.to_published(session, customization);
        self.publish_customization(session, customization, out);
        self.sync_enablement(session, out);
        self.start_requested_servers(session, out);
    }

    /// Publishes a customization, unless the session state already has exactly this value.
    pub(crate) fn publish_customization(
        &mut self,
        session: &Uri,
        customization: Customization,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let mut all = state.into_iter().flat_map(all_customizations);
        let shown = all.any(|shown| *shown == customization);
        drop(all);
        if !shown {
            let updated = CustomizationUpdated {
                customization: Arc::new(customization),
            };
            self.originate(session, SessionAction::CustomizationUpdated(updated), out);
        }
    }

    /// Sends the disabled ids to the driver if they have changed, and stops the servers that
    /// are now disabled (CUS-16).
    pub(crate) fn sync_enablement(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let off = disabled_ids(state);
        if let Some(known) = self.customizations.get_mut(session)
            && known.disabled_sent != off
        {
            known.disabled_sent.clone_from(&off);
            let disabled = CustomizationCommand::SetDisabled {
                session: session.clone(),
                ids: off,
            };
            out.push(Effect::Customization(Box::new(disabled)));
        }
        self.stop_disabled_servers(session, out);
        self.send_unblocked_prompts(session, out);
    }
}

pub(crate) fn all_customizations(session: &SessionState) -> impl Iterator<Item = &Customization> {
    session.customizations.iter().flat_map(|list| list.items())
}

/// Returns the ids that are disabled themselves, not only through their container.
fn disabled_ids(session: &SessionState) -> BTreeSet<CustomizationId> {
    let mut off = BTreeSet::new();
    for one in all_customizations(session) {
        off.extend(one.id().filter(|_| !one.is_on()).cloned());
        let children = one.children().into_iter().flatten();
        let children = children.filter(|child| !child.is_on());
        off.extend(children.filter_map(|child| child.id().cloned()));
    }
    off
}

/// An MCP server of a session, with its effective enablement.
pub(crate) struct McpServerRef<'a> {
    pub(crate) server: &'a McpServerCustomization,
    /// `true` if the server and its container are both enabled.
    pub(crate) is_on: bool,
}

/// Returns all MCP servers of a session: its own and those inside containers.
pub(crate) fn mcp_servers(session: &SessionState) -> impl Iterator<Item = McpServerRef<'_>> {
    all_customizations(session).flat_map(|one| {
        let top = one.as_mcp_server().map(|server| (server, true));
        let children = one.children().into_iter().flatten();
        let inside = children.filter_map(|child| Some((child.as_mcp_server()?, child.is_on())));
        let all = top.into_iter().chain(inside);
        all.map(|(server, is_on)| McpServerRef {
            server,
            is_on: is_on && one.is_on(),
        })
    })
}

/// Finds an MCP server of a session by its id.
pub(crate) fn find_server<'a>(
    session: &'a SessionState,
    id: &CustomizationId,
) -> Option<McpServerRef<'a>> {
    mcp_servers(session).find(|found| found.server.base.id == *id)
}

pub(crate) fn is_stopped(server: &McpServerCustomization) -> bool {
    server.state == McpServerState::Stopped
}
