//! Shared tables, each behind a lock, that callers read without waiting for the task: MCP
//! server specs and code that is not approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::shell::quote_word;
use agenthost_stdx::sync::lock;

use super::task::DriverTask;
use super::{ServerSpecError, ServerSpecs, UntrustedCode};
use crate::parse::{ItemDetail, ParsedContainer};
use crate::sources::{ContainerDefinition, CustomizationSettings, server_id, unapproved_code_key};
use crate::syntax::placeholders::PlaceholderValues;
use crate::turn_view::LoadedContainer;

impl DriverTask {
    /// Stores the specs of a session's MCP servers. This happens before clients see the
    /// servers.
    pub(super) fn publish_specs(&mut self, session: &Uri) {
        let Some(view) = self.session_view(session) else {
            return;
        };
        let workspace = view.directories.first().map(PathBuf::as_path);
        let mut all: BTreeMap<CustomizationId, ServerSpecs> = BTreeMap::new();
        for container in &view.containers {
            let specs = self.container_specs(container, workspace);
            all.insert(container.definition.id.clone(), specs);
        }
        let names = session_placeholders(&self.settings, workspace);
        for server in &self.settings.servers {
            let spec = names.resolve_server(server).map_err(ServerSpecError::from);
            let id = server_id(server);
            all.insert(id.clone(), ServerSpecs::from([(id, spec)]));
        }
        all.retain(|_, specs| !specs.is_empty());
        let mut shared = lock(&self.shared.specs);
        shared.insert(session.clone(), all);
    }

    /// Stores the specs of one container's MCP servers.
    pub(super) fn publish_container_specs(&mut self, session: &Uri, key: &str) {
        let (Some(shelf), Some(known)) = (self.containers.get(key), self.sessions.get(session))
        else {
            return;
        };
        let Some(parsed) = shelf.parsed.clone() else {
            return;
        };
        let container = LoadedContainer {
            definition: shelf.definition.clone(),
            parsed,
        };
        let workspace = known.directories.first().map(PathBuf::as_path);
        let specs = self.container_specs(&container, workspace);
        let mut shared = lock(&self.shared.specs);
        let all = shared.entry(session.clone()).or_default();
        let id = container.definition.id.clone();
        if specs.is_empty() {
            all.remove(&id)
        } else {
            all.insert(id, specs)
        };
    }

    /// Removes the specs of a session that is no longer tracked.
    pub(super) fn remove_specs(&mut self, session: &Uri) {
        let mut shared = lock(&self.shared.specs);
        shared.remove(session);
    }

    /// Records if a container has code that is not approved.
    pub(super) fn publish_code_trust(
        &self,
        key: &str,
        definition: &ContainerDefinition,
        parsed: Option<&ParsedContainer>,
    ) {
        let to_allow =
            parsed.and_then(|parsed| unapproved_code_key(&self.settings, definition, parsed));
        let untrusted = to_allow.map(|code| UntrustedCode {
            name: definition.name.clone(),
            uri: definition.frame.uri.clone(),
            key: code,
        });
        let mut shared = lock(&self.shared.untrusted);
        match untrusted {
            Some(untrusted) => shared.insert(key.to_owned(), untrusted),
            None => shared.remove(key),
        };
    }

    /// Removes the record of a container that was removed.
    pub(super) fn remove_code_trust(&self, key: &str) {
        let mut shared = lock(&self.shared.untrusted);
        shared.remove(key);
    }

    fn container_specs(
        &self,
        container: &LoadedContainer,
        workspace: Option<&Path>,
    ) -> ServerSpecs {
        let to_allow =
            unapproved_code_key(&self.settings, &container.definition, &container.parsed);
        let names = container
            .definition
            .placeholder_values(&self.settings, &self.data, workspace);
        let mut specs = ServerSpecs::new();
        for item in &container.parsed.items {
            if let (ItemDetail::Server(server), Some(id)) = (&item.detail, item.child.id()) {
                let spec = if to_allow.is_none() {
                    names.resolve_server(server).map_err(ServerSpecError::from)
                } else {
                    Err(ServerSpecError::UntrustedCode(quote_word(
                        &container.definition.name,
                    )))
                };
                specs.insert(id.clone(), spec);
            }
        }
        specs
    }
}

fn session_placeholders<'a>(
    settings: &'a CustomizationSettings,
    workspace: Option<&'a Path>,
) -> PlaceholderValues<'a> {
    PlaceholderValues {
        package: None,
        data: None,
        workspace,
        home: settings.home.as_deref(),
        environment: &settings.environment,
    }
}
