//! Watches: a channel that tells what changes in a directory.

use crate::action::actions;
use crate::outcome::Outcome;
use crate::uri::Uri;
use crate::wire::Wire;

/// What is being watched. Never changes: what is seen goes by in actions.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceWatchState {
    /// The file or directory.
    pub root: Uri,
    /// Whether everything below it is watched, too.
    pub recursive: bool,
    /// What not to report.
    pub excludes: Option<WatchPatterns>,
    /// What to report; absent means everything.
    pub includes: Option<WatchPatterns>,
}

/// Globs, or paths from the root.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct WatchPatterns {
    /// The patterns.
    pub items: Vec<String>,
}

actions! {
    /// Something that a watch saw.
    pub enum ResourceWatchAction on ResourceWatch {
        /// Files changed.
        Changed(ResourceWatchChanged) = "resourceWatch/changed", Host, V0_2;
    }
}

/// Files changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceWatchChanged {
    /// What changed; never nothing (WAT-4).
    pub changes: ResourceChanges,
}

/// Several changes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceChanges {
    /// The changes.
    pub items: Vec<ResourceChange>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceChange {
    /// The file.
    pub uri: Uri,
    /// What happened to it.
    pub r#type: ResourceChangeType,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ResourceChangeType {
    /// It is new.
    Added,
    /// Its content is new.
    Updated,
    /// It is gone.
    Deleted,
}

impl ResourceWatchState {
    /// Applies an action to the watch: it keeps no history.
    pub fn reduce(&mut self, action: &ResourceWatchAction) -> Outcome {
        match action {
            ResourceWatchAction::Changed(_) => Outcome::NoOp,
        }
    }
}
