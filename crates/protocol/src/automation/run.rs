//! State and lifecycle of automation runs.

use crate::common::{ErrorInfo, Meta, UsageInfo};
use crate::ids::TriggerId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// The state of an automation run channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunState {
    /// URI of the run channel.
    pub resource: Uri,
    /// URI of the automation.
    pub automation: Uri,
    /// Cause of the run; immutable.
    pub origin: AutomationRunOrigin,
    /// Current lifecycle of the run.
    pub lifecycle: AutomationRunLifecycle,
    /// URIs of the sessions of the run, without duplicates.
    pub sessions: Vec<Uri>,
    /// Session that clients open first.
    pub primary_session: Option<Uri>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// A run as listed in the catalogue.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSummary {
    /// URI of the run channel.
    pub resource: Uri,
    /// URI of the automation.
    pub automation: Uri,
    /// Cause of the run.
    pub origin: AutomationRunOrigin,
    /// Current lifecycle of the run.
    pub lifecycle: AutomationRunLifecycle,
    /// Session that clients open first.
    pub primary_session: Option<Uri>,
    /// Number of sessions of the run.
    pub session_count: u64,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Cause of a run.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationRunOrigin {
    /// A user started the run.
    Manual,
    /// A trigger started the run.
    Trigger(AutomationTriggeredRun),
}

/// The trigger that started a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggeredRun {
    /// Id of the trigger in the definition.
    pub trigger_id: TriggerId,
    /// Scheduled time of the run.
    pub scheduled_for: Option<Timestamp>,
    /// `true` if the run replaces missed times.
    pub catch_up: Option<bool>,
    /// Event data for display; contains no secrets.
    pub event: Option<Object>,
}

/// The lifecycle of a run. A run that waits for user input is still running (AUTO-23).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum AutomationRunLifecycle {
    /// The run has not started yet.
    Pending(AutomationRunPending),
    /// The run has started and has not ended.
    Running(AutomationRunRunning),
    /// The run ended successfully.
    Completed(AutomationRunCompleted),
    /// The run ended with an error.
    Failed(AutomationRunFailed),
    /// The run was cancelled.
    Cancelled(AutomationRunCancelled),
}

/// Lifecycle of a run that has not started yet.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunPending {
    /// Time at which the run was created.
    pub created_at: Timestamp,
}

/// Lifecycle of a run that has started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunRunning {
    /// Time at which the run was created.
    pub created_at: Timestamp,
    /// Time at which the run started.
    pub started_at: Timestamp,
}

/// Lifecycle of a run that ended successfully.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCompleted {
    /// Time at which the run was created.
    pub created_at: Timestamp,
    /// Time at which the run started.
    pub started_at: Timestamp,
    /// Time at which the run ended.
    pub completed_at: Timestamp,
    /// Token usage, summed over all sessions.
    pub usage: Option<UsageInfo>,
}

/// Lifecycle of a run that ended with an error.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunFailed {
    /// Time at which the run was created.
    pub created_at: Timestamp,
    /// Time at which the run started; absent if it never started.
    pub started_at: Option<Timestamp>,
    /// Time at which the run ended.
    pub completed_at: Timestamp,
    /// Error that ended the run.
    pub error: ErrorInfo,
}

/// Lifecycle of a cancelled run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCancelled {
    /// Time at which the run was created.
    pub created_at: Timestamp,
    /// Time at which the run started; absent if it never started.
    pub started_at: Option<Timestamp>,
    /// Time at which the run ended.
    pub completed_at: Timestamp,
}
