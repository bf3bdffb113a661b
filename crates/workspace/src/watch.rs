//! What changes in a folder.

mod gather;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};

use agenthost_core::{Access, Failure, Root};
use agenthost_protocol::resource::{ResourceChange, ResourceWatchState, WatchPatterns};
use globset::{Glob, GlobSet, GlobSetBuilder};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::address::path_of;
use crate::files::{FileError, find_place};

/// Changes that wait to be gathered. If there are more, the system forgets
/// some and says so.
const EVENTS: usize = 10_000;

/// Most patterns of a watch.
const PATTERNS: usize = 200;

/// A watch that goes on until it is dropped.
#[derive(Debug)]
pub struct Watch {
    /// Dropping it ends the thread that gathers.
    _watcher: RecommendedWatcher,
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
        watch: &ResourceWatchState,
        tell: impl FnMut(Vec<ResourceChange>) + Send + 'static,
    ) -> Result<Self, Failure> {
        let scope = Scope::of(roots, watch)?;
        let (target, mode) = match (scope.is_file, scope.real.parent()) {
            (true, Some(folder)) => (folder.to_owned(), RecursiveMode::NonRecursive),
            _ if watch.recursive => (scope.real.clone(), RecursiveMode::Recursive),
            _ => (scope.real.clone(), RecursiveMode::NonRecursive),
        };
        let (sender, events) = sync_channel(EVENTS);
        let config = notify::Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(forward(sender), config)
            .map_err(|error| failed(watch, &error))?;
        watcher
            .watch(&target, mode)
            .map_err(|error| failed(watch, &error))?;
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || gather::run(&events, &scope, tell))
            .map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Watch { _watcher: watcher })
    }
}

/// Hands events on, and waits if there are too many: then the system counts
/// them, and tells when it has lost some.
fn forward(
    sender: SyncSender<notify::Result<notify::Event>>,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| {
        // Whoever gathered is gone when the watch is.
        sender.send(event).unwrap_or_default();
    }
}

fn failed(watch: &ResourceWatchState, error: &notify::Error) -> Failure {
    let problem = match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system watches no more files; see fs.inotify.max_user_watches".to_owned()
        }
        notify::ErrorKind::PathNotFound => return FileError::NotFound(watch.root.clone()).into(),
        notify::ErrorKind::Io(error) => error.kind().to_string(),
        _ => "it can't be watched".to_owned(),
    };
    Failure::Failed(format!("`{}`: {problem}", watch.root))
}

impl Scope {
    fn of(roots: &[Root], watch: &ResourceWatchState) -> Result<Self, Failure> {
        let (real, metadata) = find_place(roots, &watch.root, Access::Read)?;
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
        })
    }

    /// What whoever watches calls a file; none if it does not want to know.
    fn name(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.real).ok()?;
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
