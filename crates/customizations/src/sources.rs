//! Where customizations come from.

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

/// What a person configured about customizations.
#[derive(Debug, Clone, Default)]
pub struct CustomizationSettings {
    /// Packages.
    pub plugins: Vec<ConfiguredPlugin>,
    /// Servers of tools that belong to no package.
    pub servers: Vec<DeclaredServer>,
    /// The user's folder.
    pub home: Option<PathBuf>,
    /// The folder of the host's own configuration.
    pub config_home: Option<PathBuf>,
    /// Folders outside of workspaces that clients may write into.
    pub writable: Vec<PathBuf>,
    /// Code that a person allowed; see [`code_key`].
    pub trusted_code: BTreeSet<String>,
    /// What agents read by themselves: files, or folders with a slash at the
    /// end, from the workspace; from the user's folder with `~/` in front.
    pub native_paths: BTreeMap<ProviderId, Vec<String>>,
    /// What names such as `${TOKEN}` stand for, and what hooks find in their
    /// environment.
    pub environment: BTreeMap<String, String>,
}

/// A package that a person configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredPlugin {
    /// Where it is.
    pub source: PluginSource,
    /// The agents that it is for; none means all.
    pub agents: Option<BTreeSet<ProviderId>>,
}

/// Who brought a container.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContainerOrigin {
    /// The configuration of the host.
    Configured,
    /// The user's own folders.
    User,
    /// A workspace: whoever wrote it is not known.
    Workspace,
    /// A client, as it told of it.
    Client(ClientId, Box<PluginCustomization>),
}

/// What to do about a container that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AbsencePolicy {
    /// It is not shown.
    Hide,
    /// It is shown: something can be saved into it.
    Publish,
    /// It is shown, with what is wrong.
    Fail(String),
}

/// A container before it is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContainerDefinition {
    pub(crate) id: CustomizationId,
    pub(crate) frame: ContainerFrame,
    /// Where it comes from, if that is not where its files are.
    pub(crate) address: Option<Uri>,
    pub(crate) name: String,
    pub(crate) origin: ContainerOrigin,
    /// Where the files are on this disk.
    pub(crate) root: PathBuf,
    /// What links may not lead out of.
    pub(crate) boundary: PathBuf,
    /// Which files of the root, if not all.
    pub(crate) files: Vec<String>,
    pub(crate) writable: bool,
    pub(crate) absence_policy: AbsencePolicy,
}

/// What came of reading a container.
#[derive(Debug, Default)]
pub(crate) struct ContainerRead {
    pub(crate) parsed: ParsedContainer,
    pub(crate) present: bool,
    /// Folders that were looked into.
    pub(crate) folders: Vec<PathBuf>,
}

/// What has to be allowed: a container with code as it is now.
pub fn code_key(container: &Uri, code: &str) -> String {
    format!("{container}#{code}")
}

/// Returns `false` for a key whose digest another version of the host made. Such
/// a key never matches.
pub fn is_current_code_key(key: &str) -> bool {
    let code = key.rsplit_once('#').map_or("", |(_, code)| code);
    code.starts_with(CODE_VERSION)
}

/// What agents of a kind are known to have before there is a session
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

/// What clients see of a container; that its code is not allowed is the first
/// thing they have to know.
pub(crate) fn published_customization(
    settings: &CustomizationSettings,
    definition: &ContainerDefinition,
    parsed: Option<&ParsedContainer>,
) -> Customization {
    let untrusted =
        parsed.is_some_and(|parsed| unapproved_code_key(settings, definition, parsed).is_some());
    let complaint = untrusted.then(|| {
        format!(
            "it has hooks or servers that nobody allowed yet, so these are not run: see \
             `agenthost customizations allow {}`",
            quote_name(&definition.name)
        )
    });
    definition.to_customization(parsed, complaint.as_deref())
}

/// What has to be allowed before the code of a container may run; none if it
/// has none, or somebody allowed it as it is now.
pub(crate) fn unapproved_code_key(
    settings: &CustomizationSettings,
    definition: &ContainerDefinition,
    parsed: &ParsedContainer,
) -> Option<String> {
    let key = code_key(&definition.frame.uri, parsed.code.as_ref()?);
    let trusted = definition.is_trusted() || settings.trusted_code.contains(&key);
    (!trusted).then_some(key)
}

/// A name as it is typed in a shell.
pub(crate) fn quote_name(name: &str) -> String {
    match name.contains(char::is_whitespace) {
        true => format!("'{name}'"),
        false => name.to_owned(),
    }
}

/// The servers of the configuration.
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

/// The name of a server of the configuration.
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

    /// Tells it from all others, also from one that has other files.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.id, self.files.join(" "))
    }

    /// Reads it from the disk.
    pub(crate) fn read(&self) -> ContainerRead {
        let found = match self.files.is_empty() {
            true => read_folder(&self.root, &self.boundary),
            false => read_files(&self.root, &self.files, &self.boundary),
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

    /// Whether it is there at all, without reading it.
    pub(crate) fn is_present(&self) -> bool {
        match self.files.as_slice() {
            [] => self.root.exists(),
            files => files.iter().any(|file| self.root.join(file).exists()),
        }
    }

    /// Whether it is shown although it may not be there.
    pub(crate) fn is_published(&self, present: bool) -> bool {
        present || self.absence_policy != AbsencePolicy::Hide
    }

    /// Whether its code may run without anybody allowing it.
    pub(crate) fn is_trusted(&self) -> bool {
        match self.origin {
            ContainerOrigin::Configured | ContainerOrigin::User => true,
            ContainerOrigin::Workspace | ContainerOrigin::Client(..) => false,
        }
    }

    /// The name that clients see: that of its manifest, or the one that its
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

    /// What clients get to see. What is not read yet has no children (CUS-4).
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
        // A client can offer to allow what is complained about.
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

    /// What names stand for in what it declares.
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

/// The name of a container.
pub(crate) fn container_id(owner: &str, uri: &Uri, layout: ContainerLayout) -> CustomizationId {
    let (word, kind) = match layout {
        ContainerLayout::Plugin => ("plugin", ""),
        ContainerLayout::Folder(kind) | ContainerLayout::Files(kind) => ("directory", kind.label()),
    };
    make_id(word, &[owner, uri.as_str(), kind])
}
