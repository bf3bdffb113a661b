//! One file system watcher for the whole process.
//!
//! A user has few inotify instances (128 by default, for all programs), so all subscriptions
//! share one. The watcher gets single directories only, each once, however many subscriptions
//! need it: removing a recursive watch of `notify` would also remove the watches of other
//! subscriptions below it. So this module watches the directories of a tree itself.
//!
//! ```text
//! inotify ─► notify's thread ─► queue ─► dispatch thread ─► queue of a subscription
//! ```
//!
//! `notify`'s thread only sends events to a queue and takes no lock, so directories can be
//! added while the state is locked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::error::WatchError;
use super::events::{WatchEvent, WatchEventReceiver, WatchEventSender, event_queue};

/// The watcher of the process, alive while there are subscriptions.
static SHARED_WATCHER: Mutex<Weak<SharedWatcher>> = Mutex::new(Weak::new());

/// The part of a directory that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchDepth {
    /// The direct entries of the directory.
    Folder,
    /// Everything below the directory. Symbolic links are not followed.
    Tree,
}

/// The watched directories of one receiver. On drop the receiver's queue is closed, and all
/// directories that no other subscription needs are released.
#[derive(Debug)]
pub struct FolderSubscription {
    id: SubscriptionId,
    shared: Arc<SharedWatcher>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SubscriptionId(u64);

#[derive(Debug)]
struct SharedWatcher {
    state: Mutex<WatcherState>,
}

#[derive(Debug)]
struct WatcherState {
    watcher: RecommendedWatcher,
    /// Every watched directory by its real path, with the subscriptions that need it.
    folders: BTreeMap<PathBuf, BTreeMap<SubscriptionId, WatchDepth>>,
    subscriptions: BTreeMap<SubscriptionId, FolderSubscriber>,
    next: u64,
}

#[derive(Debug)]
struct FolderSubscriber {
    events: WatchEventSender,
    /// The directories that were added, without those found below them.
    roots: BTreeMap<PathBuf, WatchDepth>,
}

impl FolderSubscription {
    /// Creates a subscription without directories, and the queue of its events.
    ///
    /// # Errors
    ///
    /// Returns an error if it is the first of the process and the system has no free inotify
    /// instance.
    pub fn new() -> Result<(Self, WatchEventReceiver), WatchError> {
        let shared = SharedWatcher::get_or_create()?;
        let (events, receiver) = event_queue();
        let mut state = shared.lock();
        let id = SubscriptionId(state.next);
        state.next += 1;
        let roots = BTreeMap::new();
        state
            .subscriptions
            .insert(id, FolderSubscriber { events, roots });
        drop(state);
        Ok((FolderSubscription { id, shared }, receiver))
    }

    /// Watches a directory by its real path. Walks a tree first, so this may take a while.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be watched. Then no part of it is.
    pub fn add(&self, folder: &Path, depth: WatchDepth) -> Result<(), WatchError> {
        if let Some(subscriber) = self.shared.lock().subscriptions.get_mut(&self.id) {
            subscriber.roots.insert(folder.to_owned(), depth);
        }
        let ids = BTreeSet::from([self.id]);
        let added = match depth {
            WatchDepth::Folder => self
                .shared
                .lock()
                .watch_folder(folder, &ids, depth)
                .map(drop),
            WatchDepth::Tree => self.shared.watch_tree(folder, &ids, |_| {}),
        };
        added.inspect_err(|_| self.remove(folder))
    }

    /// Stops watching a directory that was added.
    pub fn remove(&self, folder: &Path) {
        self.shared.lock().remove_root(self.id, folder);
    }
}

impl Drop for FolderSubscription {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let roots = state.subscriptions.get(&self.id);
        let roots: Vec<_> = roots
            .into_iter()
            .flat_map(|one| one.roots.keys().cloned())
            .collect();
        for root in roots {
            state.remove_root(self.id, &root);
        }
        state.subscriptions.remove(&self.id);
    }
}

