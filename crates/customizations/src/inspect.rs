//! What a folder has, read once for a person: no host is needed, and nothing
//! is followed.

use std::path::{Path, PathBuf};

use agenthost_core::apply_enablement_settings;
use agenthost_core::tools::mcp::transport::McpServerSpec;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::wire::Object;
use agenthost_workspace::uri_of;

use crate::parse::{DeclaredHook, DeclaredServer, ItemDetail, ParsedContainer};
use crate::sources::{
    ContainerDefinition, CustomizationSettings, code_key, configured_servers, container_definitions,
};
use crate::syntax::placeholders::{PlaceholderValues, UnsetPlaceholder};

/// What has to be allowed before the code of a container is run, in its
/// `_meta`.
pub const CODE_META_KEY: &str = "agenthost.code";

/// Something that a folder has.
#[derive(Debug, Clone)]
pub struct InspectedContainer {
    /// What clients get to see of it.
    pub customization: Customization,
    /// How far reading it has got, apart from whether its code is allowed.
    pub load: LoadState,
    /// Where its files are; a server of the configuration has none.
    pub root: Option<PathBuf>,
    /// What it would run.
    pub code: Option<ContainerCode>,
}

/// What a container would run.
#[derive(Debug, Clone)]
pub struct ContainerCode {
    /// What has to be allowed; see [`code_key`].
    pub key: String,
    /// Whether it is.
    pub trust: CodeTrust,
    /// What it is, one by one.
    pub entries: Vec<CodeEntry>,
}

/// Whether code may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTrust {
    /// It is the user's own, or the configuration names it.
    Own,
    /// A person allowed it.
    Approved,
    /// Nobody has allowed it as it is now.
    Pending,
}

/// Something that would be run. It is for the person who has to allow it, and
/// for no client (CUS-19).
#[derive(Debug, Clone)]
pub enum CodeEntry {
    /// A hook.
    Hook {
        /// When, as its file calls it.
        event: String,
        /// What.
        hook: DeclaredHook,
    },
    /// A server.
    Server {
        /// As it was declared: no name in it is resolved.
        declared: DeclaredServer,
        /// How it would be reached.
        spec: Result<McpServerSpec, UnsetPlaceholder>,
    },
}

impl ContainerCode {
    /// Whether nobody has allowed it as it is now.
    pub fn needs_approval(&self) -> bool {
        self.trust == CodeTrust::Pending
    }
}

/// Reads all that a session of an agent in these folders would have, the
/// primary folder first; what is there for any agent if none is named.
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
            let name = &definition.name;
            format!("its code waits to be allowed: see `agenthost customizations allow {name}`")
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

/// Marks what is on and off in a folder, by what a host remembers in its
/// settings.
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
