//! Actions on the automation catalogue and on automation runs.

use std::sync::Arc;

use super::definition::{AutomationDefinition, AutomationDefinitionPatch};
use super::run::AutomationRunLifecycle;
use super::state::AutomationEntry;
use crate::action::actions;
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// An action on the automation catalogue.
    pub enum AutomationsAction on Automations {
        /// Requests a new automation.
        CreateRequested(Box<AutomationCreateRequested>) = "automation/createRequested", Client, V0_9;
        /// Requests a change of an automation.
        UpdateRequested(Box<AutomationUpdateRequested>) = "automation/updateRequested", Client, V0_9;
        /// Adds or replaces an automation.
        Set(AutomationSet) = "automation/set", Host, V0_9;
        /// Removes an automation from the catalogue.
        Removed(AutomationRemoved) = "automation/removed", Client, V0_9;
    }
}

actions! {
    /// An action on an automation run.
    pub enum AutomationRunAction on AutomationRun {
        /// Replaces the lifecycle of the run.
        LifecycleChanged(Box<AutomationRunLifecycleChanged>) = "automationRun/lifecycleChanged", Host, V0_9;
        /// Adds a session to the run.
        SessionSet(AutomationRunSessionSet) = "automationRun/sessionSet", Host, V0_9;
        /// Removes a session from the run.
        SessionRemoved(AutomationRunSessionRemoved) = "automationRun/sessionRemoved", Host, V0_9;
        /// Sets or clears the primary session.
        PrimarySessionChanged(AutomationRunPrimarySessionChanged) = "automationRun/primarySessionChanged", Host, V0_9;
        /// Requests cancellation of the run.
        CancelRequested(AutomationRunCancelRequested) = "automationRun/cancelRequested", Client, V0_9;
    }
}

/// A client requests a new automation. The reducer does not change the state (AUTO-4).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationCreateRequested {
    /// URI of the automation, chosen by the client.
    pub resource: Uri,
    /// Definition of the new automation.
    pub definition: AutomationDefinition,
}

/// A client requests a change of an automation. The reducer does not change the state (AUTO-4).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationUpdateRequested {
    /// URI of the automation.
    pub resource: Uri,
    /// Fields of the definition to replace.
    pub changes: AutomationDefinitionPatch,
}

/// The host added or replaced an automation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSet {
    /// The automation; replaces an entry with the same `resource`.
    pub automation: Arc<AutomationEntry>,
}

/// An automation was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRemoved {
    /// URI of the automation.
    pub resource: Uri,
}

/// The lifecycle of a run changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunLifecycleChanged {
    /// The new lifecycle, which replaces the previous one.
    pub lifecycle: AutomationRunLifecycle,
}

/// A session was added to a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSessionSet {
    /// URI of the session.
    pub session: Uri,
}

/// A session was removed from a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSessionRemoved {
    /// URI of the session.
    pub session: Uri,
}

/// The primary session of a run changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunPrimarySessionChanged {
    /// URI of the session; absent clears the primary session.
    pub primary_session: Option<Uri>,
}

/// A client requests cancellation of a run. The reducer does not change the state (AUTO-26).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCancelRequested {}
