//! The handshake.

use crate::channel::Snapshot;
use crate::common::Meta;
use crate::ids::{ClientId, ServerSeq};
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// `initialize`: the first thing a client says.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InitializeParams {
    /// The root channel.
    pub channel: RootChannel,
    /// Versions that the client speaks. Kept as text: the host answers with
    /// exactly the one that it picks (HSK-3).
    pub protocol_versions: Vec<String>,
    /// The name that the client goes by.
    pub client_id: ClientId,
    /// What it is.
    pub client_info: Option<Implementation>,
    /// Channels to subscribe to at once.
    pub initial_subscriptions: Option<Vec<Uri>>,
    /// The language of its user (BCP 47).
    pub locale: Option<String>,
    /// What it can do.
    pub capabilities: Option<ClientCapabilities>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What a client can do. Presence means yes.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ClientCapabilities {
    /// Show MCP Apps.
    pub mcp_apps: Option<Object>,
}

/// What a program is. For logs; nothing depends on it (HSK-18).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Implementation {
    /// Its name, for programs.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Its name, for people.
    pub title: Option<String>,
}

/// Answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InitializeResult {
    /// The version that is spoken from now on, as the client wrote it.
    pub protocol_version: String,
    /// How far the host's history has got.
    pub server_seq: ServerSeq,
    /// What the host is.
    pub server_info: Option<Implementation>,
    /// A snapshot of each channel that could be subscribed to.
    pub snapshots: Vec<Snapshot>,
    /// Where a user starts to look for files.
    pub default_directory: Option<Uri>,
    /// Characters that bring up completions.
    pub completion_trigger_characters: Option<Vec<String>>,
    /// What a message starts with to run as a command (HSK-20).
    pub terminal_command_prefix: Option<String>,
    /// Telemetry that can be subscribed to.
    pub telemetry: Option<TelemetryCapabilities>,
    /// What the host can do about automations. Absent: there is no
    /// automations channel.
    pub automations: Option<AutomationCapabilities>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Telemetry channels, as URIs or templates of URIs.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct TelemetryCapabilities {
    /// Logs; may have a variable `{level}`.
    pub logs: Option<Uri>,
    /// Traces.
    pub traces: Option<Uri>,
    /// Metrics.
    pub metrics: Option<Uri>,
}

/// What a host can do about automations. Presence means yes.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationCapabilities {
    /// Clients can make new ones.
    pub create: Option<Presence>,
    /// They can run by schedule.
    pub schedules: Option<AutomationScheduleCapabilities>,
    /// Runs can be stopped.
    pub run_cancellation: Option<Presence>,
    /// How many finished runs are kept.
    pub run_history_limit: Option<u64>,
    /// Templates can have plugins.
    pub customizations: Option<Presence>,
}

/// What schedules can do.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationScheduleCapabilities {
    /// Shortest time between two runs.
    pub min_interval_minutes: Option<u64>,
}

/// Yes: an empty object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Wire)]
pub struct Presence {}

/// `ping`: is anybody there? Works at any time, even before the handshake
/// (TRN-5), so nothing is required of it.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct PingParams {
    /// The root channel.
    pub channel: Option<RootChannel>,
    /// Free data.
    pub meta: Option<Meta>,
}
