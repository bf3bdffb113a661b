//! Debounces file system events and merges them to changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use agenthost_protocol::resource::{ResourceChange, ResourceChangeType};
use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};

use super::WatchScope;
use super::events::{WatchEvent, WatchEventReceiver};
use crate::file_uri::uri_of;

/// Time without events after which the changes are reported.
const WATCH_DEBOUNCE: Duration = Duration::from_millis(50);

/// Maximum delay of the first change, however many events follow.
const MAX_WATCH_DEBOUNCE: Duration = Duration::from_millis(250);

/// Collects events into batches and reports the merged changes, until the queue is closed.
pub(super) fn debounce_events(
    events: &WatchEventReceiver,
    scope: &WatchScope,
    mut on_changes: impl FnMut(Vec<ResourceChange>),
) {
    while let Some(first) = events.next() {
        let mut changes = PendingChanges::default();
        changes.add(scope, first);
        let deadline = Instant::now() + MAX_WATCH_DEBOUNCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match events.next_timeout(WATCH_DEBOUNCE.min(left)) {
                Ok(event) => changes.add(scope, event),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if left.is_zero() {
                break;
            }
        }
        let told = changes.into_changes();
        if !told.is_empty() {
            on_changes(told);
        }
    }
}

/// The merged change of each path. `None` means that it was added and deleted again.
#[derive(Debug, Default)]
struct PendingChanges(BTreeMap<PathBuf, Option<ResourceChangeType>>);

impl PendingChanges {
    fn add(&mut self, scope: &WatchScope, event: WatchEvent) {
        let event = match event {
            WatchEvent::Changed(event) => event,
            // Events were lost, so only a change of the root can be reported.
            WatchEvent::Lost => {
                self.record(scope.named.clone(), ResourceChangeType::Updated);
                return;
            }
        };
        let mut paths = event.paths.into_iter();
        let kinds: &[ResourceChangeType] = match event.kind {
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                &[ResourceChangeType::Added]
            }
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                &[ResourceChangeType::Deleted]
            }
            // Both halves of a rename are reported as separate events, too.
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => &[],
            EventKind::Modify(_) => &[ResourceChangeType::Updated],
            EventKind::Access(_) | EventKind::Any | EventKind::Other => &[],
        };
        for kind in kinds {
            if let Some(name) = paths.next().and_then(|path| scope.reported_path(&path)) {
                self.record(name, *kind);
            }
        }
    }

    /// Merges a change with the previous one of the same path.
    fn record(&mut self, path: PathBuf, kind: ResourceChangeType) {
        use ResourceChangeType::{Added, Deleted, Updated};
        let before = self.0.get(&path).copied();
        let after = match (before, kind) {
            (None, kind) => Some(kind),
            // Added and deleted within the batch: no change, unless the file is added again.
            (Some(Some(Added)), Deleted) => None,
            (Some(Some(Added)), _) => Some(Added),
            (Some(Some(Deleted)), Added | Updated) => Some(Updated),
            (Some(None), Added | Updated) => Some(Added),
            (Some(None), Deleted) => None,
            (Some(_), kind) => Some(kind),
        };
        self.0.insert(path, after);
    }

    fn into_changes(self) -> Vec<ResourceChange> {
        let changes = self.0.into_iter();
        changes
            .filter_map(|(path, kind)| {
                Some(ResourceChange {
                    uri: uri_of(&path)?,
                    r#type: kind?,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn changes_of_one_file_are_merged() {
        use ResourceChangeType::{Added, Deleted, Updated};
        let cases: &[(&[ResourceChangeType], Option<ResourceChangeType>)] = &[
            (&[Added, Updated, Updated], Some(Added)),
            (&[Updated, Deleted], Some(Deleted)),
            (&[Added, Deleted], None),
            (&[Added, Deleted, Added], Some(Added)),
            (&[Deleted, Added], Some(Updated)),
            (&[Deleted, Added, Deleted], Some(Deleted)),
            (&[Updated, Updated], Some(Updated)),
        ];
        for (kinds, expected) in cases {
            let mut changes = PendingChanges::default();
            for kind in *kinds {
                changes.record(Path::new("/x").to_owned(), *kind);
            }
            let told = changes.into_changes();
            assert_eq!(
                told.first().map(|change| change.r#type),
                *expected,
                "{kinds:?}"
            );
        }
    }
}
