//! What can be asked at any time: how servers are reached, and which code is
//! not allowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;

use super::task::Task;
use super::{SpecError, Specs, Untrusted};
use crate::parse::{Detail, Parsed};
use crate::placeholders::Names;
use crate::sources::{Definition, Settings, server_id, to_allow, typed};
use crate::turns::Shelved;

impl Task {
    /// Makes known how the servers of a session are reached, before anybody
    /// hears of them.
    pub(super) fn share(&mut self, session: &Uri) {
        let Some(view) = self.view(session) else {
            return;
        };
        let workspace = view.directories.first().map(PathBuf::as_path);
        let mut all: BTreeMap<CustomizationId, Specs> = BTreeMap::new();
        for container in &view.containers {
            let specs = self.specs_of(container, workspace);
            all.insert(container.definition.id.clone(), specs);
        }
        let names = bare_names(&self.settings, workspace);
        for server in &self.settings.servers {
            let spec = names.server(server).map_err(SpecError::from);
            let id = server_id(server);
            all.insert(id.clone(), Specs::from([(id, spec)]));
        }
        all.retain(|_, specs| !specs.is_empty());
        let shared = self.shared.specs.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        shared.insert(session.clone(), all);
    }

    /// The same for one container.
    pub(super) fn share_one(&mut self, session: &Uri, key: &str) {
        let (Some(shelf), Some(known)) = (self.shelves.get(key), self.sessions.get(session)) else {
            return;
        };
        let Some(parsed) = shelf.parsed.clone() else {
            return;
        };
        let container = Shelved {
            definition: shelf.definition.clone(),
            parsed,
        };
        let workspace = known.directories.first().map(PathBuf::as_path);
        let specs = self.specs_of(&container, workspace);
        let shared = self.shared.specs.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        let all = shared.entry(session.clone()).or_default();
        let id = container.definition.id.clone();
        match specs.is_empty() {
            true => all.remove(&id),
            false => all.insert(id, specs),
        };
    }

    /// Nobody asks about a session any more.
    pub(super) fn forget_shared(&mut self, session: &Uri) {
        let shared = self.shared.specs.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        shared.remove(session);
    }

    /// Makes known whether a container has code that nobody allowed.
    pub(super) fn share_code(&self, key: &str, definition: &Definition, parsed: Option<&Parsed>) {
        let to_allow = parsed.and_then(|parsed| to_allow(&self.settings, definition, parsed));
        let untrusted = to_allow.map(|code| Untrusted {
            name: definition.name.clone(),
            uri: definition.frame.uri.clone(),
            key: code,
        });
        let shared = self.shared.untrusted.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        match untrusted {
            Some(untrusted) => shared.insert(key.to_owned(), untrusted),
            None => shared.remove(key),
        };
    }

    /// A container is gone, and so is its code.
    pub(super) fn forget_code(&self, key: &str) {
        let shared = self.shared.untrusted.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        shared.remove(key);
    }

    fn specs_of(&self, container: &Shelved, workspace: Option<&Path>) -> Specs {
        let to_allow = to_allow(&self.settings, &container.definition, &container.parsed);
        let names = container
            .definition
            .names(&self.settings, &self.data, workspace);
        let mut specs = Specs::new();
        for item in &container.parsed.items {
            if let (Detail::Server(server), Some(id)) = (&item.detail, item.child.id()) {
                let spec = match to_allow.is_none() {
                    true => names.server(server).map_err(SpecError::from),
                    false => Err(SpecError::NotTrusted(typed(&container.definition.name))),
                };
                specs.insert(id.clone(), spec);
            }
        }
        specs
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
