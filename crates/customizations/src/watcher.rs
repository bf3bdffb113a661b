//! Watches the folders of containers and reports the containers that have changed.
//!
//! Single folders are watched, never whole trees: the folders that a container was read
//! from, and their ancestors, in which only one name is relevant. This way the watcher
//! notices a container that does not exist yet when it is created, and a workspace with a
//! million files costs no more than a small one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agenthost_stdx::sync::lock;
use agenthost_workspace::{FolderSubscription, WatchDepth, WatchError, WatchEvent};
use notify::EventKind;
use notify::event::ModifyKind;

/// The relevant names in a watched folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchInterest {
    /// All names are relevant.
    All,
    /// Only this name is relevant.
    Name(OsString),
}

/// Folders to watch, each with its relevant names.
pub(crate) type WatchedFolders = BTreeSet<(PathBuf, WatchInterest)>;

/// The watched folders and the containers that they are watched for.
#[derive(Debug, Default)]
struct WatchRegistry {
    /// The interested containers of each folder.
    folders: BTreeMap<PathBuf, BTreeSet<(String, WatchInterest)>>,
    /// The watched folders of each container.
    by_container: BTreeMap<String, WatchedFolders>,
}

/// Watches folders for containers, until it is dropped.
pub(crate) struct FolderWatcher {
    registry: Arc<Mutex<WatchRegistry>>,
    /// The lock is held for a whole update, so that updates do not interleave.
    subscription: Mutex<Option<FolderSubscription>>,
}

impl FolderWatcher {
    /// Starts the watcher. It calls `on_change` with the keys of changed containers on a
    /// separate thread. While the callback blocks, events are queued.
    pub(crate) fn start(on_change: impl Fn(BTreeSet<String>) + Send + 'static) -> Self {
        let registry: Arc<Mutex<WatchRegistry>> = Arc::default();
        let subscription = spawn_dispatch(Arc::clone(&registry), on_change);
        let subscription = subscription
            .inspect_err(|error| {
                tracing::warn!(%error, "failed to watch files: changes of customizations are not detected");
            })
            .ok();
        FolderWatcher {
            registry,
            subscription: Mutex::new(subscription),
        }
    }

    /// Replaces the watched folders of a container. Returns [`WatchChange::Added`] if a
    /// folder was not watched before. Blocks on the disk.
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
                    tracing::warn!(%error, "watch limit reached: changes of some customizations are not detected");
                }
                Err(error @ (WatchError::NotFound | WatchError::System(_))) => {
                    tracing::debug!(%error, "failed to watch a folder");
                }
            }
        }
        if new.is_empty() {
            WatchChange::Unchanged
        } else {
            WatchChange::Added
        }
    }

    /// Updates the registry and returns the folders to watch and the folders to unwatch.
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

/// Dispatches events on a separate thread until the subscription is dropped.
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

/// The effect of an update of watched folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchChange {
    /// All folders were watched before.
    Unchanged,
    /// Some folders are new, so earlier changes in them were missed.
    Added,
}

/// Returns the folders from a base down to a path, each with its next component as the
/// relevant name. The folders are canonical paths.
pub(crate) fn ancestor_folders(base: &Path, path: &Path) -> WatchedFolders {
    let mut folders = WatchedFolders::new();
    // If the base does not exist, the nearest existing ancestor is watched for its
    // creation.
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
        // Events were lost, so all containers may have changed.
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
            // The operating system has removed the watch. A folder that is created again
            // has to be added by the next read of the container.
            touched.extend(interests.into_iter().map(|(container, _)| container));
        }
        // Changes of a watched folder itself are relevant for containers that read it.
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
