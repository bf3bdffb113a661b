//! Tools that a session offers to its agent.

use super::Meta;
use crate::wire::{Json, Wire};

/// A tool, provided by the host or by a client.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolDefinition {
    /// Its name, unique in the session.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Json>,
    /// JSON Schema of its result.
    pub output_schema: Option<Json>,
    /// Hints about its behaviour.
    pub annotations: Option<ToolAnnotations>,
    /// Free data.
    pub meta: Option<Meta>,
}

impl ToolDefinition {
    /// A tool of which nothing is known but its name.
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

/// Hints about a tool. They promise nothing.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolAnnotations {
    /// Another name for people.
    pub title: Option<String>,
    /// Changes nothing.
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    pub destructive_hint: Option<bool>,
    /// Calling it again changes nothing more.
    pub idempotent_hint: Option<bool>,
    /// Reaches out into the world.
    pub open_world_hint: Option<bool>,
}
