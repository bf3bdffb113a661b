//! Runs of an automation.

use crate::common::{ErrorInfo, Meta, UsageInfo};
use crate::ids::TriggerId;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// A run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunState {
    /// The run channel.
    pub resource: Uri,
    /// The automation.
    pub automation: Uri,
    /// What started it; never changes.
    pub origin: AutomationRunOrigin,
    /// How far it has got.
    pub lifecycle: AutomationRunLifecycle,
    /// Its sessions, each once.
    pub sessions: Vec<Uri>,
    /// The session to look at first.
    pub primary_session: Option<Uri>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What the catalogue shows of a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSummary {
    /// The run channel.
    pub resource: Uri,
    /// The automation.
    pub automation: Uri,
    /// What started it.
    pub origin: AutomationRunOrigin,
    /// How far it has got.
    pub lifecycle: AutomationRunLifecycle,
    /// The session to look at first.
    pub primary_session: Option<Uri>,
    /// How many sessions it has.
    pub session_count: u64,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What started a run.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationRunOrigin {
    /// A person.
    Manual,
    /// A trigger.
    Trigger(AutomationTriggeredRun),
}

/// The trigger that started a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggeredRun {
    /// The trigger.
    pub trigger_id: TriggerId,
    /// When it was due, by its schedule.
    pub scheduled_for: Option<Timestamp>,
    /// Whether it makes up for missed times.
    pub catch_up: Option<bool>,
    /// What happened, for display; no secrets.
    pub event: Option<Object>,
}

/// How far a run has got. A run that waits for the user is still running
/// (AUTO-23).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum AutomationRunLifecycle {
    /// Not begun.
    Pending(AutomationRunPending),
    /// Begun.
    Running(AutomationRunRunning),
    /// Done.
    Completed(AutomationRunCompleted),
    /// Failed.
    Failed(AutomationRunFailed),
    /// Stopped.
    Cancelled(AutomationRunCancelled),
}

/// A run that has not begun.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunPending {
    /// When it was created.
    pub created_at: Timestamp,
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunRunning {
    /// When it was created.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Timestamp,
}

/// A run that is done.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCompleted {
    /// When it was created.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Timestamp,
    /// What it cost, over all sessions.
    pub usage: Option<UsageInfo>,
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunFailed {
    /// When it was created.
    pub created_at: Timestamp,
    /// When it began, if it did.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Timestamp,
    /// Why.
    pub error: ErrorInfo,
}

/// A run that was stopped.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCancelled {
    /// When it was created.
    pub created_at: Timestamp,
    /// When it began, if it did.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Timestamp,
}