impl SharedWatcher {
    /// Returns the watcher of the process, and creates it if necessary.
    fn get_or_create() -> Result<Arc<Self>, WatchError> {
        let mut known = lock(&SHARED_WATCHER);
        if let Some(shared) = known.upgrade() {
            return Ok(shared);
        }
        let (sender, events) = event_queue();
        let config = notify::Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(forward_events(sender), config)?;
        let shared = Arc::new(SharedWatcher {
            state: Mutex::new(WatcherState {
                watcher,
                folders: BTreeMap::new(),
                subscriptions: BTreeMap::new(),
                next: 0,
            }),
        });
        // The thread ends when the watcher is dropped, because the watcher owns the sender.
        let weak = Arc::downgrade(&shared);
        std::thread::Builder::new()
            .name("watch-dispatch".to_owned())
            .spawn(move || dispatch_events(&weak, &events))
            .map_err(|error| WatchError::System(error.to_string()))?;
        *known = Arc::downgrade(&shared);
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, WatcherState> {
        lock(&self.state)
    }

    /// Delivers an event, and updates the watches of directories that were added or removed.
    fn handle(&self, event: &notify::Event) {
        let mut state = self.lock();
        state.deliver(event);
        let Some(path) = event.paths.first() else {
            return;
        };
        match event.kind {
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                state.renew_watches(path);
            }
            EventKind::Create(CreateKind::Folder | CreateKind::Any)
            | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                let ids = state.tree_subscriptions(path);
                drop(state);
                self.follow_new_folder(path, &ids);
            }
            _ => {}
        }
    }

    /// Watches a new directory in trees. Its current entries were created before it was
    /// watched, so they are reported here.
    fn follow_new_folder(&self, path: &Path, ids: &BTreeSet<SubscriptionId>) {
        let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if ids.is_empty() || !is_folder {
            return;
        }
        let watched = self.watch_tree(path, ids, |found| {
            let created = EventKind::Create(CreateKind::Any);
            let created = notify::Event::new(created).add_path(found.to_owned());
            self.lock().send(ids, &WatchEvent::Changed(created));
        });
        if watched.is_err() {
            self.lock().send(ids, &WatchEvent::Lost);
        }
    }

    /// Watches a directory and all directories below it. Calls `found` for every entry.
    fn watch_tree(
        &self,
        root: &Path,
        ids: &BTreeSet<SubscriptionId>,
        mut found: impl FnMut(&Path),
    ) -> Result<(), WatchError> {
        let mut pending = vec![root.to_owned()];
        while let Some(folder) = pending.pop() {
            // The directory is watched before it is read, so that no entry is missed.
            let watched = self.lock().watch_folder(&folder, ids, WatchDepth::Tree);
            match watched {
                Ok(FolderDemand::Needed) => {}
                Ok(FolderDemand::Unneeded) => return Ok(()),
                // The directory was removed or is not readable; the others are still watched.
                Err(WatchError::NotFound | WatchError::System(_)) if folder != root => continue,
                Err(error) => return Err(error),
            }
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let path = entry.path();
                found(&path);
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }
}

/// The need for a directory after its subscriptions were checked.
enum FolderDemand {
    Needed,
    Unneeded,
}

