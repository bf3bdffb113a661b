//! Customizations: what makes an agent behave as it should here.
//!
//! At the top stand containers (plugins, directories) and bare MCP servers;
//! inside containers stand agents, skills, prompts, rules, hooks and MCP
//! servers, and nothing below them (CUS-1).

mod child;

use super::SessionState;
use super::mcp_server::McpServerCustomization;
use crate::common::{Icon, Meta, TextRange};
use crate::ids::{ClientId, CustomizationId};
use crate::uri::Uri;
use crate::wire::{Unknown, Variant, Wire};

pub use child::*;

/// A customization at the top.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum Customization {
    /// A package.
    Plugin(PluginCustomization),
    /// A directory that the host watches.
    Directory(DirectoryCustomization),
    /// An MCP server of the host's own configuration.
    McpServer(Box<McpServerCustomization>),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What a customization is.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum CustomizationType {
    /// A package.
    Plugin,
    /// A watched directory.
    Directory,
    /// A custom agent.
    Agent,
    /// A skill.
    Skill,
    /// A prompt.
    Prompt,
    /// A rule.
    Rule,
    /// Hooks.
    Hook,
    /// An MCP server.
    McpServer,
    /// A type of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// What all customizations have.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationBase {
    /// Its name in the session, for actions.
    pub id: CustomizationId,
    /// Where it comes from, for good.
    pub uri: Uri,
    /// Name for people.
    pub name: String,
    /// Icons.
    pub icons: Option<Vec<Icon>>,
    /// Where in `uri` it stands, if that holds more.
    pub range: Option<TextRange>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What plugins and directories have.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ContainerBase {
    /// What all customizations have.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// The client that brought it; absent if the host did.
    pub client_id: Option<ClientId>,
    /// How far reading it has got.
    pub load: Option<LoadState>,
    /// What is in it. Absent: not read yet. Empty: nothing (CUS-4).
    pub children: Option<Vec<ChildCustomization>>,
}

/// A package in the Open Plugins format.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PluginCustomization {
    /// What containers have.
    #[wire(flatten)]
    pub container: ContainerBase,
    /// Decisions about whether it is on.
    pub enablement: Option<Vec<CustomizationEnablement>>,
    /// Its version, for display.
    pub version: Option<String>,
}

impl Variant for PluginCustomization {
    const TAG: &'static str = "type";
    const NAME: &'static str = "plugin";
}

/// A directory that the host watches. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DirectoryCustomization {
    /// What containers have.
    #[wire(flatten)]
    pub container: ContainerBase,
    /// Whether it is on.
    pub enabled: bool,
    /// What kind of customizations it holds.
    pub contents: CustomizationType,
    /// Whether clients may save new ones into it (CUS-17).
    pub writable: bool,
}

/// How far reading a container has got.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum LoadState {
    /// It is being read.
    Loading,
    /// It was read.
    Loaded,
    /// It was read, with something to complain about.
    Degraded(LoadProblem),
    /// It could not be read.
    Error(LoadProblem),
}

/// What was wrong with a container.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct LoadProblem {
    /// In words.
    pub message: String,
}

/// A decision about whether a customization is on. Lists are sorted session,
/// workspace, global; the first entry decides, an empty list means on
/// (CUS-10, CUS-11).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum CustomizationEnablement {
    /// Everywhere.
    Global(Enablement),
    /// In one directory.
    Workspace(WorkspaceEnablement),
    /// In this session.
    Session(Enablement),
    /// A scope of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct Enablement {
    /// Whether it is on.
    pub enabled: bool,
}

/// On or off in one directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct WorkspaceEnablement {
    /// The directory.
    pub uri: Uri,
    /// Whether it is on.
    pub enabled: bool,
}

impl CustomizationEnablement {
    /// What a list of decisions comes down to.
    pub fn effective(list: &[Self]) -> bool {
        match list.first() {
            None => true,
            Some(Self::Global(decision) | Self::Session(decision)) => decision.enabled,
            Some(Self::Workspace(decision)) => decision.enabled,
            // A scope that nobody here understands must not turn things on.
            Some(Self::Unknown(_)) => false,
        }
    }
}

impl SessionState {
    /// Whether a person can have a custom agent of the session take a message.
    pub fn offers_agent(&self, uri: &Uri) -> bool {
        let all = self.customizations.iter().flat_map(|all| all.items());
        let on = all.filter(|one| one.is_on());
        let mut children = on.flat_map(|one| one.children().into_iter().flatten());
        children.any(|child| {
            let ChildCustomization::Agent(agent) = child else {
                return false;
            };
            // One that only agents may pick, nobody else can (CUS-18).
            let pickable = agent.disable_user_invocation != Some(true);
            agent.leaf.base.uri == *uri && pickable && child.is_on()
        })
    }
}

impl Customization {
    /// The name it goes by, unless its kind is unknown.
    pub fn id(&self) -> Option<&CustomizationId> {
        match self {
            Customization::Plugin(plugin) => Some(&plugin.container.base.id),
            Customization::Directory(directory) => Some(&directory.container.base.id),
            Customization::McpServer(server) => Some(&server.base.id),
            Customization::Unknown(_) => None,
        }
    }

    /// The MCP server, if it is one.
    pub fn as_mcp_server(&self) -> Option<&McpServerCustomization> {
        if let Customization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// What is inside, if it is a container that was read.
    pub fn children(&self) -> Option<&[ChildCustomization]> {
        match self {
            Customization::Plugin(plugin) => plugin.container.children.as_deref(),
            Customization::Directory(directory) => directory.container.children.as_deref(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }

    /// What all customizations have, unless its kind is unknown.
    pub fn base(&self) -> Option<&CustomizationBase> {
        match self {
            Customization::Plugin(plugin) => Some(&plugin.container.base),
            Customization::Directory(directory) => Some(&directory.container.base),
            Customization::McpServer(server) => Some(&server.base),
            Customization::Unknown(_) => None,
        }
    }

    /// How far reading it has got, if it is a container.
    pub fn load(&self) -> Option<&LoadState> {
        match self {
            Customization::Plugin(plugin) => plugin.container.load.as_ref(),
            Customization::Directory(directory) => directory.container.load.as_ref(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }

    /// Whether it is on. What is in a container that is off, is off.
    pub fn is_on(&self) -> bool {
        let decided = |list: &Option<Vec<CustomizationEnablement>>| {
            CustomizationEnablement::effective(list.as_deref().unwrap_or_default())
        };
        match self {
            Customization::Plugin(plugin) => decided(&plugin.enablement),
            Customization::Directory(directory) => directory.enabled,
            Customization::McpServer(server) => decided(&server.enablement),
            Customization::Unknown(_) => false,
        }
    }

    /// A server at the top or inside, to change it.
    pub fn server_mut(&mut self, id: &CustomizationId) -> Option<&mut McpServerCustomization> {
        if let Customization::McpServer(server) = self {
            return (server.base.id == *id).then_some(server);
        }
        let mut children = self.children_mut()?.iter_mut();
        children.find_map(|child| {
            let server = child.as_mcp_server_mut()?;
            (server.base.id == *id).then_some(server)
        })
    }

    /// What is inside, to change it.
    pub fn children_mut(&mut self) -> Option<&mut Vec<ChildCustomization>> {
        match self {
            Customization::Plugin(plugin) => plugin.container.children.as_mut(),
            Customization::Directory(directory) => directory.container.children.as_mut(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }
}
