//! Rows of the tree of customizations.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{
    ChildCustomization, ContainerBase, Customization, CustomizationBase, LoadState, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Object, Wire};
use serde::Serialize;

use super::code::{CodeApproval, CodeState};
use super::decision::{DecisionScope, deciding_scope};
use super::server::ServerRow;
use crate::location::path_of;
use crate::visible_text::visible_label;

/// Characters of a name that are shown.
pub(super) const MAX_NAME: usize = 200;

/// Characters of a description or a path that are shown.
pub(super) const MAX_DESCRIPTION: usize = 400;

/// Characters of an error that are shown.
pub(super) const MAX_MESSAGE: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Wire)]
pub enum CustomizationKind {
    Plugin,
    Directory,
    Rule,
    Skill,
    Prompt,
    Agent,
    /// Hooks of an event.
    Hook,
    McpServer,
}

/// A customization with its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationRow {
    /// Id of the customization in the session.
    pub key: String,
    pub kind: CustomizationKind,
    /// Name in one line.
    pub name: String,
    /// Description in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Path of the file or folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Version of a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Origin of a top-level customization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<CustomizationOrigin>,
    /// Name of the client that offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// `true` if the customization itself is on. Content of a container that is off has no effect.
    pub enabled: bool,
    /// `true` if it can also be turned on and off in the folder and everywhere.
    pub scoped: bool,
    /// Extent of the decision that turned it on or off; absent without a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<DecisionScope>,
    /// Progress of reading a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<ContainerLoad>,
    /// State of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerRow>,
    /// Approval of the code of a container that did not come from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeApproval>,
    /// Content of a container.
    pub children: Vec<CustomizationRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CustomizationOrigin {
    /// A folder of the session.
    Workspace,
    /// A folder of the user.
    User,
    /// The configuration of the host.
    Configuration,
    /// A client of the session.
    Client,
    /// Another place, such as a repository.
    Other,
}

/// The progress of reading a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContainerLoad {
    /// State of the container.
    pub state: LoadKind,
    /// Reason of a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LoadKind {
    /// The host is reading it.
    Loading,
    Loaded,
    /// It was read with problems.
    Degraded,
    /// It could not be read.
    Error,
}

/// Session state and approved keys, from which rows are built.
pub(super) struct RowContext<'a> {
    session: &'a SessionState,
    settings: Option<&'a Object>,
}

impl CustomizationRow {
    /// Returns `true` if the container is on and its code waits for approval.
    pub(super) fn is_waiting(&self) -> bool {
        let code = self.code.as_ref();
        self.enabled && code.is_some_and(|code| code.state == CodeState::Waiting)
    }

    /// Returns the row and its children.
    pub(super) fn with_children(&self) -> impl Iterator<Item = &CustomizationRow> {
        std::iter::once(self).chain(&self.children)
    }

    /// Returns `true` if the row or a child matches a filter. Children that do not match are
    /// removed, unless the row itself does.
    pub(super) fn retain_matches(&mut self, is_match: impl Fn(&CustomizationRow) -> bool) -> bool {
        if is_match(self) {
            return true;
        }
        self.children.retain(|child| is_match(child));
        !self.children.is_empty()
    }

    /// Returns `true` if the name, description or path contains a text in lower case.
    pub(super) fn matches(&self, wanted: &str) -> bool {
        let texts = [
            Some(&self.name),
            self.description.as_ref(),
            self.path.as_ref(),
        ];
        let mut texts = texts.into_iter().flatten();
        texts.any(|text| text.to_lowercase().contains(wanted))
    }
}

impl<'a> RowContext<'a> {
    pub(super) fn new(session: &'a SessionState, settings: Option<&'a Object>) -> Self {
        RowContext { session, settings }
    }

    /// Returns the row of a top-level customization; `None` for an unknown type.
    pub(super) fn top_row(&self, one: &Customization) -> Option<CustomizationRow> {
        let base = one.base()?;
        let enabled = one.is_on();
        let row = match one {
            Customization::Plugin(plugin) => CustomizationRow {
                version: plugin
                    .version
                    .as_ref()
                    .map(|version| visible_label(version, MAX_NAME)),
                scoped: true,
                decided: deciding_scope(plugin.enablement.as_deref()),
                ..self.container_row(CustomizationKind::Plugin, &plugin.container, enabled)
            },
            Customization::Directory(directory) => {
                self.container_row(CustomizationKind::Directory, &directory.container, enabled)
            }
            Customization::McpServer(server) => CustomizationRow {
                server: Some(ServerRow::new(server, self.session)),
                scoped: true,
                decided: deciding_scope(server.enablement.as_deref()),
                ..plain_row(CustomizationKind::McpServer, base, enabled)
            },
            Customization::Unknown(_) => return None,
        };
        Some(CustomizationRow {
            origin: Some(row.origin.unwrap_or_else(|| self.origin(&base.uri))),
            code: CodeApproval::of_container(one, self.settings),
            ..row
        })
    }

