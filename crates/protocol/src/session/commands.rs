//! Commands about sessions.

use super::active_client::ActiveClient;
use crate::common::{Meta, SessionConfigSchema};
use crate::ids::ProviderId;
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// `createSession`: starts an agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateSessionParams {
    /// The new session, named by the client.
    pub channel: Uri,
    /// The agent; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Directories that it may use.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values.
    pub config: Option<Object>,
    /// What the calling client brings.
    pub active_client: Option<ActiveClient>,
    /// The client wants `root/progress` with this token.
    pub progress_token: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `disposeSession`: ends a session for good.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeSessionParams {
    /// The session.
    pub channel: Uri,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `resolveSessionConfig`: what could be configured, given what is chosen so
/// far. Has no effect.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResolveSessionConfigParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The agent.
    pub provider: Option<ProviderId>,
    /// The directory.
    pub working_directory: Option<Uri>,
    /// Values chosen so far.
    pub config: Option<Object>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `resolveSessionConfig`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResolveSessionConfigResult {
    /// All properties, never a part (CFG-1).
    pub schema: SessionConfigSchema,
    /// The given values, with defaults filled in.
    pub values: Object,
}

/// `sessionConfigCompletions`: values of a property that are too many to
/// list.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigCompletionsParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The agent.
    pub provider: Option<ProviderId>,
    /// The directory.
    pub working_directory: Option<Uri>,
    /// Values chosen so far.
    pub config: Option<Object>,
    /// The property.
    pub property: String,
    /// What the user has typed.
    pub query: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `sessionConfigCompletions`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigCompletionsResult {
    /// Values that fit, best first.
    pub items: Vec<SessionConfigValue>,
}

/// A value of a property.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigValue {
    /// The value.
    pub value: String,
    /// Name for people.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
}
