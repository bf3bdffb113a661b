//! What sessions are told, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use agenthost_core::customizing::CustomizationEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;

use super::task::{Session, Task};
use super::{SpecError, Untrusted};
use crate::mcp::McpSpec;
use crate::parse::Detail;
use crate::placeholders::Names;
use crate::sources::{Settings, server_id, servers, shown, to_allow, typed};
use crate::turns::{Shelved, View};

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
        self.found(session, now);
        self.tell_commands(session);
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
        let old: BTreeMap<_, _> = before.iter().map(|(id, shown)| (id, shown)).collect();
        let is_new = |(id, shown): &&(CustomizationId, Arc<Customization>)| {
            !old.contains_key(id) && !is_brought(shown)
        };
        // What clients bring comes last anyway; everything else has its place.
        if now.iter().any(|one| is_new(&one)) {
            self.share(session);
            self.found(session, now);
            self.tell_commands(session);
            return;
        }
        let changed: Vec<_> = now
            .iter()
            .filter(|(id, shown)| old.get(id).is_none_or(|old| *old != shown))
            .map(|(_, shown)| CustomizationEvent::Updated(Box::new(Customization::clone(shown))))
            .collect();
        let here: BTreeSet<_> = now.iter().map(|(id, _)| id).collect();
        let gone: Vec<_> = before
            .iter()
            .filter(|(id, _)| !here.contains(id))
            .map(|(id, _)| CustomizationEvent::Gone(id.clone()))
            .collect();
        self.share(session);
        for event in gone.into_iter().chain(changed) {
            self.tell(session, event);
        }
        if let Some(known) = self.sessions.get_mut(session) {
            known.told = Some(now);
        }
        self.tell_commands(session);
    }

    fn found(&mut self, session: &Uri, now: Shown) {
        let all = now.iter().map(|(_, shown)| Customization::clone(shown));
        let all = all.collect();
        self.tell(session, CustomizationEvent::Found { all });
        if let Some(known) = self.sessions.get_mut(session) {
            known.told = Some(now);
        }
    }

    fn tell_commands(&mut self, session: &Uri) {
        let Some(commands) = self.view(session).map(|view| view.commands()) else {
            return;
        };
        if let Some(known) = self.sessions.get_mut(session)
            && known.commands != commands
        {
            known.commands.clone_from(&commands);
            self.tell(session, CustomizationEvent::Commands { commands });
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

    /// Makes known how the servers of a session are reached, before anybody
    /// hears of them.
    fn share(&mut self, session: &Uri) {
        let Some(view) = self.view(session) else {
            return;
        };
        let workspace = view.directories.first().map(std::path::PathBuf::as_path);
        let mut specs: BTreeMap<CustomizationId, Result<McpSpec, SpecError>> = BTreeMap::new();
        for container in &view.containers {
            let to_allow = to_allow(&self.settings, &container.definition, &container.parsed);
            let names = container
                .definition
                .names(&self.settings, &self.data, workspace);
            for item in &container.parsed.items {
                if let (Detail::Server(server), Some(id)) = (&item.detail, item.child.id()) {
                    let spec = match to_allow.is_none() || !server.is_code() {
                        true => names.server(server).map_err(SpecError::from),
                        false => Err(SpecError::NotTrusted(typed(&container.definition.name))),
                    };
                    specs.insert(id.clone(), spec);
                }
            }
        }
        let names = bare_names(&self.settings, workspace);
        for server in &self.settings.servers {
            let spec = names.server(server).map_err(SpecError::from);
            specs.insert(server_id(server), spec);
        }
        let mut shared = self
            .shared
            .specs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        shared.insert(session.clone(), specs);
        drop(shared);
        self.share_untrusted();
    }

    /// Nobody asks about a session any more.
    pub(super) fn forget_shared(&mut self, session: &Uri) {
        let mut shared = self
            .shared
            .specs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        shared.remove(session);
        drop(shared);
        self.share_untrusted();
    }

    fn share_untrusted(&self) {
        let on_disk = self.shelves.values().filter_map(|shelf| {
            let parsed = shelf.parsed.as_deref()?;
            Some((&*shelf.definition, parsed))
        });
        let brought = self.packages.values().filter_map(|package| {
            let parsed = package.parsed.as_deref()?;
            Some((&*package.definition, parsed))
        });
        let untrusted = on_disk
            .chain(brought)
            .filter_map(|(definition, parsed)| {
                Some(Untrusted {
                    name: definition.name.clone(),
                    uri: definition.frame.uri.clone(),
                    key: to_allow(&self.settings, definition, parsed)?,
                })
            })
            .collect();
        let shared = self.shared.untrusted.lock();
        *shared.unwrap_or_else(PoisonError::into_inner) = untrusted;
    }
}

fn bare_names<'a>(settings: &'a Settings, workspace: Option<&'a Path>) -> Names<'a> {
    Names {
        package: None,
        data: None,
        workspace,
        home: settings.home.as_deref(),
        environment: &settings.environment,
    }
}

fn is_brought(shown: &Customization) -> bool {
    match shown {
        Customization::Plugin(plugin) => plugin.container.client_id.is_some(),
        Customization::Directory(_) | Customization::McpServer(_) | Customization::Unknown(_) => {
            false
        }
    }
}
