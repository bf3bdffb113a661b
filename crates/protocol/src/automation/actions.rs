//! All that can happen to automations and their runs.

use std::sync::Arc;

use super::definition::{AutomationDefinition, AutomationDefinitionPatch};
use super::run::AutomationRunLifecycle;
use super::state::AutomationEntry;
use crate::action::actions;
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// Something that happened to the catalogue of automations.
    pub enum AutomationsAction on Automations {
        /// Someone wants a new automation.
        CreateRequested(Box<AutomationCreateRequested>) = "automation/createRequested", Client, V0_9;
        /// Someone wants to change an automation.
        UpdateRequested(Box<AutomationUpdateRequested>) = "automation/updateRequested", Client, V0_9;
        /// An automation is new, or changed.
        Set(AutomationSet) = "automation/set", Host, V0_9;
        /// An automation is gone.
        Removed(AutomationRemoved) = "automation/removed", Client, V0_9;
    }
}

actions! {
    /// Something that happened to a run.
    pub enum AutomationRunAction on AutomationRun {
        /// The run got further.
        LifecycleChanged(Box<AutomationRunLifecycleChanged>) = "automationRun/lifecycleChanged", Host, V0_9;
        /// The run has one more session.
        SessionSet(AutomationRunSessionSet) = "automationRun/sessionSet", Host, V0_9;
        /// The run has one session less.
        SessionRemoved(AutomationRunSessionRemoved) = "automationRun/sessionRemoved", Host, V0_9;
        /// Another session is to be looked at first.
        PrimarySessionChanged(AutomationRunPrimarySessionChanged) = "automationRun/primarySessionChanged", Host, V0_9;
        /// Someone wants the run stopped.
        CancelRequested(AutomationRunCancelRequested) = "automationRun/cancelRequested", Client, V0_9;
    }
}

/// Someone wants a new automation. Changes nothing by itself (AUTO-4).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationCreateRequested {
    /// Its name, chosen by the client.
    pub resource: Uri,
    /// What it does.
    pub definition: AutomationDefinition,
}

/// Someone wants to change an automation. Changes nothing by itself (AUTO-4).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationUpdateRequested {
    /// The automation.
    pub resource: Uri,
    /// What to change.
    pub changes: AutomationDefinitionPatch,
}

/// An automation is new, or changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSet {
    /// The automation; replaces an entry of the same name.
    pub automation: Arc<AutomationEntry>,
}

/// An automation is gone.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRemoved {
    /// The automation.
    pub resource: Uri,
}

/// The run got further.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunLifecycleChanged {
    /// How far.
    pub lifecycle: AutomationRunLifecycle,
}

/// The run has one more session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSessionSet {
    /// The session.
    pub session: Uri,
}

/// The run has one session less.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunSessionRemoved {
    /// The session.
    pub session: Uri,
}

/// Another session is to be looked at first.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunPrimarySessionChanged {
    /// The session; absent means none.
    pub primary_session: Option<Uri>,
}

/// Someone wants the run stopped. Changes nothing by itself (AUTO-26).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationRunCancelRequested {}
