//! Many events of a system become few changes.

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

/// How long nothing has to happen before changes are told.
const WATCH_DEBOUNCE: Duration = Duration::from_millis(50);

/// How long they are held back at most.
const MAX_WATCH_DEBOUNCE: Duration = Duration::from_millis(250);

/// Gathers events until there are no more, and tells what they come to.
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

/// What happened to each file, taken together.
#[derive(Debug, Default)]
struct PendingChanges(BTreeMap<PathBuf, Option<ResourceChangeType>>);

impl PendingChanges {
    fn add(&mut self, scope: &WatchScope, event: WatchEvent) {
        let event = match event {
            WatchEvent::Changed(event) => event,
            // All that can be said is that it has changed.
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
            // The two halves of it are told as well.
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

    /// Adds to what happened to a file before.
    fn record(&mut self, path: PathBuf, kind: ResourceChangeType) {
        use ResourceChangeType::{Added, Deleted, Updated};
        let before = self.0.get(&path).copied();
        let after = match (before, kind) {
            (None, kind) => Some(kind),
            // It came and went: nothing to tell, unless it comes again.
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
    fn several_changes_come_to_one() {
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
