//! The sources of customizations: definitions of containers before they are read.

pub(crate) mod locations;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agenthost_protocol::ids::{ClientId, CustomizationId, ProviderId};
use agenthost_protocol::session::{
    ContainerBase, Customization, CustomizationBase, DirectoryCustomization, LoadState,
    McpServerCustomization, McpServerState, PluginCustomization,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_stdx::shell::quote_word;
use agenthost_workspace::uri_of;

pub(crate) use locations::{container_definitions, is_native_path};

use crate::fetch::PluginSource;
use crate::inspect::CODE_META_KEY;
use crate::package::disk::{DiskRead, read_files, read_folder};
use crate::package::identity::make_id;
use crate::parse::{
    CODE_VERSION, ContainerFrame, ContainerLayout, DeclaredServer, ItemKind, ParsedContainer, parse,
};
use crate::syntax::placeholders::PlaceholderValues;

/// The user's settings about customizations.
#[derive(Debug, Clone, Default)]
pub struct CustomizationSettings {
    /// The configured plugin packages.
    pub plugins: Vec<ConfiguredPlugin>,
    /// MCP servers that do not belong to a package.
    pub servers: Vec<DeclaredServer>,
    /// The home folder of the user.
    pub home: Option<PathBuf>,
    /// The folder of the host's own configuration.
    pub config_home: Option<PathBuf>,
    /// Folders outside of workspaces that clients may write into.
    pub writable: Vec<PathBuf>,
    /// Keys of code that the user has approved; see [`code_key`].
    pub trusted_code: BTreeSet<String>,
    /// Paths that agents read by themselves: files, or folders with a slash at the end,
    /// relative to the workspace; with the prefix `~/`, relative to the user's home folder.
    pub native_paths: BTreeMap<ProviderId, Vec<String>>,
    /// Values of placeholders such as `${TOKEN}`, and the environment of hooks.
    pub environment: BTreeMap<String, String>,
}

/// A plugin package of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredPlugin {
    /// The source of its files.
    pub source: PluginSource,
    /// The agents that it is for; `None` for all agents.
    pub agents: Option<BTreeSet<ProviderId>>,
}

/// The origin of a container, which decides if its code is trusted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContainerOrigin {
    /// The configuration of the host.
    Configured,
    /// The user's own folders.
    User,
    /// A workspace. Its author is unknown and not trusted.
    Workspace,
    /// A client, with the plugin as the client published it.
    Client(ClientId, Box<PluginCustomization>),
}

/// The handling of a container that does not exist on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AbsencePolicy {
    /// The container is not published.
    Hide,
    /// The container is published, because a client can save files into it.
    Publish,
    /// The container is published with this error.
    Fail(String),
}

/// A container before it is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContainerDefinition {
    pub(crate) id: CustomizationId,
    pub(crate) frame: ContainerFrame,
    /// The URI of its source, if that differs from the location of its files.
    pub(crate) address: Option<Uri>,
    pub(crate) name: String,
    pub(crate) origin: ContainerOrigin,
    /// The folder of its files on the host's disk.
    pub(crate) root: PathBuf,
    /// The folder that links must not lead out of.
    pub(crate) boundary: PathBuf,
    /// Paths relative to the root; empty for all files.
    pub(crate) files: Vec<String>,
    pub(crate) writable: bool,
    pub(crate) absence_policy: AbsencePolicy,
}

/// The result of reading a container.
#[derive(Debug, Default)]
pub(crate) struct ContainerRead {
    pub(crate) parsed: ParsedContainer,
    pub(crate) present: bool,
    /// Folders that were read and have to be watched.
    pub(crate) folders: Vec<PathBuf>,
}

/// Returns the key that a user approves: the container with the digest of its current code.
pub fn code_key(container: &Uri, code: &str) -> String {
    format!("{container}#{code}")
}

/// Returns `false` for a key with a digest of another version of the encoding. Such a key
/// never matches.
pub fn is_current_code_key(key: &str) -> bool {
    let code = key.rsplit_once('#').map_or("", |(_, code)| code);
    code.starts_with(CODE_VERSION)
}

