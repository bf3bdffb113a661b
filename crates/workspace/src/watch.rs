//! What changes in a folder.

mod error;
mod events;
mod gather;
mod shared;

use std::path::{Path, PathBuf};

use agenthost_core::{Access, Failure, Root};
use agenthost_protocol::resource::{ResourceChange, ResourceWatchState, WatchPatterns};
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::address::path_of;
use crate::files::{FileError, find_place};
use crate::protected::ProtectedPaths;

pub use error::WatchError;
pub use events::{WatchEvent, WatchEvents};
pub use shared::{FolderSubscription, WatchDepth};

/// Most patterns of a watch.
const PATTERNS: usize = 200;

/// A watch that goes on until it is dropped.
#[derive(Debug)]
pub struct Watch {
    /// Dropping it ends the thread that gathers.
    _subscription: FolderSubscription,
}

/// What of a folder is watched.
#[derive(Debug)]
struct Scope {
    /// Where it really is.
    real: PathBuf,
    /// Where whoever watches says it is.
    named: PathBuf,
    /// Whether it is a file: then its folder is watched, because files are
    /// often replaced by others of the same name.
    is_file: bool,
    includes: Option<GlobSet>,
    excludes: GlobSet,
    /// What is never told of.
    protected: ProtectedPaths,
}

impl Watch {
    /// Begins to watch; what changes goes to `tell`, several changes at a
    /// time. Waits for the disk: a deep folder takes a while.
    ///
    /// # Errors
    ///
    /// If it may not be looked at, is not there, or the system can't watch it.
    pub fn begin(
        roots: &[Root],
        protected: &ProtectedPaths,
        watch: &ResourceWatchState,
        tell: impl FnMut(Vec<ResourceChange>) + Send + 'static,
    ) -> Result<Self, Failure> {
        let scope = Scope::of(roots, protected, watch)?;
        let (target, depth) = match (scope.is_file, scope.real.parent()) {
            (true, Some(folder)) => (folder.to_owned(), WatchDepth::Folder),
            _ if watch.recursive => (scope.real.clone(), WatchDepth::Tree),
            _ => (scope.real.clone(), WatchDepth::Folder),
        };
        let subscription = FolderSubscription::new().and_then(|(subscription, events)| {
            subscription.add(&target, depth)?;
            Ok((subscription, events))
        });
        let (subscription, events) = subscription.map_err(|error| failed(watch, &error))?;
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || gather::run(&events, &scope, tell))
            .map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Watch {
            _subscription: subscription,
        })
    }
}

fn failed(watch: &ResourceWatchState, error: &WatchError) -> Failure {
    match error {
        WatchError::NotFound => FileError::NotFound(watch.root.clone()).into(),
        WatchError::Instances | WatchError::Watches | WatchError::System(_) => {
            Failure::Failed(format!("watch `{}`: {error}", watch.root))
        }
    }
}

impl Scope {
    fn of(
        roots: &[Root],
        protected: &ProtectedPaths,
        watch: &ResourceWatchState,
    ) -> Result<Self, Failure> {
        let (real, metadata) = find_place(roots, protected, &watch.root, Access::Read)?;
        let named = path_of(&watch.root).unwrap_or_else(|| real.clone());
        Ok(Scope {
            real,
            named,
            is_file: !metadata.is_dir(),
            includes: match &watch.includes {
                Some(patterns) => Some(globs(patterns)?),
                None => None,
            },
            excludes: match &watch.excludes {
                Some(patterns) => globs(patterns)?,
                None => GlobSet::empty(),
            },
            protected: protected.clone(),
        })
    }

    /// What whoever watches calls a file; none if it does not want to know.
    fn name(&self, path: &Path) -> Option<PathBuf> {
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
        Some(match whole {
            true => self.named.clone(),
            false => self.named.join(inside),
        })
    }
}

/// Globs, or paths from the root with all that is below them.
fn globs(patterns: &WatchPatterns) -> Result<GlobSet, Failure> {
    let invalid = |reason: String| Failure::InvalidParams(reason);
    if patterns.items.len() > PATTERNS {
        return Err(invalid(format!("a watch has at most {PATTERNS} patterns")));
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
