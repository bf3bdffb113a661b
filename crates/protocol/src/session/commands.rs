//! Requests and responses about sessions.

use super::active_client::ActiveClient;
use crate::common::{Meta, SessionConfigSchema};
use crate::ids::ProviderId;
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// Parameters of the `createSession` request, which creates a session and starts its agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateSessionParams {
    /// URI of the new session, chosen by the client.
    pub channel: Uri,
    /// Agent of the session; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Working directories of the session.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values, by property name.
    pub config: Option<Object>,
    /// Active client entry of the calling client.
    pub active_client: Option<ActiveClient>,
    /// Token for `root/progress` notifications; absent means none are sent.
    pub progress_token: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `disposeSession` request, which removes a session permanently.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DisposeSessionParams {
    /// URI of the session.
    pub channel: Uri,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `resolveSessionConfig` request, which returns the configuration schema for
/// the values chosen so far. The request has no side effects.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResolveSessionConfigParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Agent of the session; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Working directory of the session.
    pub working_directory: Option<Uri>,
    /// Configuration values chosen so far.
    pub config: Option<Object>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `resolveSessionConfig` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResolveSessionConfigResult {
    /// The complete schema, never a subset (CFG-1).
    pub schema: SessionConfigSchema,
    /// The given values, completed with defaults.
    pub values: Object,
}

/// Parameters of the `sessionConfigCompletions` request, which lists values of a property with
/// too many values for an `enum`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigCompletionsParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Agent of the session; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Working directory of the session.
    pub working_directory: Option<Uri>,
    /// Configuration values chosen so far.
    pub config: Option<Object>,
    /// Key of the property.
    pub property: String,
    /// Text that the user has typed.
    pub query: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `sessionConfigCompletions` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigCompletionsResult {
    /// Matching values, best first.
    pub items: Vec<SessionConfigValue>,
}

/// A value of a configuration property.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigValue {
    /// Value for the configuration.
    pub value: String,
    /// Display name for the user interface.
    pub label: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
}
