//! Requests and responses about automations.

use super::definition::AutomationTriggerDefinition;
use crate::common::Meta;
use crate::ids::ProviderId;
use crate::uri::{AutomationsChannel, Uri};
use crate::wire::{Object, Wire};

/// Parameters of the `listAutomationTriggerDefinitions` request, which lists the event sources
/// available to a session with these properties.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListAutomationTriggerDefinitionsParams {
    /// The automations channel; always `ahp-automations://`.
    pub channel: AutomationsChannel,
    /// Agent of the session; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Working directories of the session.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values of the session.
    pub session_config: Option<Object>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `listAutomationTriggerDefinitions` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListAutomationTriggerDefinitionsResult {
    /// Available event sources. Schedules are never listed (AUTO-29).
    pub items: Vec<AutomationTriggerDefinition>,
}

/// Parameters of the `runAutomation` request, which starts a run immediately.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RunAutomationParams {
    /// The automations channel; always `ahp-automations://`.
    pub channel: AutomationsChannel,
    /// URI of the automation to run.
    pub automation: Uri,
    /// Idempotency key: a repeated request with the same id starts no second run (AUTO-20).
    pub request_id: String,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `runAutomation` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RunAutomationResult {
    /// URI of the run channel.
    pub resource: Uri,
}

/// Parameters of the `fetchAutomationRuns` request, which loads earlier runs into the
/// catalogue. The host publishes them with `automation/set`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FetchAutomationRunsParams {
    /// The automations channel; always `ahp-automations://`.
    pub channel: AutomationsChannel,
    /// URI of the automation.
    pub automation: Uri,
    /// Cursor of the page to load, from `runsNextCursor`.
    pub cursor: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}
