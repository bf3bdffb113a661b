//! Tools that a session offers to its agent.

use super::Meta;
use crate::wire::{Json, Wire};

/// A tool that the host or a client provides.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolDefinition {
    /// Name of the tool, unique in the session.
    pub name: String,
    /// Display name for the user interface.
    pub title: Option<String>,
    /// Description of the tool for the model.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Option<Json>,
    /// JSON Schema of the result.
    pub output_schema: Option<Json>,
    /// Hints about the behaviour of the tool.
    pub annotations: Option<ToolAnnotations>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

impl ToolDefinition {
    /// Creates a tool with only a name.
    pub fn new(name: impl Into<String>) -> Self {
        ToolDefinition {
            name: name.into(),
            title: None,
            description: None,
            input_schema: None,
            output_schema: None,
            annotations: None,
            meta: None,
        }
    }
}

/// Hints about the behaviour of a tool. They are not guarantees.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolAnnotations {
    /// Alternative display name of the tool.
    pub title: Option<String>,
    /// `true` if the tool does not modify its environment.
    pub read_only_hint: Option<bool>,
    /// `true` if the tool can be destructive.
    pub destructive_hint: Option<bool>,
    /// `true` if a repeated call has no further effect.
    pub idempotent_hint: Option<bool>,
    /// `true` if the tool interacts with external systems.
    pub open_world_hint: Option<bool>,
}
