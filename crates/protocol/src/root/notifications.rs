//! What the host tells without being asked, outside of any state.

use crate::common::ProtectedResource;
use crate::session::{PartialSessionSummary, SessionSummary};
use crate::uri::{RootChannel, Uri};
use crate::wire::{Object, Wire};

/// `root/sessionAdded`: there is a new session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionAddedParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The session.
    pub summary: SessionSummary,
}

/// `root/sessionRemoved`: a session is gone.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionRemovedParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The session.
    pub session: Uri,
}

/// `root/sessionSummaryChanged`: what a list shows of a session changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionSummaryChangedParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The session.
    pub session: Uri,
    /// What changed.
    pub changes: PartialSessionSummary,
}

/// `root/progress`: how far a long request has got.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ProgressParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The token of the request.
    pub progress_token: String,
    /// How far; never less than before.
    pub progress: u64,
    /// How far it goes, if known. The last one says `progress == total`
    /// (ROOT-18).
    pub total: Option<u64>,
    /// In words.
    pub message: Option<String>,
}

/// `auth/required`: the host needs a token.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AuthRequiredParams {
    /// The channel it is needed for.
    pub channel: Uri,
    /// What it is needed for.
    pub resource: ProtectedResource,
    /// Why.
    pub reason: Option<AuthRequiredReason>,
}

/// Why the host needs a token.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AuthRequiredReason {
    /// There was none.
    Required,
    /// It is no longer good.
    Expired,
    /// A reason of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// `otlp/exportLogs`, `otlp/exportTraces`, `otlp/exportMetrics`: telemetry in
/// OTLP/JSON, as it is.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct OtlpExportParams {
    /// The telemetry channel that was subscribed to.
    pub channel: Uri,
    /// The OTLP message.
    pub payload: Object,
}
