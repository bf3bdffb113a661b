//! What an automation does, and when.

use std::sync::Arc;

use crate::chat::Message;
use crate::common::{AgentSelection, ConfigSchema, Meta, ModelSelection};
use crate::ids::{ProviderId, TriggerId};
use crate::session::ClientPluginCustomization;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Object, Wire};

/// What an automation does, as a client wrote it. Holds no credentials and no
/// permissions (AUTO-32).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationDefinition {
    /// Name for people.
    pub title: String,
    /// The first message of every run; its origin is `automation` (AUTO-9).
    pub message: Arc<Message>,
    /// What the sessions of a run look like.
    pub session: AutomationSessionTemplate,
    /// Whether triggers start runs. People always may.
    pub enabled: bool,
    /// What starts runs; empty means only people do.
    pub triggers: Vec<AutomationTrigger>,
    /// What turns it off; one of them is enough, each kind at most once.
    pub disable_conditions: Option<Vec<AutomationDisableCondition>>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What changes of a definition. An absent field is unchanged; a given one
/// replaces what was there whole (AUTO-6).
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationDefinitionPatch {
    /// Name for people.
    pub title: Option<String>,
    /// The first message of every run.
    pub message: Option<Arc<Message>>,
    /// What the sessions of a run look like.
    pub session: Option<AutomationSessionTemplate>,
    /// Whether triggers start runs.
    pub enabled: Option<bool>,
    /// What starts runs.
    pub triggers: Option<Vec<AutomationTrigger>>,
    /// What turns it off; empty means nothing does.
    pub disable_conditions: Option<Vec<AutomationDisableCondition>>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What the sessions of a run look like.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct AutomationSessionTemplate {
    /// The agent; absent means the host's default.
    pub provider: Option<ProviderId>,
    /// The model.
    pub model: Option<ModelSelection>,
    /// The custom agent.
    pub agent: Option<AgentSelection>,
    /// Directories that it may use.
    pub working_directories: Option<Vec<Uri>>,
    /// Configuration values.
    pub config: Option<Object>,
    /// Plugins of clients; the host copies them when it accepts the
    /// definition, since no client may be there when it runs (AUTO-30).
    pub customizations: Option<Vec<ClientPluginCustomization>>,
}

/// What starts a run.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationTrigger {
    /// The time.
    Schedule(AutomationScheduleTrigger),
    /// Something that happened elsewhere.
    Event(AutomationEventTrigger),
}

/// Starts runs at certain times.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationScheduleTrigger {
    /// Its name in the definition.
    pub id: TriggerId,
    /// The times.
    pub schedule: AutomationSchedule,
    /// What to do about missed times; absent means one run for all.
    pub misfire_policy: Option<AutomationMisfirePolicy>,
}

/// Times that recur: minute, hour, day of month, month, day of week, as in
/// cron (AUTO-11 to AUTO-13).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationSchedule {
    /// The five fields.
    pub expression: String,
    /// An IANA time zone, such as `Europe/Berlin`.
    pub time_zone: String,
}

/// What to do about times that passed while the host was away.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AutomationMisfirePolicy {
    /// Nothing.
    Skip,
    /// One run for all of them.
    RunOnce,
    /// A policy of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// Starts runs when something happens elsewhere.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationEventTrigger {
    /// Its name in the definition.
    pub id: TriggerId,
    /// What kind of event source it is.
    pub r#type: String,
    /// Name of the source for people.
    pub title: String,
    /// More about the source.
    pub description: Option<String>,
    /// The events that count.
    pub events: Vec<AutomationTriggerEvent>,
    /// Values for the source's `configSchema`.
    pub config: Option<Object>,
}

/// An event that can start a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggerEvent {
    /// Its name, for the source.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
}

/// A source of events, as a host offers it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationTriggerDefinition {
    /// What kind of source it is.
    pub r#type: String,
    /// Name for people.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// The events it has.
    pub events: Vec<AutomationTriggerEvent>,
    /// What can be configured.
    pub config_schema: Option<ConfigSchema>,
}

/// What turns an automation off.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum AutomationDisableCondition {
    /// So many runs by triggers.
    AfterRuns(AutomationAfterRuns),
    /// A date.
    AfterDate(AutomationAfterDate),
}

/// Turns an automation off after so many runs by triggers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationAfterRuns {
    /// How many; at least one.
    pub max: u64,
}

/// Turns an automation off after a date.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationAfterDate {
    /// The date.
    pub date: Timestamp,
}
