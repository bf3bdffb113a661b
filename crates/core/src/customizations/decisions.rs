//! Whether customizations are on.
//!
//! A decision holds in a session, in a folder, or everywhere (CUS-10). Those of
//! a session stand in its state (and are remembered, see `remembered`); the
//! others are kept among the settings of the host, by what stays the same when
//! the host starts again (CUS-13).

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationEnablement, CustomizationToggled, Enablement,
    McpServerCustomization, McpServerState, SessionAction, SessionState, WorkspaceEnablement,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use super::remembered::{own_decision, remembered};
use super::{BroughtPlugin, all_of};
use crate::effect::Effects;
use crate::host::Host;
use crate::refusal::Refusal;

/// Where decisions are kept among the settings.
pub(crate) const DECISIONS: &str = "customizationEnablement";

/// Most customizations of which decisions are kept.
const KEPT: usize = 1_000;

/// The word for everywhere, in what is kept. Folders are named by their
/// addresses.
pub(super) const EVERYWHERE: &str = "*";

/// A scope of one kind at most, and no folder but the one that the session is
/// in. One that nobody knows is not guessed at (FWD-3).
pub(crate) fn check_decisions(
    session: &SessionState,
    decisions: &[CustomizationEnablement],
) -> Result<(), Refusal> {
    let mut ranks = Vec::new();
    for decision in decisions {
        let rank = rank(decision).ok_or_else(|| {
            let reason = "enablement: expected `session`, `workspace` or `global`";
            Refusal::Invalid(reason.to_owned())
        })?;
        if ranks.contains(&rank) {
            let reason = "enablement: expected one decision for each scope at most";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
        ranks.push(rank);
        if let CustomizationEnablement::Workspace(decision) = decision
            && Some(&decision.uri) != primary(session)
        {
            let reason = "enablement: expected the primary folder of the session";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
    }
    Ok(())
}

/// The nearest first (CUS-10).
pub(crate) fn sort_decisions(decisions: &mut [CustomizationEnablement]) {
    decisions.sort_by_key(rank);
}

fn rank(decision: &CustomizationEnablement) -> Option<u8> {
    match decision {
        CustomizationEnablement::Session(_) => Some(0),
        CustomizationEnablement::Workspace(_) => Some(1),
        CustomizationEnablement::Global(_) => Some(2),
        CustomizationEnablement::Unknown(_) => None,
    }
}

fn primary(session: &SessionState) -> Option<&Uri> {
    session.metadata.working_directories.as_ref()?.first()
}

/// What a customization is called for good: where it comes from, and its name
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(pub(super) String);

impl Key {
    pub(super) fn of(customization: &Customization) -> Option<Self> {
        let base = customization.base()?;
        Some(match customization {
            Customization::McpServer(_) => Key(format!("{}#{}", base.uri, base.name)),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                Key(base.uri.as_str().to_owned())
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
        Some(Key(format!("{uri}#{kind}:{}", child.base()?.name)))
    }
}

impl Host {
    /// A customization with what was decided about it, and with what is known
    /// of its servers.
    pub(crate) fn as_decided(&self, session: &Uri, mut new: Customization) -> Customization {
        let Some(state) = self.session(session) else {
            return new;
        };
        let shown = all_of(state).find(|shown| shown.id() == new.id());
        let brought = self.brought_as(session, &new);
        let key = Key::of(&new);
        let list = |key: Option<&Key>, id: &_, shown: Option<&[_]>, published| {
            let own = own_decision(shown.unwrap_or_default()).or_else(|| remembered(state, id));
            let list = self.decided(state, key, own, published);
            (!list.is_empty()).then_some(list)
        };
        let keys: Vec<_> = new
            .children()
            .into_iter()
            .flatten()
            .map(|child| Key::of_child(&new, child))
            .collect();
        match &mut new {
            Customization::Plugin(plugin) => {
                let shown = shown.and_then(|shown| match shown {
                    Customization::Plugin(shown) => shown.enablement.as_deref(),
                    _ => None,
                });
                // What a client says of its own plugin holds everywhere (CUS-14).
                let published = brought.map(published_of);
                let id = &plugin.container.base.id;
                plugin.enablement = list(key.as_ref(), id, shown, published);
            }
            Customization::Directory(directory) => {
                let before = shown.map(Customization::is_on);
                let before = before.or_else(|| remembered(state, &directory.container.base.id));
                directory.enabled = before.unwrap_or_else(|| self.is_on_by_default(state, &key));
            }
            Customization::McpServer(server) => {
                let shown = shown.and_then(|shown| match shown {
                    Customization::McpServer(shown) => Some(&**shown),
                    _ => None,
                });
                let before = shown.and_then(|shown| shown.enablement.as_deref());
                server.enablement = list(key.as_ref(), &server.base.id, before, None);
                self.keep_running(session, server, shown);
            }
            Customization::Unknown(_) => {}
        }
        let shown_children = shown.and_then(Customization::children).unwrap_or_default();
        let children = new.children_mut().into_iter().flatten();
        for (child, key) in children.zip(&keys) {
            let name = child.base().map(|base| base.name.as_str());
            // By name, because a client does not know what the host finds (CUS-15).
            let published = brought.and_then(|brought| {
                let by_name = brought.plugin.child_enablement.as_ref()?;
                Some(by_name.get(name?)?.as_slice())
            });
            let shown = shown_children.iter().find(|shown| shown.id() == child.id());
            if let ChildCustomization::McpServer(server) = child {
                let shown = shown.and_then(|shown| match shown {
                    ChildCustomization::McpServer(shown) => Some(&**shown),
                    _ => None,
                });
                let before = shown.and_then(|shown| shown.enablement.as_deref());
                server.enablement = list(key.as_ref(), &server.base.id, before, published);
                self.keep_running(session, server, shown);
                continue;
            }
            let by_client = published.map(CustomizationEnablement::effective);
            // What a client decides holds until somebody here decides otherwise.
            let here = child.id().and_then(|id| remembered(state, id));
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

    /// A server that runs goes on running when what it is in is read again.
    fn keep_running(
        &self,
        session: &Uri,
        server: &mut McpServerCustomization,
        shown: Option<&McpServerCustomization>,
    ) {
        let known = self.customizing.get(session);
        let of_this_run = known.is_some_and(|known| known.servers.contains(&server.base.id));
        match shown.filter(|_| of_this_run) {
            Some(shown) => {
                server.state = shown.state.clone();
                server.channel.clone_from(&shown.channel);
                server.mcp_app.clone_from(&shown.mcp_app);
            }
            None => server.state = McpServerState::Stopped,
        }
    }

    /// All decisions about something in a session: its own, the others as they
    /// are kept, or as its client published them.
    fn decided(
        &self,
        session: &SessionState,
        key: Option<&Key>,
        own: Option<bool>,
        published: Option<&[CustomizationEnablement]>,
    ) -> Vec<CustomizationEnablement> {
        let own = own.map(|enabled| CustomizationEnablement::Session(Enablement { enabled }));
        let mut decided: Vec<_> = own.into_iter().collect();
        if let Some(folder) = primary(session)
            && let Some(enabled) = self.kept(key, folder.as_str())
        {
            let uri = folder.clone();
            let decision = WorkspaceEnablement { uri, enabled };
            decided.push(CustomizationEnablement::Workspace(decision));
        }
        let everywhere = match published {
            Some(published) => published.iter().find_map(|decision| match decision {
                CustomizationEnablement::Global(decision) => Some(decision.enabled),
                _ => None,
            }),
            None => self.kept(key, EVERYWHERE),
        };
        decided.extend(
            everywhere.map(|enabled| CustomizationEnablement::Global(Enablement { enabled })),
        );
        decided
    }

    fn is_on_by_default(&self, session: &SessionState, key: &Option<Key>) -> bool {
        let decided = self.decided(session, key.as_ref(), None, None);
        CustomizationEnablement::effective(&decided)
    }

    fn kept(&self, key: Option<&Key>, scope: &str) -> Option<bool> {
        let kept = self.setting(DECISIONS)?.as_object()?;
        kept.get(key?.0.as_str())?.get(scope)?.as_bool()
    }

    /// A client decided about a customization: what holds beyond its session is
    /// kept, and shown wherever else it holds.
    pub(crate) fn spread_decisions(
        &mut self,
        session: &Uri,
        toggled: &CustomizationToggled,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let Some((state, key)) = state.and_then(|state| Some((state, key_of(state, &toggled.id)?)))
        else {
            return;
        };
        let folder = primary(state).cloned();
        self.remember_decision(session, toggled, out);
        if self.keep_decisions(&key, folder.as_ref(), &toggled.enablement, out) {
            for other in self.customizing.keys().cloned().collect::<Vec<_>>() {
                if other != *session {
                    self.decide_again(&other, &key, out);
                }
            }
        }
        self.customizations_changed(session, out);
    }

    /// Says whether anything changed.
    fn keep_decisions(
        &mut self,
        key: &Key,
        folder: Option<&Uri>,
        decisions: &[CustomizationEnablement],
        out: &mut Effects,
    ) -> bool {
        let kept = self.setting(DECISIONS).and_then(Json::as_object);
        let before = kept.cloned().unwrap_or_default();
        let entry = before.get(&key.0).and_then(Json::as_object);
        let mut entry = entry.cloned().unwrap_or_default();
        entry.shift_remove(EVERYWHERE);
        if let Some(folder) = folder {
            entry.shift_remove(folder.as_str());
        }
        for decision in decisions {
            let (scope, enabled) = match decision {
                CustomizationEnablement::Global(decision) => (EVERYWHERE, decision.enabled),
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
        // The oldest that nobody decided about again goes first.
        while after.len() > KEPT
            && let Some(oldest) = after.keys().next().cloned()
        {
            after.shift_remove(&oldest);
        }
        if after == before {
            return false;
        }
        let config = Object::from_iter([(DECISIONS.to_owned(), Json::Object(after))]);
        let changed = RootAction::ConfigChanged(RootConfigChanged {
            config,
            replace: None,
        });
        self.originate(&RootChannel.into(), changed, out)
    }

    /// What holds beyond sessions has changed for something that this one may
    /// have, too.
    fn decide_again(&mut self, session: &Uri, key: &Key, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let mut toggles = Vec::new();
        for (id, own_key, shown) in decidable(state) {
            if own_key != *key {
                continue;
            }
            let brought = all_of(state).find(|one| one.id() == Some(&id));
            let published = brought.and_then(|one| self.brought_as(session, one));
            let published = published.map(published_of);
            let enablement = self.decided(state, Some(key), own_decision(&shown), published);
            if enablement != shown {
                toggles.push(CustomizationToggled { id, enablement });
            }
        }
        for toggle in toggles {
            self.originate(session, SessionAction::CustomizationToggled(toggle), out);
        }
        self.customizations_changed(session, out);
    }

    /// What a client told of a plugin that it brought.
    fn brought_as(&self, session: &Uri, shown: &Customization) -> Option<&BroughtPlugin> {
        let Customization::Plugin(plugin) = shown else {
            return None;
        };
        let client = plugin.container.client_id.as_ref()?;
        let known = self.customizing.get(session)?;
        known.brought.iter().find(|brought| {
            let told = &brought.plugin.plugin.0.container.base;
            brought.client == *client && told.uri == plugin.container.base.uri
        })
    }
}

/// What a client decided about a plugin that it brought.
fn published_of(brought: &BroughtPlugin) -> &[CustomizationEnablement] {
    let published = &brought.plugin.plugin.0.enablement;
    published.as_deref().unwrap_or_default()
}

fn key_of(session: &SessionState, id: &CustomizationId) -> Option<Key> {
    all_of(session).find_map(|one| {
        if one.id() == Some(id) {
            return Key::of(one);
        }
        let mut children = one.children()?.iter();
        let child = children.find(|child| child.id() == Some(id))?;
        Key::of_child(one, child)
    })
}

/// Everything that has decisions, with its names and what it shows.
fn decidable(session: &SessionState) -> Vec<(CustomizationId, Key, Vec<CustomizationEnablement>)> {
    let mut found = Vec::new();
    let shown = |list: &Option<Vec<_>>| list.clone().unwrap_or_default();
    for one in all_of(session) {
        let list = match one {
            Customization::Plugin(plugin) => Some(shown(&plugin.enablement)),
            Customization::McpServer(server) => Some(shown(&server.enablement)),
            Customization::Directory(_) | Customization::Unknown(_) => None,
        };
        if let (Some(id), Some(key), Some(list)) = (one.id(), Key::of(one), list) {
            found.push((id.clone(), key, list));
        }
        for child in one.children().into_iter().flatten() {
            if let ChildCustomization::McpServer(server) = child
                && let Some(key) = Key::of_child(one, child)
            {
                found.push((server.base.id.clone(), key, shown(&server.enablement)));
            }
        }
    }
    found
}
