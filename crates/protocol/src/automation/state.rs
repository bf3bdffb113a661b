//! State of the automations channel.

use super::definition::AutomationDefinition;
use super::run::AutomationRunSummary;
use crate::common::Meta;
use crate::list::List;
use crate::session::PluginCustomization;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Standalone, Wire};

/// The automations that a client is permitted to see.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationsState {
    /// One entry for each automation.
    pub entries: List<AutomationEntry>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// An automation with its runs and permitted operations.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationEntry {
    /// Id of the automation: an `ahp-automation:` URI, which is not a channel.
    pub resource: Uri,
    /// Definition of the automation.
    pub definition: AutomationDefinition,
    /// Time of the next scheduled run; in the past while the host catches up.
    pub next_run_at: Option<Timestamp>,
    /// Number of triggered runs, if an `afterRuns` condition counts them (AUTO-19).
    pub run_count: Option<u64>,
    /// The latest runs, newest first.
    pub runs: Vec<AutomationRunSummary>,
    /// Cursor for `fetchAutomationRuns`; present if there are earlier runs.
    pub runs_next_cursor: Option<String>,
    /// Operations that are currently permitted (AUTO-7).
    pub operations: Vec<AutomationOperation>,
    /// The host's copies of the plugins in the session template.
    pub customizations: Option<Vec<Standalone<PluginCustomization>>>,
    /// Time at which the automation was created.
    pub created_at: Timestamp,
    /// Time of the last change of the definition.
    pub modified_at: Timestamp,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// An operation on an automation.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AutomationOperation {
    /// The definition can be changed.
    Update,
    /// The automation can be removed.
    Remove,
    /// A run can be started.
    Run,
    /// An operation that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}
