//! Types that several channels share.

mod auth;
mod config;
mod content;
mod directories;
mod icon;
mod model;
mod range;
mod report;
mod status;
mod tool;

pub use auth::{McpAuthReason, McpAuthRequirement, McpOAuthClient, ProtectedResource};
pub(crate) use config::change_config;
pub use config::{
    ConfigPropertySchema, ConfigSchema, SessionConfigPropertySchema, SessionConfigSchema,
};
pub use content::{ContentRef, FileEdit, FileEditCollection, FileEditDiffStats, FileEditSide};
pub(crate) use directories::{add_directory, remove_directory};
pub use icon::Icon;
pub use model::{AgentSelection, ModelInfo, ModelSelection, PolicyState};
pub use range::{TextPosition, TextRange, TextSelection};
pub use report::{ChangesSummary, ErrorInfo, UsageInfo};
pub use status::SessionStatus;
pub use tool::{ToolAnnotations, ToolDefinition};

/// Extension data, which peers can attach to most objects as `_meta`. The protocol transports
/// it unchanged.
pub type Meta = Box<crate::wire::Object>;
