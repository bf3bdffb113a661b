//! What sessions are told, and when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::customizing::CustomizationEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::task::{Session, Task};
use crate::sources::{servers, shown};
use crate::turns::{Shelved, View};

/// How long changes of commands are gathered.
const GATHERING: Duration = Duration::from_millis(20);

type Shown = Vec<(CustomizationId, Arc<Customization>)>;

impl Task {
    /// Computes anew what clients see of a container.
    pub(super) fn show(&mut self, key: &str) {
        if let Some(shelf) = self.shelves.get_mut(key) {
            let parsed = shelf.parsed.as_deref();
            let shown = shown(&self.settings, &shelf.definition, parsed);
            if *shelf.shown != shown {
                shelf.shown = Arc::new(shown);
            }
            let (definition, parsed) = (shelf.definition.clone(), shelf.parsed.clone());
            self.share_code(key, &definition, parsed.as_deref());
        }
    }

    /// Other code is trusted than before.
    pub(super) fn reshow(&mut self) {
        let keys: Vec<String> = self.shelves.keys().cloned().collect();
        for key in keys {
            self.show(&key);
        }
        self.reshow_packages();
        let sessions: Vec<Uri> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.stop_hooks(&session);
            self.publish(&session);
        }
    }

    /// Tells all that a session has.
    pub(super) fn publish_all(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let now = self.all_of(known);
        self.share(session);
        let all = now.iter().map(|(_, shown)| Customization::clone(shown));
        let all = all.collect();
        self.tell(session, CustomizationEvent::Found { all });
        self.was_told(session, now);
    }

    /// Tells what is new about a session, if it was told of before.
    pub(super) fn publish(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let Some(before) = &known.told else {
            return;
        };
        let now = self.all_of(known);
        // What clients bring comes last anyway; everything else has its place.
        let is_new = |(id, shown): &(CustomizationId, Arc<Customization>)| {
            !before.contains_key(id) && !is_brought(shown)
        };
        if now.iter().any(is_new) {
            self.publish_all(session);
            return;
        }
        let changed = now
            .iter()
            .filter(|(id, shown)| before.get(id).is_none_or(|old| old != shown))
            .map(|(_, shown)| updated(shown));
        let here: BTreeSet<_> = now.iter().map(|(id, _)| id).collect();
        let gone = before.keys().filter(|id| !here.contains(id));
        let gone = gone.map(|id| CustomizationEvent::Gone(id.clone()));
        let events: Vec<_> = gone.chain(changed).collect();
        self.share(session);
        for event in events {
            self.tell(session, event);
        }
        self.was_told(session, now);
    }

    /// The same if only one container can have changed: nothing else is looked
    /// at.
    pub(super) fn publish_one(&mut self, session: &Uri, key: &str) {
        let Some(shelf) = self.shelves.get(key) else {
            return;
        };
        let (id, shown) = (shelf.definition.id.clone(), shelf.shown.clone());
        let is_shown = shelf.is_shown();
        let known = self.sessions.get_mut(session);
        let Some(told) = known.and_then(|known| known.told.as_mut()) else {
            return;
        };
        let event = match (is_shown, told.get(&id)) {
            (true, None) => {
                self.publish_all(session);
                return;
            }
            (true, Some(old)) if *old == shown => None,
            (true, Some(_)) => {
                let event = updated(&shown);
                told.insert(id, shown);
                Some(event)
            }
            (false, Some(_)) => {
                told.remove(&id);
                Some(CustomizationEvent::Gone(id))
            }
            (false, None) => return,
        };
        self.share_one(session, key);
        if let Some(event) = event {
            self.tell(session, event);
        }
        self.commands_changed(session);
    }

    fn was_told(&mut self, session: &Uri, now: Shown) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.told = Some(now.into_iter().collect());
        }
        self.commands_changed(session);
    }

    /// Commands depend on each other's names, so they are told when a little
    /// time has passed: many containers may change at once.
    fn commands_changed(&mut self, session: &Uri) {
        if let Some(known) = self.sessions.get_mut(session) {
            known
                .commands_due
                .get_or_insert_with(|| Instant::now() + GATHERING);
        }
    }

    /// Tells commands of sessions where they may be others.
    pub(super) fn tell_commands(&mut self, now: Instant) {
        let mut due = Vec::new();
        for (uri, session) in &mut self.sessions {
            if session.commands_due.is_some_and(|at| at <= now) {
                session.commands_due = None;
                due.push(uri.clone());
            }
        }
        for session in due {
            let Some(view) = self.view(&session) else {
                continue;
            };
            let hooks = self.ready_hooks(&session, &view);
            self.tell_tool_hooks(&session, &hooks);
            let commands = view.commands();
            if let Some(known) = self.sessions.get_mut(&session)
                && known.commands != commands
            {
                known.commands.clone_from(&commands);
                self.tell(&session, CustomizationEvent::Commands { commands });
            }
        }
    }

    /// All that clients see of a session, in order.
    fn all_of(&self, session: &Session) -> Shown {
        let on_disk = session.shelves.iter().filter_map(|key| {
            let shelf = self.shelves.get(key)?;
            let id = shelf.definition.id.clone();
            shelf.is_shown().then(|| (id, shelf.shown.clone()))
        });
        let configured = servers(&self.settings)
            .filter_map(|server| Some((server.id()?.clone(), Arc::new(server))));
        let brought = session.packages.iter().filter_map(|(key, id)| {
            let package = self.packages.get(key)?;
            Some((id.clone(), package.shown_as(id)))
        });
        on_disk.chain(configured).chain(brought).collect()
    }

    /// All that a session has, for a turn.
    pub(super) fn view(&self, session: &Uri) -> Option<View> {
        let known = self.sessions.get(session)?;
        let on_disk = known.shelves.iter().filter_map(|key| {
            let shelf = self.shelves.get(key)?;
            Some(Shelved {
                definition: shelf.definition.clone(),
                parsed: shelf.parsed.clone()?,
            })
        });
        let brought = known.packages.iter().filter_map(|(key, id)| {
            let package = self.packages.get(key)?;
            Some(Shelved {
                definition: package.defined_as(id),
                parsed: package.parsed.clone()?,
            })
        });
        let provider = known.provider.as_ref();
        let native = provider.and_then(|provider| self.settings.native.get(provider));
        Some(View {
            containers: on_disk.chain(brought).collect(),
            disabled: known.disabled.clone(),
            native: native.cloned().unwrap_or_default(),
            home: self.settings.home.clone(),
            directories: known.directories.clone(),
        })
    }
}

fn updated(shown: &Customization) -> CustomizationEvent {
    CustomizationEvent::Updated(Box::new(shown.clone()))
}

fn is_brought(shown: &Customization) -> bool {
    match shown {
        Customization::Plugin(plugin) => plugin.container.client_id.is_some(),
        Customization::Directory(_) | Customization::McpServer(_) | Customization::Unknown(_) => {
            false
        }
    }
}