/// Returns the customizations of an agent that are known before a session exists
/// (`AgentInfo.customizations`).
pub fn configured_customizations(
    settings: &CustomizationSettings,
    data: &Path,
    provider: &ProviderId,
) -> Vec<Customization> {
    let plugins = locations::plugin_definitions(settings, data, provider);
    let plugins = plugins
        .iter()
        .map(|plugin| plugin.to_customization(None, None));
    plugins.chain(configured_servers(settings)).collect()
}

/// Returns a container as clients see it. Unapproved code is the first problem in the list.
pub(crate) fn published_customization(
    settings: &CustomizationSettings,
    definition: &ContainerDefinition,
    parsed: Option<&ParsedContainer>,
) -> Customization {
    let untrusted =
        parsed.is_some_and(|parsed| unapproved_code_key(settings, definition, parsed).is_some());
    let complaint = untrusted.then(|| {
        format!(
            "its hooks and MCP servers wait for approval: run \
             `agenthost customizations allow {}`",
            quote_word(&definition.name)
        )
    });
    definition.to_customization(parsed, complaint.as_deref())
}

/// Returns the key that has to be approved before the container's code may run; `None` if
/// the container has no code, or its current code is trusted or approved.
pub(crate) fn unapproved_code_key(
    settings: &CustomizationSettings,
    definition: &ContainerDefinition,
    parsed: &ParsedContainer,
) -> Option<String> {
    let key = code_key(&definition.frame.uri, parsed.code.as_ref()?);
    let trusted = definition.is_trusted() || settings.trusted_code.contains(&key);
    (!trusted).then_some(key)
}

/// Returns the MCP servers of the configuration as clients see them.
pub(crate) fn configured_servers(
    settings: &CustomizationSettings,
) -> impl Iterator<Item = Customization> {
    settings.servers.iter().map(|server| {
        let uri = format!("agenthost-config:/servers/{}", server.name);
        Customization::McpServer(Box::new(McpServerCustomization {
            base: CustomizationBase {
                id: server_id(server),
                uri: Uri::from(uri),
                name: server.name.clone(),
                icons: None,
                range: None,
                meta: None,
            },
            enablement: None,
            state: McpServerState::Stopped,
            channel: None,
            mcp_app: None,
        }))
    })
}

/// Returns the id of an MCP server of the configuration.
pub(crate) fn server_id(server: &DeclaredServer) -> CustomizationId {
    make_id("server", &["configuration", &server.name])
}

impl ContainerDefinition {
    pub(crate) fn new(
        root: PathBuf,
        layout: ContainerLayout,
        origin: ContainerOrigin,
        name: String,
    ) -> Option<Self> {
        let uri = uri_of(&root)?;
        Some(ContainerDefinition {
            id: container_id("", &uri, layout),
            frame: ContainerFrame {
                uri,
                owner: String::new(),
                layout,
            },
            address: None,
            name,
            origin,
            boundary: root.clone(),
            root,
            files: Vec::new(),
            writable: false,
            absence_policy: AbsencePolicy::Hide,
        })
    }

