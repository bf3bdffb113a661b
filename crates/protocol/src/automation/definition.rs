//! The definition of an automation: message, session template, triggers, disable conditions.

use std::sync::Arc;

use crate::chat::Message;
use crate::common::{AgentSelection, ConfigSchema, Meta, ModelSelection};
use crate::ids::{ProviderId, TriggerId};
use crate::session::ClientPluginCustomization;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// The definition of an automation, written by a client. It contains no credentials and no
/// permissions (AUTO-32).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationDefinition {
    /// Display name for the user interface.
    pub title: String,
    /// First message of every run; its origin is `automation` (AUTO-9).
    pub message: Arc<Message>,
    /// Template for the sessions of a run.
    pub session: AutomationSessionTemplate,
    /// `true` if triggers start runs. Users can start runs in either case.
    pub enabled: bool,
    /// Triggers that start runs; if empty, only users start runs.
    pub triggers: Vec<AutomationTrigger>,
    /// Conditions that disable the automation. One fulfilled condition is enough; each kind
    /// occurs at most once.
    pub disable_conditions: Option<Vec<AutomationDisableCondition>>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Changes to a definition. An absent field stays unchanged; a present field replaces the
/// previous value completely (AUTO-6).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationDefinitionPatch {
    /// Display name for the user interface.
    pub title: Option<String>,
    /// First message of every run.
    pub message: Option<Arc<Message>>,
    /// Template for the sessions of a run.
    pub session: Option<AutomationSessionTemplate>,
    /// `true` if triggers start runs.
    pub enabled: Option<bool>,
    /// Triggers that start runs.
    pub triggers: Option<Vec<AutomationTrigger>>,
    /// Conditions that disable the automation; an empty list removes all conditions.
    pub disable_conditions: Option<Vec<AutomationDisableCondition>>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Template for the sessions of a run.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationSessionTemplate {
    /// Agent of the session; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// Model of the session.
    pub model: Option<ModelSelection>,
    /// Custom agent of the session.
    pub agent: Option<AgentSelection>,
    /// Working directories of the session.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values, by property name.
    pub config: Option<Object>,
    /// Plugins of clients. The host copies them when it accepts the definition, because no
    /// client may be connected when the automation runs (AUTO-30).
    pub customizations: Option<Vec<ClientPluginCustomization>>,
}

/// A condition that starts a run.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationTrigger {
    /// Starts runs at scheduled times.
    Schedule(AutomationScheduleTrigger),
    /// Starts runs on events of an external source.
    Event(AutomationEventTrigger),
}

/// A trigger that starts runs at scheduled times.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationScheduleTrigger {
    /// Id of the trigger, unique in the definition.
    pub id: TriggerId,
    /// Times at which runs start.
    pub schedule: AutomationSchedule,
    /// Policy for missed times; absent means one run for all missed times.
    pub misfire_policy: Option<AutomationMisfirePolicy>,
}

/// Recurring times in cron format: minute, hour, day of month, month, day of week (AUTO-11 to
/// AUTO-13).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSchedule {
    /// Cron expression with five fields.
    pub expression: String,
    /// IANA time zone, such as `Europe/Berlin`.
    pub time_zone: String,
}

/// Policy for scheduled times that passed while the host was not running.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AutomationMisfirePolicy {
    /// Missed times are skipped.
    Skip,
    /// All missed times result in one run.
    RunOnce,
    /// A policy that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// A trigger that starts runs on events of an external source.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationEventTrigger {
    /// Id of the trigger, unique in the definition.
    pub id: TriggerId,
    /// Type of the event source.
    pub r#type: String,
    /// Display name of the event source.
    pub title: String,
    /// Longer description of the event source.
    pub description: Option<String>,
    /// Events that start a run.
    pub events: Vec<AutomationTriggerEvent>,
    /// Values for the `configSchema` of the event source.
    pub config: Option<Object>,
}

/// An event that can start a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggerEvent {
    /// Id of the event, unique in its source.
    pub id: String,
    /// Display name for the user interface.
    pub title: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
}

/// An event source that the host offers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggerDefinition {
    /// Type of the event source.
    pub r#type: String,
    /// Display name for the user interface.
    pub title: String,
    /// Longer description for the user interface.
    pub description: Option<String>,
    /// Events that the source can report.
    pub events: Vec<AutomationTriggerEvent>,
    /// Schema of the configuration values of the source.
    pub config_schema: Option<ConfigSchema>,
}

/// A condition that disables an automation.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationDisableCondition {
    /// Disables after a number of triggered runs.
    AfterRuns(AutomationAfterRuns),
    /// Disables after a date.
    AfterDate(AutomationAfterDate),
}

/// Disables an automation after a number of triggered runs.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationAfterRuns {
    /// Number of triggered runs; at least one.
    pub max: u64,
}

/// Disables an automation after a date.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationAfterDate {
    /// Time after which the automation is disabled.
    pub date: Timestamp,
}
