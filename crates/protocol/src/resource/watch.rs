//! The resource watch channel, which reports file changes.

use crate::action::actions;
use crate::outcome::Outcome;
use crate::uri::Uri;
use crate::wire::Wire;

/// The parameters of a watch. The state never changes: file changes are only reported in
/// actions.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceWatchState {
    /// URI of the watched file or directory.
    pub root: Uri,
    /// `true` if the whole tree below `root` is watched.
    pub recursive: bool,
    /// Patterns of files that are not reported.
    pub excludes: Option<WatchPatterns>,
    /// Patterns of files that are reported; absent means all files.
    pub includes: Option<WatchPatterns>,
}

/// A list of globs or paths relative to the root.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct WatchPatterns {
    /// Globs or relative paths.
    pub items: Vec<String>,
}

actions! {
    /// An action on a resource watch.
    pub enum ResourceWatchAction on ResourceWatch {
        /// Reports files that have changed.
        Changed(ResourceWatchChanged) = "resourceWatch/changed", Host, V0_2;
    }
}

/// Files below the root of the watch changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceWatchChanged {
    /// The changes; never empty (WAT-4).
    pub changes: ResourceChanges,
}

/// A list of file changes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceChanges {
    /// The changes in order.
    pub items: Vec<ResourceChange>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceChange {
    /// URI of the file.
    pub uri: Uri,
    /// Kind of change to the file.
    pub r#type: ResourceChangeType,
}

/// The kind of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ResourceChangeType {
    /// The file was created.
    Added,
    /// The content of the file changed.
    Updated,
    /// The file was deleted.
    Deleted,
}

impl ResourceWatchState {
    /// Applies an action to the watch. Always a no-op, because a watch has no history.
    pub fn reduce(&mut self, action: &ResourceWatchAction) -> Outcome {
        match action {
            ResourceWatchAction::Changed(_) => Outcome::NoOp,
        }
    }
}
