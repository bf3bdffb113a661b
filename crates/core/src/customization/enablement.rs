//! Enablement of customizations, by session, by workspace and globally.
//!
//! A decision applies to a session, to a folder or everywhere (CUS-10). Session decisions are
//! part of the session state (and of its `_meta`, see `session_enablement`). The others are
//! stored in the settings of the host under a key that is stable across restarts (CUS-13).

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationEnablement, CustomizationToggled, Enablement,
    McpServerCustomization, McpServerState, SessionAction, SessionState, WorkspaceEnablement,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use super::session_enablement::{own_decision, session_decision};
use super::{ClientPlugin, all_customizations};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::Refusal;

/// Name of the host setting that stores the decisions.
pub(crate) const ENABLEMENT_SETTING: &str = "customizationEnablement";

/// Maximum number of customizations with stored decisions. The setting is part of the root
/// state, which every client receives, so it must stay small.
const MAX_STORED_DECISIONS: usize = 1_000;

/// Key of the global scope in the stored decisions. Workspace scopes are keyed by folder URI.
pub(super) const GLOBAL_SCOPE: &str = "*";

/// Checks that the decisions have at most one entry per scope, and that a workspace decision
/// names the primary folder of the session. An unknown scope is refused, not guessed at
/// (FWD-3).
pub(crate) fn check_decisions(
    session: &SessionState,
    decisions: &[CustomizationEnablement],
) -> Result<(), Refusal> {
    let mut ranks = Vec::new();
    for decision in decisions {
        let rank = scope_rank(decision).ok_or_else(|| {
            let reason = "enablement: expected `session`, `workspace` or `global`";
            Refusal::Invalid(reason.to_owned())
        })?;
        if ranks.contains(&rank) {
            let reason = "enablement: expected one decision for each scope at most";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
        ranks.push(rank);
        if let CustomizationEnablement::Workspace(decision) = decision
            && Some(&decision.uri) != primary_directory(session)
        {
            let reason = "enablement: expected the primary folder of the session";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
    }
    Ok(())
}

/// Sorts decisions by scope, the nearest scope first (CUS-10).
pub(crate) fn sort_decisions(decisions: &mut [CustomizationEnablement]) {
    decisions.sort_by_key(scope_rank);
}

fn scope_rank(decision: &CustomizationEnablement) -> Option<u8> {
    match decision {
        CustomizationEnablement::Session(_) => Some(0),
        CustomizationEnablement::Workspace(_) => Some(1),
        CustomizationEnablement::Global(_) => Some(2),
        CustomizationEnablement::Unknown(_) => None,
    }
}

fn primary_directory(session: &SessionState) -> Option<&Uri> {
    session.metadata.working_directories.as_ref()?.first()
}

/// Stable key of a customization: the URI of its source, and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CustomizationKey(pub(super) String);

impl CustomizationKey {
    pub(super) fn of(customization: &Customization) -> Option<Self> {
        let base = customization.base()?;
        Some(match customization {
            Customization::McpServer(_) => CustomizationKey(format!("{}#{}", base.uri, base.name)),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                CustomizationKey(base.uri.as_str().to_owned())
            }
        })
    }

    pub(super) fn of_child(container: &Customization, child: &ChildCustomization) -> Option<Self> {
        let kind = match child {
            ChildCustomization::Agent(_) => "agent",
            ChildCustomization::Skill(_) => "skill",
            ChildCustomization::Prompt(_) => "prompt",
            ChildCustomization::Rule(_) => "rule",
            ChildCustomization::Hook(_) => "hook",
            ChildCustomization::McpServer(_) => "mcpServer",
            ChildCustomization::Unknown(_) => return None,
        };
        let uri = &container.base()?.uri;
        Some(CustomizationKey(format!(
            "{uri}#{kind}:{}",
            child.base()?.name
        )))
    }
}

impl Host {
    /// Returns a customization with the decisions about it, and with the current state of its
    /// MCP servers.
    pub(crate) fn apply_enablement(&self, session: &Uri, mut new: Customization) -> Customization {
        let Some(state) = self.session(session) else {
            return new;
        };
        let shown = all_customizations(state).find(|shown| shown.id() == new.id());
        let brought = self.find_client_plugin(session, &new);
        let key = CustomizationKey::of(&new);
        let list = |key: Option<&CustomizationKey>, id: &_, shown: Option<&[_]>, published| {
            let own =
                own_decision(shown.unwrap_or_default()).or_else(|| session_decision(state, id));
            let list = self.collect_decisions(state, key, own, published);
            (!list.is_empty()).then_some(list)
        };
        let keys: Vec<_> = new
            .children()
            .into_iter()
            .flatten()
            .map(|child| CustomizationKey::of_child(&new, child))
            .collect();
        match &mut new {
            Customization::Plugin(plugin) => {
                let shown = shown.and_then(|shown| {
                    let Customization::Plugin(shown) = shown else {
                        return None;
                    };
                    shown.enablement.as_deref()
                });
                // A client's decisions about its own plugin count as global decisions (CUS-14).
                let published = brought.map(published_decisions);
                let id = &plugin.container.base.id;
                plugin.enablement = list(key.as_ref(), id, shown, published);
            }
            Customization::Directory(directory) => {
                let before = shown.map(Customization::is_on);
                let before =
                    before.or_else(|| session_decision(state, &directory.container.base.id));
                directory.enabled = before.unwrap_or_else(|| self.is_on_by_default(state, &key));
            }
            Customization::McpServer(server) => {
                let shown = shown.and_then(Customization::as_mcp_server);
                let before = shown.and_then(|shown| shown.enablement.as_deref());
                server.enablement = list(key.as_ref(), &server.base.id, before, None);
                self.preserve_server_state(session, server, shown);
            }
            Customization::Unknown(_) => {}
        }
        let shown_children = shown.and_then(Customization::children).unwrap_or_default();
        let children = new.children_mut().into_iter().flatten();
        for (child, key) in children.zip(&keys) {
            let name = child.base().map(|base| base.name.as_str());
            // Matched by name, because the client does not know the ids that the host assigns
            // (CUS-15).
            let published = brought.and_then(|brought| {
                let by_name = brought.plugin.child_enablement.as_ref()?;
                Some(by_name.get(name?)?.as_slice())
            });
            let shown = shown_children.iter().find(|shown| shown.id() == child.id());
            if let ChildCustomization::McpServer(server) = child {
                let shown = shown.and_then(ChildCustomization::as_mcp_server);
                let before = shown.and_then(|shown| shown.enablement.as_deref());
                server.enablement = list(key.as_ref(), &server.base.id, before, published);
                self.preserve_server_state(session, server, shown);
                continue;
            }
            let by_client = published.map(CustomizationEnablement::effective);
            // The client's decision applies until a user of this host decides otherwise.
            let here = child.id().and_then(|id| session_decision(state, id));
            let shown = shown.filter(|_| brought.is_none());
            let before = shown.and_then(|shown| shown.leaf()?.enabled);
            let decided = here.or(before).or(by_client);
            if let Some(leaf) = child.leaf_mut() {
                leaf.enabled = decided
                    .or_else(|| (!self.is_on_by_default(state, key)).then_some(false))
                    .or(leaf.enabled);
            }
        }
        new
    }

    /// Copies the state of a server that was started in this run of the host, so that it keeps
    /// running while its container is read again. Other servers are `Stopped`.
    fn preserve_server_state(
        &self,
        session: &Uri,
        server: &mut McpServerCustomization,
        shown: Option<&McpServerCustomization>,
    ) {
        let known = self.customizations.get(session);
        let of_this_run =
            known.is_some_and(|known| known.started_servers.contains(&server.base.id));
        match shown.filter(|_| of_this_run) {
            Some(shown) => {
                server.state = shown.state.clone();
                server.channel.clone_from(&shown.channel);
                server.mcp_app.clone_from(&shown.mcp_app);
            }
            None => server.state = McpServerState::Stopped,
        }
    }

    /// Collects the decisions about a customization: the session's own, the stored workspace
    /// decision, and the global one (stored, or as published by its client).
    fn collect_decisions(
        &self,
        session: &SessionState,
        key: Option<&CustomizationKey>,
        own: Option<bool>,
        published: Option<&[CustomizationEnablement]>,
    ) -> Vec<CustomizationEnablement> {
        let own = own.map(|enabled| CustomizationEnablement::Session(Enablement { enabled }));
        let mut decided: Vec<_> = own.into_iter().collect();
        if let Some(folder) = primary_directory(session)
            && let Some(enabled) = self.stored_decision(key, folder.as_str())
        {
            let uri = folder.clone();
            let decision = WorkspaceEnablement { uri, enabled };
            decided.push(CustomizationEnablement::Workspace(decision));
        }
        let everywhere = match published {
            Some(published) => published.iter().find_map(|decision| match decision {
                CustomizationEnablement::Global(decision) => Some(decision.enabled),
                CustomizationEnablement::Session(_)
                | CustomizationEnablement::Workspace(_)
                | CustomizationEnablement::Unknown(_) => None,
            }),
            None => self.stored_decision(key, GLOBAL_SCOPE),
        };
        decided.extend(
            everywhere.map(|enabled| CustomizationEnablement::Global(Enablement { enabled })),
        );
        decided
    }

    fn is_on_by_default(&self, session: &SessionState, key: &Option<CustomizationKey>) -> bool {
        let decided = self.collect_decisions(session, key.as_ref(), None, None);
        CustomizationEnablement::effective(&decided)
    }

    fn stored_decision(&self, key: Option<&CustomizationKey>, scope: &str) -> Option<bool> {
        let kept = self.setting(ENABLEMENT_SETTING)?.as_object()?;
        kept.get(key?.0.as_str())?.get(scope)?.as_bool()
    }

    /// Stores the decisions of a client about a customization. Decisions beyond the session are
    /// published in every other session that they apply to.
    pub(crate) fn store_enablement(
        &mut self,
        session: &Uri,
        toggled: &CustomizationToggled,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let Some((state, key)) =
            state.and_then(|state| Some((state, find_key(state, &toggled.id)?)))
        else {
            return;
        };
        let folder = primary_directory(state).cloned();
        self.store_session_decision(session, toggled, out);
        if self.store_decisions(&key, folder.as_ref(), &toggled.enablement, out) {
            for other in self.customizations.sessions().cloned().collect::<Vec<_>>() {
                if other != *session {
                    self.reapply_decisions(&other, &key, out);
                }
            }
        }
        self.sync_enablement(session, out);
    }

    /// Updates the stored decisions about `key`. Returns `true` if they changed.
    fn store_decisions(
        &mut self,
        key: &CustomizationKey,
        folder: Option<&Uri>,
        decisions: &[CustomizationEnablement],
        out: &mut Effects,
    ) -> bool {
        let kept = self.setting(ENABLEMENT_SETTING).and_then(Json::as_object);
        let before = kept.cloned().unwrap_or_default();
        let entry = before.get(&key.0).and_then(Json::as_object);
        let mut entry = entry.cloned().unwrap_or_default();
        entry.shift_remove(GLOBAL_SCOPE);
        if let Some(folder) = folder {
            entry.shift_remove(folder.as_str());
        }
        for decision in decisions {
            let (scope, enabled) = match decision {
                CustomizationEnablement::Global(decision) => (GLOBAL_SCOPE, decision.enabled),
                CustomizationEnablement::Workspace(decision) => {
                    (decision.uri.as_str(), decision.enabled)
                }
                CustomizationEnablement::Session(_) | CustomizationEnablement::Unknown(_) => {
                    continue;
                }
            };
            entry.insert(scope.to_owned(), Json::from(enabled));
        }
        let mut after = before.clone();
        if entry.is_empty() {
            after.shift_remove(&key.0);
        } else {
            after.insert(key.0.clone(), Json::Object(entry));
        }
        // Evicts the entry that was inserted first. Changing an entry keeps its position.
        while after.len() > MAX_STORED_DECISIONS
            && let Some(oldest) = after.keys().next().cloned()
        {
            after.shift_remove(&oldest);
        }
        if after == before {
            return false;
        }
        let config = Object::from_iter([(ENABLEMENT_SETTING.to_owned(), Json::Object(after))]);
        let changed = RootAction::ConfigChanged(RootConfigChanged {
            config,
            replace: None,
        });
        self.originate(&RootChannel.into(), changed, out)
    }

    /// Publishes the decisions about `key` in a session that has a customization with this key.
    fn reapply_decisions(&mut self, session: &Uri, key: &CustomizationKey, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let mut toggles = Vec::new();
        for (id, own_key, shown) in decidable_customizations(state) {
            if own_key != *key {
                continue;
            }
            let brought = all_customizations(state).find(|one| one.id() == Some(&id));
            let published = brought.and_then(|one| self.find_client_plugin(session, one));
            let published = published.map(published_decisions);
            let enablement =
                self.collect_decisions(state, Some(key), own_decision(&shown), published);
            if enablement != shown {
                toggles.push(CustomizationToggled { id, enablement });
            }
        }
        for toggle in toggles {
            self.originate(session, SessionAction::CustomizationToggled(toggle), out);
        }
        self.sync_enablement(session, out);
    }

    /// Returns the client's declaration of a plugin that it offers.
    fn find_client_plugin(&self, session: &Uri, shown: &Customization) -> Option<&ClientPlugin> {
        let Customization::Plugin(plugin) = shown else {
            return None;
        };
        let client = plugin.container.client_id.as_ref()?;
        let known = self.customizations.get(session)?;
        known.plugins_sent.iter().find(|brought| {
            let told = &brought.plugin.plugin.0.container.base;
            brought.client == *client && told.uri == plugin.container.base.uri
        })
    }
}

/// Returns the decisions that a client published with its plugin.
fn published_decisions(brought: &ClientPlugin) -> &[CustomizationEnablement] {
    let published = &brought.plugin.plugin.0.enablement;
    published.as_deref().unwrap_or_default()
}

fn find_key(session: &SessionState, id: &CustomizationId) -> Option<CustomizationKey> {
    all_customizations(session).find_map(|one| {
        if one.id() == Some(id) {
            return CustomizationKey::of(one);
        }
        let mut children = one.children()?.iter();
        let child = children.find(|child| child.id() == Some(id))?;
        CustomizationKey::of_child(one, child)
    })
}

/// Returns all plugins and MCP servers with their keys and published decisions.
fn decidable_customizations(
    session: &SessionState,
) -> Vec<(
    CustomizationId,
    CustomizationKey,
    Vec<CustomizationEnablement>,
)> {
    let mut found = Vec::new();
    let shown = |list: &Option<Vec<_>>| list.clone().unwrap_or_default();
    for one in all_customizations(session) {
        let list = match one {
            Customization::Plugin(plugin) => Some(shown(&plugin.enablement)),
            Customization::McpServer(server) => Some(shown(&server.enablement)),
            Customization::Directory(_) | Customization::Unknown(_) => None,
        };
        if let (Some(id), Some(key), Some(list)) = (one.id(), CustomizationKey::of(one), list) {
            found.push((id.clone(), key, list));
        }
        for child in one.children().into_iter().flatten() {
            if let ChildCustomization::McpServer(server) = child
                && let Some(key) = CustomizationKey::of_child(one, child)
            {
                found.push((server.base.id.clone(), key, shown(&server.enablement)));
            }
        }
    }
    found
}
