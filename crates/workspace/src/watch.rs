//! Watches files and directories for clients and reports their changes.

pub(crate) mod debounce;
mod error;
mod events;
pub(crate) mod system_watcher;

use std::path::{Path, PathBuf};

use agenthost_core::{FileAccess, GrantedRoot, RequestFailure};
use agenthost_protocol::resource::{ResourceChange, ResourceWatchState, WatchPatterns};
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::file_service::{FileError, resolve_granted_path};
use crate::file_uri::path_of;
use crate::protected_paths::ProtectedPaths;

pub use error::WatchError;
pub use events::{WatchEvent, WatchEventReceiver};
pub use system_watcher::{FolderSubscription, WatchDepth};

/// Maximum number of patterns of a watch.
const MAX_WATCH_PATTERNS: usize = 200;

/// A watch of a file or directory. On drop it ends.
#[derive(Debug)]
pub struct DirectoryWatch {
    /// On drop the event queue is closed, which ends the debounce thread.
    _subscription: FolderSubscription,
}

/// The paths that a watch reports.
#[derive(Debug)]
struct WatchScope {
    /// Real path of the root.
    real: PathBuf,
    /// Path of the root as the client named it.
    named: PathBuf,
    /// `true` if the root is a file. Then its parent directory is watched, because files are
    /// often replaced by new ones with the same name.
    is_file: bool,
    includes: Option<GlobSet>,
    excludes: GlobSet,
    /// Paths that are never reported.
    protected: ProtectedPaths,
}

impl DirectoryWatch {
    /// Starts a watch that sends batches of changes to `on_changes`. Blocks on disk I/O, which
    /// takes a while for a deep directory.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, the root does not exist, or the system can't
    /// watch it.
    pub fn start(
        roots: &[GrantedRoot],
        protected: &ProtectedPaths,
        watch: &ResourceWatchState,
        on_changes: impl FnMut(Vec<ResourceChange>) + Send + 'static,
    ) -> Result<Self, RequestFailure> {
        let scope = WatchScope::of(roots, protected, watch)?;
        let (target, depth) = match (scope.is_file, scope.real.parent()) {
            (true, Some(folder)) => (folder.to_owned(), WatchDepth::Folder),
            _ if watch.recursive => (scope.real.clone(), WatchDepth::Tree),
            _ => (scope.real.clone(), WatchDepth::Folder),
        };
        let subscription = FolderSubscription::new().and_then(|(subscription, events)| {
            subscription.add(&target, depth)?;
            Ok((subscription, events))
        });
        let (subscription, events) = subscription.map_err(|error| watch_failure(watch, &error))?;
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || debounce::debounce_events(&events, &scope, on_changes))
            .map_err(|error| RequestFailure::Internal(error.to_string()))?;
        Ok(DirectoryWatch {
            _subscription: subscription,
        })
    }
}

fn watch_failure(watch: &ResourceWatchState, error: &WatchError) -> RequestFailure {
    match error {
        WatchError::NotFound => FileError::NotFound(watch.root.clone()).into(),
        WatchError::InstanceLimit | WatchError::WatchLimit | WatchError::System(_) => {
            RequestFailure::Internal(format!("watch `{}`: {error}", watch.root))
        }
    }
}

impl WatchScope {
    fn of(
        roots: &[GrantedRoot],
        protected: &ProtectedPaths,
        watch: &ResourceWatchState,
    ) -> Result<Self, RequestFailure> {
        let (real, metadata) =
            resolve_granted_path(roots, protected, &watch.root, FileAccess::Read)?;
        let named = path_of(&watch.root).unwrap_or_else(|| real.clone());
        Ok(WatchScope {
            real,
            named,
            is_file: !metadata.is_dir(),
            includes: match &watch.includes {
                Some(patterns) => Some(build_globs(patterns)?),
                None => None,
            },
            excludes: match &watch.excludes {
                Some(patterns) => build_globs(patterns)?,
                None => GlobSet::empty(),
            },
            protected: protected.clone(),
        })
    }

    /// Returns the path of a file as the client names it, or `None` if the watch excludes it.
    fn reported_path(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.real).ok()?;
        if self.protected.contains(path) {
            return None;
        }
        let whole = inside.as_os_str().is_empty();
        if self.is_file && !whole {
            return None;
        }
        let included = self
            .includes
            .as_ref()
            .is_none_or(|set| set.is_match(inside));
        let excluded = self.excludes.is_match(inside);
        if !whole && (!included || excluded) {
            return None;
        }
        Some(if whole {
            self.named.clone()
        } else {
            self.named.join(inside)
        })
    }
}

/// Builds a set of globs. Each pattern also matches everything below it.
fn build_globs(patterns: &WatchPatterns) -> Result<GlobSet, RequestFailure> {
    let invalid = |reason: String| RequestFailure::InvalidParams(reason);
    if patterns.items.len() > MAX_WATCH_PATTERNS {
        return Err(invalid(format!(
            "a watch has at most {MAX_WATCH_PATTERNS} patterns"
        )));
    }
    let mut set = GlobSetBuilder::new();
    for pattern in &patterns.items {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        for pattern in [pattern.to_owned(), format!("{pattern}/**")] {
            let glob = Glob::new(&pattern).map_err(|error| invalid(error.kind().to_string()))?;
            set.add(glob);
        }
    }
    set.build()
        .map_err(|error| invalid(error.kind().to_string()))
}
