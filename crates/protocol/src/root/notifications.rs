//! Notifications of the host that are not part of a state.

use crate::common::ProtectedResource;
use crate::session::{PartialSessionSummary, SessionSummary};
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// Parameters of the `root/sessionAdded` notification: a session was created.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionAddedParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Summary of the new session.
    pub summary: SessionSummary,
}

/// Parameters of the `root/sessionRemoved` notification: a session was disposed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionRemovedParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the session.
    pub session: Uri,
}

/// Parameters of the `root/sessionSummaryChanged` notification: an entry of the session list
/// changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionSummaryChangedParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the session.
    pub session: Uri,
    /// The changed fields of the summary.
    pub changes: PartialSessionSummary,
}

/// Parameters of the `root/progress` notification: the progress of a long-running request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ProgressParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Token from the request.
    pub progress_token: String,
    /// Current progress; never decreases.
    pub progress: u64,
    /// Final value of `progress`, if known. In the last notification `progress == total`
    /// (ROOT-18).
    pub total: Option<u64>,
    /// Human-readable description of the progress.
    pub message: Option<String>,
}

/// Parameters of the `auth/required` notification: the host requires a token.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AuthRequiredParams {
    /// Channel that needs the token.
    pub channel: Uri,
    /// Resource that the token must be for.
    pub resource: ProtectedResource,
    /// Reason for the requirement.
    pub reason: Option<AuthRequiredReason>,
}

/// The reason why the host requires a token.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AuthRequiredReason {
    /// The host has no token.
    Required,
    /// The token is no longer accepted.
    Expired,
    /// A reason that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// Parameters of `otlp/exportLogs`, `otlp/exportTraces` and `otlp/exportMetrics`: telemetry as
/// OTLP/JSON.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct OtlpExportParams {
    /// Telemetry channel of the subscription.
    pub channel: Uri,
    /// The OTLP message, unchanged.
    pub payload: Object,
}
