//! Messages of the handshake, and `ping`.

use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::{ClientId, ServerSeq};
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// Parameters of the `initialize` request, the first request of a client.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InitializeParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Protocol versions that the client supports. Stored as text, because the host returns the
    /// selected entry verbatim (HSK-3).
    pub protocol_versions: Vec<String>,
    /// Id of the client, chosen by the client.
    pub client_id: ClientId,
    /// Name and version of the client program.
    pub client_info: Option<Implementation>,
    /// Channels to subscribe to during the handshake.
    pub initial_subscriptions: Option<Vec<Uri>>,
    /// Language of the user (BCP 47).
    pub locale: Option<String>,
    /// Optional features that the client supports.
    pub capabilities: Option<ClientCapabilities>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Optional features of a client. A present field means that the feature is supported.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ClientCapabilities {
    /// The client can show MCP Apps.
    pub mcp_apps: Option<Object>,
}

/// Name and version of a program. For logs only; the behaviour must not depend on it (HSK-18).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Implementation {
    /// Machine-readable name of the program.
    pub name: String,
    /// Version of the program.
    pub version: Option<String>,
    /// Display name of the program.
    pub title: Option<String>,
}

/// Result of the `initialize` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InitializeResult {
    /// Selected protocol version, exactly as the client wrote it.
    pub protocol_version: String,
    /// Current host-wide sequence number.
    pub server_seq: ServerSeq,
    /// Name and version of the host program.
    pub server_info: Option<Implementation>,
    /// One snapshot for each initial subscription that succeeded and has state.
    pub snapshots: Vec<Snapshot>,
    /// Directory at which clients start to browse files.
    pub default_directory: Option<Uri>,
    /// Characters that trigger completions in the message input.
    pub completion_trigger_characters: Option<Vec<String>>,
    /// Prefix of a message that the host runs as a terminal command (HSK-20).
    pub terminal_command_prefix: Option<String>,
    /// Telemetry channels that clients can subscribe to.
    pub telemetry: Option<TelemetryCapabilities>,
    /// Automation features of the host; if absent, there is no automations channel.
    pub automations: Option<AutomationCapabilities>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Telemetry channels, as URIs or URI templates.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct TelemetryCapabilities {
    /// Channel of log records; can contain the variable `{level}`.
    pub logs: Option<Uri>,
    /// Channel of trace spans.
    pub traces: Option<Uri>,
    /// Channel of metrics data.
    pub metrics: Option<Uri>,
}

/// Automation features of a host. A present field means that the feature is supported.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationCapabilities {
    /// Clients can create automations.
    pub create: Option<Presence>,
    /// Automations can run on a schedule.
    pub schedules: Option<AutomationScheduleCapabilities>,
    /// Clients can cancel runs.
    pub run_cancellation: Option<Presence>,
    /// Number of finished runs that the host retains.
    pub run_history_limit: Option<u64>,
    /// Session templates can contain plugins.
    pub customizations: Option<Presence>,
}

/// Limits for the schedules of automations.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationScheduleCapabilities {
    /// Minimum time between two scheduled runs, in minutes.
    pub min_interval_minutes: Option<u64>,
}

/// An empty object; its presence means that a feature is supported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Wire)]
pub struct Presence {}

/// Parameters of the `ping` request, a liveness check. It works at any time, also before the
/// handshake (TRN-5), so no field is required.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PingParams {
    /// The root channel; always `ahp-root://`.
    pub channel: Option<RootChannel>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}