    /// Returns a key that distinguishes the container from all others, including one with
    /// the same id and other files.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.id, self.files.join(" "))
    }

    /// Reads the container from disk.
    pub(crate) fn read(&self) -> ContainerRead {
        let found = if self.files.is_empty() {
            read_folder(&self.root, &self.boundary)
        } else {
            read_files(&self.root, &self.files, &self.boundary)
        };
        match found {
            DiskRead::Present(found) => ContainerRead {
                parsed: parse(&found.package, &self.frame),
                present: true,
                folders: found.folders,
            },
            DiskRead::Absent => ContainerRead {
                parsed: match &self.absence_policy {
                    AbsencePolicy::Fail(why) => ParsedContainer::failed(why),
                    AbsencePolicy::Hide | AbsencePolicy::Publish => ParsedContainer::default(),
                },
                present: false,
                folders: Vec::new(),
            },
            DiskRead::Failed(why) => ContainerRead {
                parsed: ParsedContainer::failed(format!("{}: {why}", self.root.display())),
                present: true,
                folders: Vec::new(),
            },
        }
    }

    /// Returns `true` if the container exists, without reading it.
    pub(crate) fn is_present(&self) -> bool {
        match self.files.as_slice() {
            [] => self.root.exists(),
            files => files.iter().any(|file| self.root.join(file).exists()),
        }
    }

    /// Returns `true` if clients see the container.
    pub(crate) fn is_published(&self, present: bool) -> bool {
        present || self.absence_policy != AbsencePolicy::Hide
    }

    /// Returns `true` if its code may run without an approval.
    pub(crate) fn is_trusted(&self) -> bool {
        match self.origin {
            ContainerOrigin::Configured | ContainerOrigin::User => true,
            ContainerOrigin::Workspace | ContainerOrigin::Client(..) => false,
        }
    }

    /// Returns the name that clients see: the one of its manifest, or the one that its
    /// client gave it.
    pub(crate) fn published_name(&self, parsed: Option<&ParsedContainer>) -> String {
        let own_name = match self.origin {
            ContainerOrigin::Client(..) => None,
            ContainerOrigin::Configured | ContainerOrigin::User | ContainerOrigin::Workspace => {
                parsed.and_then(|parsed| parsed.name.clone())
            }
        };
        own_name.unwrap_or_else(|| self.name.clone())
    }

    /// Returns the container as clients see it. Without parsed files it has no children
    /// (CUS-4).
    pub(crate) fn to_customization(
        &self,
        parsed: Option<&ParsedContainer>,
        complaint: Option<&str>,
    ) -> Customization {
        let brought = match &self.origin {
            ContainerOrigin::Client(client, plugin) => Some((client, plugin)),
            ContainerOrigin::Configured | ContainerOrigin::User | ContainerOrigin::Workspace => {
                None
            }
        };
        let published = brought.map(|(_, plugin)| &plugin.container.base);
        let mut container = ContainerBase {
            base: CustomizationBase {
                id: self.id.clone(),
                uri: self.address.as_ref().unwrap_or(&self.frame.uri).clone(),
                name: self.published_name(parsed),
                icons: published.and_then(|base| base.icons.clone()),
                range: None,
                meta: published.and_then(|base| base.meta.clone()),
            },
            client_id: brought.map(|(client, _)| client.clone()),
            load: Some(match parsed {
                Some(parsed) => parsed.load_state(complaint),
                None => LoadState::Loading,
            }),
            children: parsed.map(ParsedContainer::children),
        };
        // With the key, a client can offer to approve the code.
        let code = parsed.and_then(|parsed| parsed.code.as_ref());
        if let (Some(code), true) = (code, complaint.is_some()) {
            let key = Json::from(code_key(&self.frame.uri, code));
            let meta = container.base.meta.get_or_insert_default();
            meta.insert(CODE_META_KEY.to_owned(), key);
        }
        match self.frame.layout {
            ContainerLayout::Plugin => Customization::Plugin(PluginCustomization {
                container,
                enablement: brought.and_then(|(_, plugin)| plugin.enablement.clone()),
                version: parsed
                    .and_then(|parsed| parsed.version.clone())
                    .or_else(|| brought.and_then(|(_, plugin)| plugin.version.clone())),
            }),
            ContainerLayout::Folder(kind) | ContainerLayout::Files(kind) => {
                self.to_directory(container, kind)
            }
        }
    }

    fn to_directory(&self, container: ContainerBase, kind: ItemKind) -> Customization {
        Customization::Directory(DirectoryCustomization {
            container,
            enabled: true,
            contents: kind.customization_type(),
            writable: self.writable,
        })
    }

    /// Returns the values of placeholders in its declarations.
    pub(crate) fn placeholder_values<'a>(
        &'a self,
        settings: &'a CustomizationSettings,
        data: &Path,
        workspace: Option<&'a Path>,
    ) -> PlaceholderValues<'a> {
        let is_plugin = self.frame.layout == ContainerLayout::Plugin;
        PlaceholderValues {
            package: is_plugin.then_some(self.root.as_path()),
            data: is_plugin.then(|| data.join("plugins/data").join(self.id.as_str())),
            workspace,
            home: settings.home.as_deref(),
            environment: &settings.environment,
        }
    }
}

/// Returns the id of a container.
pub(crate) fn container_id(owner: &str, uri: &Uri, layout: ContainerLayout) -> CustomizationId {
    let (word, kind) = match layout {
        ContainerLayout::Plugin => ("plugin", ""),
        ContainerLayout::Folder(kind) | ContainerLayout::Files(kind) => ("directory", kind.label()),
    };
    make_id(word, &[owner, uri.as_str(), kind])
}
