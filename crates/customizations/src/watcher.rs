//! Which containers are touched by what happens on the disk.
//!
//! Single folders are watched, never whole trees: those that a container was
//! read from, and those above it, in which only one name matters. So a
//! container that is not there yet is noticed when it comes, and a workspace
//! with a million files costs no more than a small one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agenthost_stdx::sync::lock;
use agenthost_workspace::{FolderSubscription, WatchDepth, WatchError, WatchEvent};
use notify::EventKind;
use notify::event::ModifyKind;

/// What matters in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchInterest {
    /// Everything.
    All,
    /// What has this name.
    Name(OsString),
}

/// Folders, and what matters in them.
pub(crate) type WatchedFolders = BTreeSet<(PathBuf, WatchInterest)>;

/// Who wants to know of what.
#[derive(Debug, Default)]
struct WatchRegistry {
    /// Who wants to know of what in a folder.
    folders: BTreeMap<PathBuf, BTreeSet<(String, WatchInterest)>>,
    /// What a container wants to know of.
    by_container: BTreeMap<String, WatchedFolders>,
}

/// Watches folders for containers, until it is dropped.
pub(crate) struct FolderWatcher {
    registry: Arc<Mutex<WatchRegistry>>,
    /// Held for a whole change, so that changes do not cross.
    subscription: Mutex<Option<FolderSubscription>>,
}

impl FolderWatcher {
    /// Begins; `tell` gets the names of containers that were touched, on a
    /// thread of its own. While it waits, events queue up.
    pub(crate) fn start(on_change: impl Fn(BTreeSet<String>) + Send + 'static) -> Self {
        let registry: Arc<Mutex<WatchRegistry>> = Arc::default();
        let subscription = spawn_dispatch(Arc::clone(&registry), on_change);
        let subscription = subscription
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of customizations are not noticed");
            })
            .ok();
        FolderWatcher {
            registry,
            subscription: Mutex::new(subscription),
        }
    }

    /// Says which folders matter to a container: all of them. Tells whether
    /// any of them was not watched before. Waits for the disk.
    pub(crate) fn set_folders(&self, container: &str, folders: &WatchedFolders) -> WatchChange {
        let subscription = lock(&self.subscription);
        let Some(subscription) = subscription.as_ref() else {
            return WatchChange::Unchanged;
        };
        let (new, old) = self.update_registry(container, folders);
        for folder in &old {
            subscription.remove(folder);
        }
        for folder in &new {
            match subscription.add(folder, WatchDepth::Folder) {
                Ok(()) => {}
                Err(error @ (WatchError::InstanceLimit | WatchError::WatchLimit)) => {
                    tracing::warn!(%error, "changes of some customizations are not noticed");
                }
                Err(error @ (WatchError::NotFound | WatchError::System(_))) => {
                    tracing::debug!(%error, "a folder is not watched");
                }
            }
        }
        match new.is_empty() {
            true => WatchChange::Unchanged,
            false => WatchChange::Added,
        }
    }

    /// Folders that nobody wanted to know of before, and those that nobody
    /// wants to know of any more.
    fn update_registry(
        &self,
        container: &str,
        folders: &WatchedFolders,
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut registry = lock(&self.registry);
        let before = registry.by_container.remove(container).unwrap_or_default();
        for (folder, interest) in &before {
            if let Some(interests) = registry.folders.get_mut(folder) {
                interests.remove(&(container.to_owned(), interest.clone()));
            }
        }
        let mut new = Vec::new();
        for (folder, interest) in folders {
            let interests = registry.folders.entry(folder.clone()).or_insert_with(|| {
                new.push(folder.clone());
                BTreeSet::new()
            });
            interests.insert((container.to_owned(), interest.clone()));
        }
        if !folders.is_empty() {
            registry
                .by_container
                .insert(container.to_owned(), folders.clone());
        }
        let mut old = Vec::new();
        for (folder, _) in before {
            if registry
                .folders
                .get(&folder)
                .is_some_and(BTreeSet::is_empty)
            {
                registry.folders.remove(&folder);
                old.push(folder);
            }
        }
        (new, old)
    }
}

/// Looks at events until the subscription is dropped.
fn spawn_dispatch(
    registry: Arc<Mutex<WatchRegistry>>,
    on_change: impl Fn(BTreeSet<String>) + Send + 'static,
) -> Result<FolderSubscription, WatchError> {
    let (subscription, events) = FolderSubscription::new()?;
    std::thread::Builder::new()
        .name("customizations".to_owned())
        .spawn(move || {
            while let Some(event) = events.next() {
                let touched = affected_containers(&registry, event);
                if !touched.is_empty() {
                    on_change(touched);
                }
            }
        })
        .map_err(|error| WatchError::System(error.to_string()))?;
    Ok(subscription)
}

/// What came of watching folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchChange {
    /// All of them were watched already.
    Unchanged,
    /// Some were not: what happened in them before was missed.
    Added,
}

/// The folders above a path, from a base on, in each of which one name
/// matters. They are named as they really are.
pub(crate) fn ancestor_folders(base: &Path, path: &Path) -> WatchedFolders {
    let mut folders = WatchedFolders::new();
    // A base that is gone may come again: what is above it says so.
    let above = base.ancestors();
    let found = above.filter_map(|base| Some((base, base.canonicalize().ok()?)));
    let Some((base, mut folder)) = found.take(1).next() else {
        return folders;
    };
    let Ok(inside) = path.strip_prefix(base) else {
        return folders;
    };
    for part in inside.iter() {
        folders.insert((folder.clone(), WatchInterest::Name(part.to_owned())));
        match folder.join(part).canonicalize() {
            Ok(next) if next.is_dir() => folder = next,
            Ok(_) | Err(_) => break,
        }
    }
    folders
}

fn affected_containers(registry: &Mutex<WatchRegistry>, event: WatchEvent) -> BTreeSet<String> {
    let mut registry = lock(registry);
    let event = match event {
        WatchEvent::Changed(event) => event,
        // It could have been anything.
        WatchEvent::Lost => {
            let all = registry.folders.values().flatten();
            return all.map(|(container, _)| container.clone()).collect();
        }
    };
    if matches!(event.kind, EventKind::Access(_)) {
        return BTreeSet::new();
    }
    let mut touched = BTreeSet::new();
    for path in &event.paths {
        if matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        ) && let Some(interests) = registry.folders.remove(path)
        {
            // Nothing is heard of it any more, also if it comes again: whoever
            // reads it has to say so anew.
            touched.extend(interests.into_iter().map(|(container, _)| container));
        }
        // What happens to a watched folder itself matters to who reads it.
        let itself = registry.folders.get(path).into_iter().flatten();
        let itself = itself.filter(|(_, interest)| *interest == WatchInterest::All);
        let inside = path
            .parent()
            .and_then(|folder| registry.folders.get(folder));
        let inside = inside
            .into_iter()
            .flatten()
            .filter(|(_, interest)| match interest {
                WatchInterest::All => true,
                WatchInterest::Name(name) => path.file_name() == Some(name),
            });
        touched.extend(itself.chain(inside).map(|(container, _)| container.clone()));
    }
    touched
}
