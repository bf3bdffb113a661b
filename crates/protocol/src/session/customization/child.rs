//! What stands inside a plugin or directory.

use super::{CustomizationBase, CustomizationEnablement};
use crate::ids::CustomizationId;
use crate::session::mcp_server::McpServerCustomization;
use crate::wire::{Unknown, Wire};

/// A customization inside a container.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ChildCustomization {
    /// A custom agent.
    Agent(AgentCustomization),
    /// A skill.
    Skill(SkillCustomization),
    /// A prompt.
    Prompt(PromptCustomization),
    /// A rule.
    Rule(RuleCustomization),
    /// Hooks.
    Hook(HookCustomization),
    /// An MCP server.
    McpServer(Box<McpServerCustomization>),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What all of them have but MCP servers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct LeafBase {
    /// What all customizations have.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// Whether it is on, as far as it is itself concerned. Absent: on.
    pub enabled: Option<bool>,
}

/// A custom agent: a prompt with a choice of model and tools.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentCustomization {
    /// What all of them have.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// What it is good at.
    pub description: Option<String>,
    /// The model it wants; absent means the session's.
    pub model: Option<String>,
    /// The only tools it may use. Absent or empty: all (CUS-18).
    pub tools: Option<Vec<String>>,
    /// The agent may not hand work to it by itself.
    pub disable_model_invocation: Option<bool>,
    /// The user may not pick it.
    pub disable_user_invocation: Option<bool>,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SkillCustomization {
    /// What all of them have.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// What it is good for.
    pub description: Option<String>,
    /// The agent may not use it by itself.
    pub disable_model_invocation: Option<bool>,
    /// The user may not call it.
    pub disable_user_invocation: Option<bool>,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PromptCustomization {
    /// What all of them have.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// What it is for.
    pub description: Option<String>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RuleCustomization {
    /// What all of them have.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// What it demands.
    pub description: Option<String>,
    /// Whether it applies without anyone deciding so.
    pub always_apply: Option<bool>,
    /// The files it applies to; absent means all.
    pub globs: Option<Vec<String>>,
}

/// Hooks. What they run is never shown (CUS-19).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct HookCustomization {
    /// What all of them have.
    #[wire(flatten)]
    pub leaf: LeafBase,
}

impl ChildCustomization {
    /// What all of them have but MCP servers.
    pub fn leaf(&self) -> Option<&LeafBase> {
        match self {
            ChildCustomization::Agent(child) => Some(&child.leaf),
            ChildCustomization::Skill(child) => Some(&child.leaf),
            ChildCustomization::Prompt(child) => Some(&child.leaf),
            ChildCustomization::Rule(child) => Some(&child.leaf),
            ChildCustomization::Hook(child) => Some(&child.leaf),
            ChildCustomization::McpServer(_) | ChildCustomization::Unknown(_) => None,
        }
    }

    /// The same, to change it.
    pub fn leaf_mut(&mut self) -> Option<&mut LeafBase> {
        match self {
            ChildCustomization::Agent(child) => Some(&mut child.leaf),
            ChildCustomization::Skill(child) => Some(&mut child.leaf),
            ChildCustomization::Prompt(child) => Some(&mut child.leaf),
            ChildCustomization::Rule(child) => Some(&mut child.leaf),
            ChildCustomization::Hook(child) => Some(&mut child.leaf),
            ChildCustomization::McpServer(_) | ChildCustomization::Unknown(_) => None,
        }
    }

    /// The MCP server, if it is one.
    pub fn as_mcp_server(&self) -> Option<&McpServerCustomization> {
        if let ChildCustomization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// The MCP server, to change it.
    pub fn as_mcp_server_mut(&mut self) -> Option<&mut McpServerCustomization> {
        if let ChildCustomization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// What all customizations have, unless its kind is unknown.
    pub fn base(&self) -> Option<&CustomizationBase> {
        match self {
            ChildCustomization::McpServer(server) => Some(&server.base),
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Hook(_)
            | ChildCustomization::Unknown(_) => self.leaf().map(|leaf| &leaf.base),
        }
    }

    /// Whether it is on, as far as it is itself concerned.
    pub fn is_on(&self) -> bool {
        match self {
            ChildCustomization::McpServer(server) => {
                let list = server.enablement.as_deref();
                CustomizationEnablement::effective(list.unwrap_or_default())
            }
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Hook(_)
            | ChildCustomization::Unknown(_) => {
                let leaf = self.leaf();
                leaf.is_some_and(|leaf| leaf.enabled.unwrap_or(true))
            }
        }
    }

    /// The name it goes by, unless its kind is unknown.
    pub fn id(&self) -> Option<&CustomizationId> {
        match self {
            ChildCustomization::Agent(child) => Some(&child.leaf.base.id),
            ChildCustomization::Skill(child) => Some(&child.leaf.base.id),
            ChildCustomization::Prompt(child) => Some(&child.leaf.base.id),
            ChildCustomization::Rule(child) => Some(&child.leaf.base.id),
            ChildCustomization::Hook(child) => Some(&child.leaf.base.id),
            ChildCustomization::McpServer(child) => Some(&child.base.id),
            ChildCustomization::Unknown(_) => None,
        }
    }
}
