//! Customizations: plugins, directories and MCP servers that change the behaviour of an agent.
//!
//! At the top level there are containers (plugins, directories) and MCP servers. Containers
//! have agents, skills, prompts, rules, hooks and MCP servers as children; children have no
//! further children (CUS-1).

mod child;

use super::SessionState;
use super::mcp_server::McpServerCustomization;
use crate::common::{Icon, Meta, TextRange};
use crate::ids::{ClientId, CustomizationId};
use crate::uri::Uri;
use crate::wire::{Unknown, Variant, Wire};

pub use child::*;

/// A top-level customization of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum Customization {
    /// A plugin, distributed as a package.
    Plugin(PluginCustomization),
    /// A directory that the host watches.
    Directory(DirectoryCustomization),
    /// An MCP server from the configuration of the host.
    McpServer(Box<McpServerCustomization>),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The type of a customization.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum CustomizationType {
    /// A plugin, distributed as a package.
    Plugin,
    /// A directory that the host watches.
    Directory,
    /// A custom agent of a container.
    Agent,
    /// A skill of a container.
    Skill,
    /// A prompt of a container.
    Prompt,
    /// A rule of a container.
    Rule,
    /// Hooks of a container.
    Hook,
    /// An MCP server, top-level or in a container.
    McpServer,
    /// A type that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// Fields that all customizations share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CustomizationBase {
    /// Id of the customization, unique in the session; actions refer to it.
    pub id: CustomizationId,
    /// Permanent URI of the source.
    pub uri: Uri,
    /// Display name for the user interface.
    pub name: String,
    /// Icons for the user interface.
    pub icons: Option<Vec<Icon>>,
    /// Range in the file at `uri`, if the file contains more than this customization.
    pub range: Option<TextRange>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Fields that plugins and directories share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ContainerBase {
    /// Fields that all customizations share.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// Client that offers the container; absent if the host does.
    pub client_id: Option<ClientId>,
    /// Progress of reading the container.
    pub load: Option<LoadState>,
    /// Children of the container. Absent means not read yet; empty means none (CUS-4).
    pub children: Option<Vec<ChildCustomization>>,
}

/// A plugin package in the Open Plugins format.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PluginCustomization {
    /// Fields that plugins and directories share.
    #[wire(flatten)]
    pub container: ContainerBase,
    /// Enablement decisions by scope.
    pub enablement: Option<Vec<CustomizationEnablement>>,
    /// Version of the plugin, for display.
    pub version: Option<String>,
}

impl Variant for PluginCustomization {
    const TAG: &'static str = "type";
    const NAME: &'static str = "plugin";
}

/// A directory that the host watches. It need not exist.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DirectoryCustomization {
    /// Fields that plugins and directories share.
    #[wire(flatten)]
    pub container: ContainerBase,
    /// `true` if the directory is enabled.
    pub enabled: bool,
    /// Type of the customizations in the directory.
    pub contents: CustomizationType,
    /// `true` if clients may write new customizations into the directory (CUS-17).
    pub writable: bool,
}

/// The progress of reading a container.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum LoadState {
    /// The host is reading the container.
    Loading,
    /// The container was read without problems.
    Loaded,
    /// The container was read with warnings.
    Degraded(LoadProblem),
    /// The container could not be read.
    Error(LoadProblem),
}

/// A problem of reading a container.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct LoadProblem {
    /// Human-readable description of the problem.
    pub message: String,
}

/// An enablement decision for a customization. Lists are sorted by scope: session, workspace,
/// global. The first entry is effective; an empty list means enabled (CUS-10, CUS-11).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum CustomizationEnablement {
    /// A decision for all sessions.
    Global(Enablement),
    /// A decision for one workspace directory.
    Workspace(WorkspaceEnablement),
    /// A decision for this session.
    Session(Enablement),
    /// A scope that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// An enablement decision without further fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct Enablement {
    /// `true` if the customization is enabled.
    pub enabled: bool,
}

/// An enablement decision for one workspace directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct WorkspaceEnablement {
    /// URI of the directory.
    pub uri: Uri,
    /// `true` if the customization is enabled.
    pub enabled: bool,
}

impl CustomizationEnablement {
    /// Returns the effective enablement of a list of decisions.
    pub fn effective(list: &[Self]) -> bool {
        match list.first() {
            None => true,
            Some(Self::Global(decision) | Self::Session(decision)) => decision.enabled,
            Some(Self::Workspace(decision)) => decision.enabled,
            // A decision with an unknown scope must not enable a customization.
            Some(Self::Unknown(_)) => false,
        }
    }
}

impl SessionState {
    /// Returns `true` if a user can select the custom agent with this URI for a message.
    pub fn offers_agent(&self, uri: &Uri) -> bool {
        let all = self.customizations.iter().flat_map(|all| all.items());
        let on = all.filter(|one| one.is_on());
        let mut children = on.flat_map(|one| one.children().into_iter().flatten());
        children.any(|child| {
            let ChildCustomization::Agent(agent) = child else {
                return false;
            };
            // Users can't select a custom agent that is reserved for agents (CUS-18).
            let pickable = agent.disable_user_invocation != Some(true);
            agent.leaf.base.uri == *uri && pickable && child.is_on()
        })
    }
}

impl Customization {
    /// Returns the id; `None` for an unknown type.
    pub fn id(&self) -> Option<&CustomizationId> {
        match self {
            Customization::Plugin(plugin) => Some(&plugin.container.base.id),
            Customization::Directory(directory) => Some(&directory.container.base.id),
            Customization::McpServer(server) => Some(&server.base.id),
            Customization::Unknown(_) => None,
        }
    }

    /// Returns the MCP server, if it is one.
    pub fn as_mcp_server(&self) -> Option<&McpServerCustomization> {
        if let Customization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// Returns the children of a container; `None` if they were not read.
    pub fn children(&self) -> Option<&[ChildCustomization]> {
        match self {
            Customization::Plugin(plugin) => plugin.container.children.as_deref(),
            Customization::Directory(directory) => directory.container.children.as_deref(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }

    /// Returns the fields that all customizations share; `None` for an unknown type.
    pub fn base(&self) -> Option<&CustomizationBase> {
        match self {
            Customization::Plugin(plugin) => Some(&plugin.container.base),
            Customization::Directory(directory) => Some(&directory.container.base),
            Customization::McpServer(server) => Some(&server.base),
            Customization::Unknown(_) => None,
        }
    }

    /// Returns the progress of reading, if it is a container.
    pub fn load(&self) -> Option<&LoadState> {
        match self {
            Customization::Plugin(plugin) => plugin.container.load.as_ref(),
            Customization::Directory(directory) => directory.container.load.as_ref(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }

    /// Returns `true` if it is enabled. The children of a disabled container are disabled.
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

    /// Returns the MCP server with this id for modification: this customization or one of its
    /// children.
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

    /// Returns the children of a container for modification.
    pub fn children_mut(&mut self) -> Option<&mut Vec<ChildCustomization>> {
        match self {
            Customization::Plugin(plugin) => plugin.container.children.as_mut(),
            Customization::Directory(directory) => directory.container.children.as_mut(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        }
    }
}
