//! The catalogue of automations.

use super::definition::AutomationDefinition;
use super::run::AutomationRunSummary;
use crate::common::Meta;
use crate::list::List;
use crate::session::PluginCustomization;
use crate::timestamp::Timestamp;
use crate::uri::Uri;
use crate::wire::{Standalone, Wire};

/// Every automation that a client may see.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationsState {
    /// The automations.
    pub entries: List<AutomationEntry>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// An automation, with what the host knows about it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AutomationEntry {
    /// Its name: an `ahp-automation:` URI that is no channel.
    pub resource: Uri,
    /// What it does.
    pub definition: AutomationDefinition,
    /// When it runs next; in the past while the host catches up.
    pub next_run_at: Option<Timestamp>,
    /// Runs by triggers so far, if an `afterRuns` condition counts them
    /// (AUTO-19).
    pub run_count: Option<u64>,
    /// Its latest runs, newest first.
    pub runs: Vec<AutomationRunSummary>,
    /// There are older runs: ask `fetchAutomationRuns` with this cursor.
    pub runs_next_cursor: Option<String>,
    /// What may be done with it now (AUTO-7).
    pub operations: Vec<AutomationOperation>,
    /// The host's copies of the plugins in its template.
    pub customizations: Option<Vec<Standalone<PluginCustomization>>>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its definition last changed.
    pub modified_at: Timestamp,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What may be done with an automation.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum AutomationOperation {
    /// Change it.
    Update,
    /// Remove it.
    Remove,
    /// Run it.
    Run,
    /// An operation of a newer version.
    #[wire(unknown)]
    Unknown(String),
}