    fn container_row(
        &self,
        kind: CustomizationKind,
        container: &ContainerBase,
        enabled: bool,
    ) -> CustomizationRow {
        let children = container.children.iter().flatten();
        let client = container.client_id.as_ref();
        CustomizationRow {
            load: container.load.as_ref().map(ContainerLoad::new),
            origin: client.map(|_| CustomizationOrigin::Client),
            client: client.map(|id| self.client_name(id)),
            children: children.filter_map(|child| self.child_row(child)).collect(),
            ..plain_row(kind, &container.base, enabled)
        }
    }

    fn child_row(&self, child: &ChildCustomization) -> Option<CustomizationRow> {
        let (kind, description) = match child {
            ChildCustomization::Agent(agent) => {
                (CustomizationKind::Agent, agent.description.clone())
            }
            ChildCustomization::Skill(skill) => {
                (CustomizationKind::Skill, skill.description.clone())
            }
            ChildCustomization::Prompt(prompt) => {
                (CustomizationKind::Prompt, prompt.description.clone())
            }
            ChildCustomization::Rule(rule) => {
                let globs = rule.globs.as_ref().map(|globs| globs.join(", "));
                (CustomizationKind::Rule, rule.description.clone().or(globs))
            }
            ChildCustomization::Hook(_) => (CustomizationKind::Hook, None),
            ChildCustomization::McpServer(_) => (CustomizationKind::McpServer, None),
            ChildCustomization::Unknown(_) => return None,
        };
        let server = child.as_mcp_server();
        Some(CustomizationRow {
            description: description.map(|text| visible_label(&text, MAX_DESCRIPTION)),
            server: server.map(|server| ServerRow::new(server, self.session)),
            scoped: server.is_some(),
            decided: server.and_then(|server| deciding_scope(server.enablement.as_deref())),
            ..plain_row(kind, child.base()?, child.is_on())
        })
    }

    fn origin(&self, uri: &Uri) -> CustomizationOrigin {
        let uri = uri.as_str();
        if uri.starts_with("agenthost-config:") {
            return CustomizationOrigin::Configuration;
        }
        let folders = self.session.metadata.working_directories.iter().flatten();
        let mut folders = folders.map(|folder| folder.as_str().trim_end_matches('/'));
        let is_inside = |folder: &str| {
            let rest = uri.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if folders.any(is_inside) {
            CustomizationOrigin::Workspace
        } else if uri.starts_with("file:") {
            CustomizationOrigin::User
        } else {
            CustomizationOrigin::Other
        }
    }

    fn client_name(&self, id: &ClientId) -> String {
        let mut clients = self.session.active_clients.iter();
        let client = clients.find(|client| client.client_id == *id);
        let name = client.and_then(|client| client.display_name.as_deref());
        visible_label(name.unwrap_or(id.as_str()), MAX_NAME)
    }
}

fn plain_row(kind: CustomizationKind, base: &CustomizationBase, enabled: bool) -> CustomizationRow {
    let path = base.uri.as_str().starts_with("file:");
    CustomizationRow {
        key: base.id.to_string(),
        kind,
        name: visible_label(&base.name, MAX_NAME),
        description: None,
        path: path.then(|| visible_label(&path_of(&base.uri), MAX_DESCRIPTION)),
        version: None,
        origin: None,
        client: None,
        enabled,
        scoped: false,
        decided: None,
        load: None,
        server: None,
        code: None,
        children: Vec::new(),
    }
}

impl ContainerLoad {
    fn new(load: &LoadState) -> Self {
        let (state, problem) = match load {
            LoadState::Loading => (LoadKind::Loading, None),
            LoadState::Loaded => (LoadKind::Loaded, None),
            LoadState::Degraded(problem) => (LoadKind::Degraded, Some(problem)),
            LoadState::Error(problem) => (LoadKind::Error, Some(problem)),
        };
        ContainerLoad {
            state,
            message: problem.map(|problem| visible_label(&problem.message, MAX_MESSAGE)),
        }
    }
}
