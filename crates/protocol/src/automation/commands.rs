//! Commands about automations.

use super::definition::AutomationTriggerDefinition;
use crate::common::Meta;
use crate::ids::ProviderId;
use crate::uri::{AutomationsChannel, Uri};
use crate::wire::{Object, Wire};

/// `listAutomationTriggerDefinitions`: sources of events that a session like
/// this could react to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListAutomationTriggerDefinitionsParams {
    /// The automations channel.
    pub channel: AutomationsChannel,
    /// The agent.
    pub provider: Option<ProviderId>,
    /// The directories.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values.
    pub session_config: Option<Object>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `listAutomationTriggerDefinitions`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListAutomationTriggerDefinitionsResult {
    /// The sources. Schedules are never among them (AUTO-29).
    pub items: Vec<AutomationTriggerDefinition>,
}

/// `runAutomation`: runs an automation now.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RunAutomationParams {
    /// The automations channel.
    pub channel: AutomationsChannel,
    /// The automation.
    pub automation: Uri,
    /// A name for the request: asking again with the same one starts nothing
    /// new (AUTO-20).
    pub request_id: String,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `runAutomation`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RunAutomationResult {
    /// The run channel.
    pub resource: Uri,
}

/// `fetchAutomationRuns`: loads older runs into the catalogue, by
/// `automation/set`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FetchAutomationRunsParams {
    /// The automations channel.
    pub channel: AutomationsChannel,
    /// The automation.
    pub automation: Uri,
    /// Where to go on.
    pub cursor: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}
