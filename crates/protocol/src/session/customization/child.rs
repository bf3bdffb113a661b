//! Customizations that are children of a plugin or directory.

use super::{CustomizationBase, CustomizationEnablement};
use crate::ids::CustomizationId;
use crate::session::mcp_server::McpServerCustomization;
use crate::wire::{Unknown, Wire};

/// A customization in a container.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum ChildCustomization {
    /// A custom agent of the container.
    Agent(AgentCustomization),
    /// A skill of the container.
    Skill(SkillCustomization),
    /// A prompt of the container.
    Prompt(PromptCustomization),
    /// A rule of the container.
    Rule(RuleCustomization),
    /// Hooks of the container.
    Hook(HookCustomization),
    /// An MCP server of the container.
    McpServer(Box<McpServerCustomization>),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Fields that all children except MCP servers share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct LeafBase {
    /// Fields that all customizations share.
    #[wire(flatten)]
    pub base: CustomizationBase,
    /// Enablement of the child itself, independent of its container; absent means `true`.
    pub enabled: Option<bool>,
}

/// A custom agent: instructions, optionally with a model and a tool list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentCustomization {
    /// Fields that all leaf customizations share.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// Purpose of the agent.
    pub description: Option<String>,
    /// Model of the agent; absent means the model of the session.
    pub model: Option<String>,
    /// Tools that the agent may use. Absent or empty means all (CUS-18).
    pub tools: Option<Vec<String>>,
    /// `true` if other agents can't delegate work to it.
    pub disable_model_invocation: Option<bool>,
    /// `true` if the user can't select it.
    pub disable_user_invocation: Option<bool>,
}

/// A skill: instructions for one kind of task.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SkillCustomization {
    /// Fields that all leaf customizations share.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// Purpose of the skill.
    pub description: Option<String>,
    /// `true` if the agent can't invoke the skill on its own.
    pub disable_model_invocation: Option<bool>,
    /// `true` if the user can't invoke the skill.
    pub disable_user_invocation: Option<bool>,
}

/// A prompt that the user can invoke.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PromptCustomization {
    /// Fields that all leaf customizations share.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// Purpose of the prompt.
    pub description: Option<String>,
}

/// A rule: instructions that are added to prompts.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RuleCustomization {
    /// Fields that all leaf customizations share.
    #[wire(flatten)]
    pub leaf: LeafBase,
    /// Content of the rule in short.
    pub description: Option<String>,
    /// `true` if the rule applies to every prompt.
    pub always_apply: Option<bool>,
    /// Globs of the files that the rule applies to; absent means all files.
    pub globs: Option<Vec<String>>,
}

/// Hooks of a container. Their commands are never published (CUS-19).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct HookCustomization {
    /// Fields that all leaf customizations share.
    #[wire(flatten)]
    pub leaf: LeafBase,
}

impl ChildCustomization {
    /// Returns the fields that all children except MCP servers share.
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

    /// Like [`Self::leaf`], for modification.
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

    /// Returns the MCP server, if it is one.
    pub fn as_mcp_server(&self) -> Option<&McpServerCustomization> {
        if let ChildCustomization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// Returns the MCP server for modification, if it is one.
    pub fn as_mcp_server_mut(&mut self) -> Option<&mut McpServerCustomization> {
        if let ChildCustomization::McpServer(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// Returns the fields that all customizations share; `None` for an unknown type.
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

    /// Returns `true` if the child itself is enabled, independent of its container.
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

    /// Returns the id; `None` for an unknown type.
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