impl WatcherState {
    fn watch_folder(
        &mut self,
        folder: &Path,
        ids: &BTreeSet<SubscriptionId>,
        depth: WatchDepth,
    ) -> Result<FolderDemand, WatchError> {
        // A subscription may have been dropped while the tree was walked.
        let ids = ids.iter().filter(|id| self.subscriptions.contains_key(id));
        let ids: Vec<_> = ids.copied().collect();
        if ids.is_empty() {
            return Ok(FolderDemand::Unneeded);
        }
        if !self.folders.contains_key(folder) {
            self.watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        let known = self.folders.entry(folder.to_owned()).or_default();
        known.extend(ids.into_iter().map(|id| (id, depth)));
        Ok(FolderDemand::Needed)
    }

    fn remove_root(&mut self, id: SubscriptionId, root: &Path) {
        let subscriber = self.subscriptions.get_mut(&id);
        let depth = subscriber.and_then(|subscriber| subscriber.roots.remove(root));
        let folders = match depth {
            None => return,
            Some(WatchDepth::Folder) => vec![root.to_owned()],
            Some(WatchDepth::Tree) => self.folders_below(root),
        };
        for folder in folders {
            let Some(known) = self.folders.get_mut(&folder) else {
                continue;
            };
            known.remove(&id);
            if known.is_empty() {
                self.folders.remove(&folder);
                self.unwatch(&folder);
            }
        }
    }

    /// Renews the watches of a path and of all directories below it, after a removal or a move.
    /// `notify` may have dropped watches there, or still have one for a directory that was
    /// moved away.
    fn renew_watches(&mut self, path: &Path) {
        for folder in self.folders_below(path) {
            self.unwatch(&folder);
            let there = folder.canonicalize().is_ok_and(|real| real == folder);
            let watched = there && {
                let watched = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
                watched.is_ok()
            };
            if !watched {
                self.folders.remove(&folder);
            }
        }
    }

    /// Ends the watch of a directory. If the directory was removed, `notify` has ended it
    /// already.
    fn unwatch(&mut self, folder: &Path) {
        match self.watcher.unwatch(folder) {
            Err(notify::Error {
                kind: notify::ErrorKind::WatchNotFound,
                ..
            }) => {}
            unwatched => unwatched.log_err("failed to end the watch of a folder"),
        }
    }

    /// Returns the watched directories at a path and below it.
    fn folders_below(&self, path: &Path) -> Vec<PathBuf> {
        let folders = self.folders.range(path.to_owned()..);
        let folders = folders.map(|(folder, _)| folder);
        let inside = folders.take_while(|folder| folder.starts_with(path));
        inside.cloned().collect()
    }

    /// Returns the subscriptions that watch the tree of a path.
    fn tree_subscriptions(&self, path: &Path) -> BTreeSet<SubscriptionId> {
        let folder = path.parent().and_then(|folder| self.folders.get(folder));
        let known = folder.into_iter().flatten();
        let trees = known.filter(|(_, depth)| **depth == WatchDepth::Tree);
        trees.map(|(id, _)| *id).collect()
    }

    /// Sends an event to all subscriptions that watch its path or the parent directory.
    fn deliver(&self, event: &notify::Event) {
        let mut ids = BTreeSet::new();
        for path in &event.paths {
            let parent = path.parent().and_then(|folder| self.folders.get(folder));
            let known = self.folders.get(path).into_iter().chain(parent);
            ids.extend(known.flat_map(|known| known.keys().copied()));
        }
        self.send(&ids, &WatchEvent::Changed(event.clone()));
    }

    fn send(&self, ids: &BTreeSet<SubscriptionId>, event: &WatchEvent) {
        for subscriber in ids.iter().filter_map(|id| self.subscriptions.get(id)) {
            subscriber.events.send(event.clone());
        }
    }

    fn report_loss(&self) {
        for subscriber in self.subscriptions.values() {
            subscriber.events.send(WatchEvent::Lost);
        }
    }
}

/// Sends events to a queue, on the thread of `notify`.
fn forward_events(
    sender: WatchEventSender,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| match event {
        // Access events are frequent and change no file.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) if !event.need_rescan() => sender.send(WatchEvent::Changed(event)),
        Ok(_) | Err(_) => sender.send(WatchEvent::Lost),
    }
}

fn dispatch_events(shared: &Weak<SharedWatcher>, events: &WatchEventReceiver) {
    while let Some(event) = events.next() {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match event {
            WatchEvent::Changed(event) => shared.handle(&event),
            WatchEvent::Lost => shared.lock().report_loss(),
        }
    }
}
