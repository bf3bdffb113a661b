//! Reads the customizations of a folder once, for the command line. It needs no running
//! host and sets up no watches.

use std::path::{Path, PathBuf};

use agenthost_core::apply_enablement_settings;
use agenthost_core::tools::mcp::transport::McpServerSpec;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::wire::Object;
use agenthost_stdx::shell::quote_word;
use agenthost_workspace::uri_of;

use crate::parse::{DeclaredHook, DeclaredServer, ItemDetail, ParsedContainer};
use crate::sources::{
    ContainerDefinition, CustomizationSettings, code_key, configured_servers, container_definitions,
};
use crate::syntax::placeholders::{PlaceholderValues, UnsetPlaceholder};

/// The `_meta` key of a container for the code key that the user has to approve before its
/// code runs.
pub const CODE_META_KEY: &str = "agenthost.code";

/// A container or MCP server that a session in the folder would have.
#[derive(Debug, Clone)]
pub struct InspectedContainer {
    /// The customization as clients see it.
    pub customization: Customization,
    /// The load state, without the problem of unapproved code.
    pub load: LoadState,
    /// The folder of its files; `None` for a server of the configuration.
    pub root: Option<PathBuf>,
    /// The code that it would run.
    pub code: Option<ContainerCode>,
}

/// The code of a container, with its approval.
#[derive(Debug, Clone)]
pub struct ContainerCode {
    /// The key to approve; see [`code_key`].
    pub key: String,
    /// The current approval of the code.
    pub trust: CodeTrust,
    /// Its hooks and MCP servers.
    pub entries: Vec<CodeEntry>,
}

/// The approval of a container's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTrust {
    /// The code belongs to the user, or the configuration names it.
    Own,
    /// The user has approved this version of the code.
    Approved,
    /// The current version of the code is not approved.
    Pending,
}

/// A hook or MCP server that a container would run. It is for the user who approves the
/// code, and never sent to a client (CUS-19).
#[derive(Debug, Clone)]
pub enum CodeEntry {
    /// A command that runs at an event.
    Hook {
        /// The name of the event, as the file spells it.
        event: String,
        hook: DeclaredHook,
    },
    /// An MCP server of the container.
    Server {
        /// The declaration, with unresolved placeholders.
        declared: DeclaredServer,
        /// The spec with resolved placeholders, or the error for a placeholder without a
        /// value.
        spec: Result<McpServerSpec, UnsetPlaceholder>,
    },
}

impl ContainerCode {
    /// Returns `true` if the current version of the code is not approved.
    pub fn needs_approval(&self) -> bool {
        self.trust == CodeTrust::Pending
    }
}

/// Reads the customizations that a session of an agent in these folders would have. The
/// first folder is the primary one. Without an agent, the plugins of all agents are
/// included.
pub fn inspect(
    settings: &CustomizationSettings,
    data: &Path,
    agent: Option<&ProviderId>,
    directories: &[PathBuf],
) -> Vec<InspectedContainer> {
    let mut settings = settings.clone();
    let agent = agent.cloned().unwrap_or_else(|| {
        for plugin in &mut settings.plugins {
            plugin.agents = None;
        }
        ProviderId::from("")
    });
    let workspace = directories.first().map(PathBuf::as_path);
    let containers = container_definitions(&settings, data, &agent, directories);
    let containers = containers.iter().filter_map(|definition| {
        let reading = definition.read();
        let parsed = &reading.parsed;
        let names = definition.placeholder_values(&settings, data, workspace);
        let code = container_code(&settings, definition, parsed, &names);
        let waits = code.as_ref().is_some_and(ContainerCode::needs_approval);
        let complaint = waits.then(|| {
            let name = quote_word(&definition.name);
            format!("its code needs approval: run `agenthost customizations allow {name}`")
        });
        definition
            .is_published(reading.present)
            .then(|| InspectedContainer {
                customization: definition.to_customization(Some(parsed), complaint.as_deref()),
                load: parsed.load_state(None),
                root: Some(definition.root.clone()),
                code,
            })
    });
    let names = PlaceholderValues {
        package: None,
        data: None,
        workspace,
        home: settings.home.as_deref(),
        environment: &settings.environment,
    };
    let configured = configured_servers(&settings).zip(&settings.servers);
    let configured = configured.map(|(shown, declared)| InspectedContainer {
        customization: shown,
        load: LoadState::Loaded,
        root: None,
        code: Some(ContainerCode {
            key: String::new(),
            trust: CodeTrust::Own,
            entries: vec![server_entry(declared, &names)],
        }),
    });
    containers.chain(configured).collect()
}

/// Sets the enablement of containers from the stored settings of a host, for a folder.
pub fn apply_stored_enablement(
    containers: &mut [InspectedContainer],
    settings: &Object,
    folder: &Path,
) {
    let folder = uri_of(folder);
    for one in containers {
        apply_enablement_settings(settings, folder.as_ref(), &mut one.customization);
    }
}

fn container_code(
    settings: &CustomizationSettings,
    definition: &ContainerDefinition,
    parsed: &ParsedContainer,
    names: &PlaceholderValues<'_>,
) -> Option<ContainerCode> {
    let key = code_key(&definition.frame.uri, parsed.code.as_ref()?);
    let allowed = match definition.is_trusted() {
        true => CodeTrust::Own,
        false if settings.trusted_code.contains(&key) => CodeTrust::Approved,
        false => CodeTrust::Pending,
    };
    let runs = parsed.items.iter().flat_map(|item| match &item.detail {
        ItemDetail::Hooks(hooks) => hooks
            .iter()
            .map(|hook| CodeEntry::Hook {
                event: item.name.clone(),
                hook: hook.clone(),
            })
            .collect(),
        ItemDetail::Server(declared) => vec![server_entry(declared, names)],
        ItemDetail::Agent(_)
        | ItemDetail::Skill(_)
        | ItemDetail::Command(_)
        | ItemDetail::Prompt(_)
        | ItemDetail::Rule(_) => Vec::new(),
    });
    Some(ContainerCode {
        key,
        trust: allowed,
        entries: runs.collect(),
    })
}

fn server_entry(declared: &DeclaredServer, names: &PlaceholderValues<'_>) -> CodeEntry {
    CodeEntry::Server {
        spec: names.resolve_server(declared),
        declared: declared.clone(),
    }
}
