//! Publishes the customizations and slash commands of sessions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::customization::driver::CustomizationEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::task::{DriverTask, TrackedSession};
use crate::sources::{configured_servers, published_customization};
use crate::turn_view::{LoadedContainer, SessionView};

/// Debounce for changes of slash commands.
const COMMANDS_DEBOUNCE: Duration = Duration::from_millis(20);

type PublishedList = Vec<(CustomizationId, Arc<Customization>)>;

impl DriverTask {
    /// Recomputes the customization that clients see of a container.
    pub(super) fn recompute(&mut self, key: &str) {
        if let Some(shelf) = self.containers.get_mut(key) {
            let parsed = shelf.parsed.as_deref();
            let shown = published_customization(&self.settings, &shelf.definition, parsed);
            if *shelf.customization != shown {
                shelf.customization = Arc::new(shown);
            }
            let (definition, parsed) = (shelf.definition.clone(), shelf.parsed.clone());
            self.publish_code_trust(key, &definition, parsed.as_deref());
        }
    }

    /// Recomputes and publishes all containers after the set of approved code has changed.
    pub(super) fn recompute_all(&mut self) {
        let keys: Vec<String> = self.containers.keys().cloned().collect();
        for key in keys {
            self.recompute(&key);
        }
        self.recompute_packages();
        let sessions: Vec<Uri> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.stop_disallowed_hooks(&session);
            self.publish_changes(&session);
        }
    }

    /// Publishes the complete list of a session's customizations.
    pub(super) fn publish_all(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let now = self.collect_customizations(known);
        self.publish_specs(session);
        let all = now.iter().map(|(_, shown)| Customization::clone(shown));
        let all = all.collect();
        self.push_event(session, CustomizationEvent::CustomizationsFound { all });
        self.mark_published(session, now);
    }

    /// Publishes the changes of a session, if its complete list was published before.
    pub(super) fn publish_changes(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let Some(before) = &known.published else {
            return;
        };
        let now = self.collect_customizations(known);
        // An update appends a new customization to the list. This is right for client
        // plugins, which come last. Others have a fixed position, so they need the complete
        // list.
        let is_new = |(id, shown): &(CustomizationId, Arc<Customization>)| {
            !before.contains_key(id) && !is_from_client(shown)
        };
        if now.iter().any(is_new) {
            self.publish_all(session);
            return;
        }
        let changed = now
            .iter()
            .filter(|(id, shown)| before.get(id).is_none_or(|old| old != shown))
            .map(|(_, shown)| updated_event(shown));
        let here: BTreeSet<_> = now.iter().map(|(id, _)| id).collect();
        let gone = before.keys().filter(|id| !here.contains(id));
        let gone = gone.map(|id| CustomizationEvent::CustomizationRemoved(id.clone()));
        let events: Vec<_> = gone.chain(changed).collect();
        self.publish_specs(session);
        for event in events {
            self.push_event(session, event);
        }
        self.mark_published(session, now);
    }

    /// Publishes the changes of one container and reads no others.
    pub(super) fn publish_container(&mut self, session: &Uri, key: &str) {
        let Some(shelf) = self.containers.get(key) else {
            return;
        };
        let (id, shown) = (shelf.definition.id.clone(), shelf.customization.clone());
        let is_shown = shelf.is_published();
        let known = self.sessions.get_mut(session);
        let Some(published) = known.and_then(|known| known.published.as_mut()) else {
            return;
        };
        let event = match (is_shown, published.get(&id)) {
            (true, None) => {
                self.publish_all(session);
                return;
            }
            (true, Some(old)) if *old == shown => None,
            (true, Some(_)) => {
                let event = updated_event(&shown);
                published.insert(id, shown);
                Some(event)
            }
            (false, Some(_)) => {
                published.remove(&id);
                Some(CustomizationEvent::CustomizationRemoved(id))
            }
            (false, None) => return,
        };
        self.publish_container_specs(session, key);
        if let Some(event) = event {
            self.push_event(session, event);
        }
        self.schedule_commands(session);
    }

    fn mark_published(&mut self, session: &Uri, now: PublishedList) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.published = Some(now.into_iter().collect());
        }
        self.schedule_commands(session);
    }

    /// Schedules an update of the slash commands. Their names depend on each other and many
    /// containers may change at once, so the update is debounced.
    fn schedule_commands(&mut self, session: &Uri) {
        if let Some(known) = self.sessions.get_mut(session) {
            known
                .commands_due
                .get_or_insert_with(|| Instant::now() + COMMANDS_DEBOUNCE);
        }
    }

    /// Publishes changed commands of sessions with an expired debounce.
    pub(super) fn publish_commands(&mut self, now: Instant) {
        let mut due = Vec::new();
        for (uri, session) in &mut self.sessions {
            if session.commands_due.is_some_and(|at| at <= now) {
                session.commands_due = None;
                due.push(uri.clone());
            }
        }
        for session in due {
            let Some(view) = self.session_view(&session) else {
                continue;
            };
            let hooks = self.resolve_hooks(&session, &view);
            self.sync_tool_hooks(&session, &hooks);
            let commands = view.slash_commands();
            if let Some(known) = self.sessions.get_mut(&session)
                && known.commands != commands
            {
                known.commands.clone_from(&commands);
                self.push_event(&session, CustomizationEvent::CommandsChanged { commands });
            }
        }
    }

    /// Returns the customizations of a session in the order in which clients see them.
    fn collect_customizations(&self, session: &TrackedSession) -> PublishedList {
        let on_disk = session.containers.iter().filter_map(|key| {
            let shelf = self.containers.get(key)?;
            let id = shelf.definition.id.clone();
            shelf
                .is_published()
                .then(|| (id, shelf.customization.clone()))
        });
        let configured = configured_servers(&self.settings)
            .filter_map(|server| Some((server.id()?.clone(), Arc::new(server))));
        let brought = session.packages.iter().filter_map(|(key, id)| {
            let package = self.packages.get(key)?;
            Some((id.clone(), package.customization_as(id)))
        });
        on_disk.chain(configured).chain(brought).collect()
    }

    /// Returns the loaded containers and settings of a session, for the preparation of a
    /// turn.
    pub(super) fn session_view(&self, session: &Uri) -> Option<SessionView> {
        let known = self.sessions.get(session)?;
        let on_disk = known.containers.iter().filter_map(|key| {
            let shelf = self.containers.get(key)?;
            Some(LoadedContainer {
                definition: shelf.definition.clone(),
                parsed: shelf.parsed.clone()?,
            })
        });
        let brought = known.packages.iter().filter_map(|(key, id)| {
            let package = self.packages.get(key)?;
            Some(LoadedContainer {
                definition: package.definition_as(id),
                parsed: package.parsed.clone()?,
            })
        });
        let provider = known.provider.as_ref();
        let native = provider.and_then(|provider| self.settings.native_paths.get(provider));
        Some(SessionView {
            containers: on_disk.chain(brought).collect(),
            disabled: known.disabled.clone(),
            native_paths: native.cloned().unwrap_or_default(),
            home: self.settings.home.clone(),
            directories: known.directories.clone(),
        })
    }
}

fn updated_event(shown: &Customization) -> CustomizationEvent {
    CustomizationEvent::CustomizationUpdated(Box::new(shown.clone()))
}

fn is_from_client(shown: &Customization) -> bool {
    match shown {
        Customization::Plugin(plugin) => plugin.container.client_id.is_some(),
        Customization::Directory(_) | Customization::McpServer(_) | Customization::Unknown(_) => {
            false
        }
    }
}
