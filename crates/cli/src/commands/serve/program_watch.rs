//! Watches the configuration file and the programs of agents.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agenthost_stdx::sync::lock;
use agenthost_workspace::{
    FolderSubscription, WatchDepth, WatchError, WatchEvent, WatchEventReceiver,
};
use tokio::sync::mpsc;

use crate::config::FileConfig;

/// Time without further changes after which changes are reported. An installation or an editor
/// makes several changes.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// Maximum time for which changes are collected.
const MAX_COLLECT_TIME: Duration = Duration::from_secs(3);

/// Maximum number of watched folders.
const MAX_FOLDERS: usize = 200;

/// A watch of the folders in which programs of agents may appear. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct ProgramWatch {
    subscription: FolderSubscription,
    watched: BTreeSet<PathBuf>,
    filter: Arc<Mutex<WatchFilter>>,
}

/// The changes that matter. Folders such as `/usr/bin` change often.
#[derive(Debug, Default)]
struct WatchFilter {
    /// Names of programs and of the configuration file.
    names: BTreeSet<OsString>,
    /// Folders that are needed, whether they exist or not.
    folders: BTreeSet<PathBuf>,
}

impl ProgramWatch {
    /// Starts the thread that sends a request after each change.
    pub(super) fn start(requests: mpsc::Sender<()>) -> Result<Self, WatchError> {
        let (subscription, events) = FolderSubscription::new()?;
        let filter = Arc::default();
        let own = Arc::clone(&filter);
        let spawned = std::thread::Builder::new()
            .name("agents".to_owned())
            .spawn(move || report_changes(&events, &own, &requests));
        spawned.map_err(|error| WatchError::System(error.to_string()))?;
        Ok(ProgramWatch {
            subscription,
            watched: BTreeSet::new(),
            filter,
        })
    }

    /// Watches the folders of `PATH`, those of configured programs and that of the
    /// configuration file. A folder that does not exist is watched from the nearest one above.
    pub(super) fn follow(&mut self, file: &FileConfig, config_path: Option<&Path>) {
        let (mut names, mut folders) = file.agent_programs();
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
        for path in config_path.into_iter() {
            // The file may be a link into another folder.
            for path in [path.to_owned()].into_iter().chain(path.canonicalize()) {
                names.extend(path.file_name().map(OsString::from));
                folders.extend(path.parent().map(Path::to_owned));
            }
        }
        let folders: BTreeSet<_> = folders.into_iter().take(MAX_FOLDERS).collect();
        let wanted: BTreeSet<_> = folders
            .iter()
            .filter_map(|one| nearest_folder(one))
            .collect();
        *lock(&self.filter) = WatchFilter {
            names,
            folders: folders.into_iter().flat_map(with_real_path).collect(),
        };
        for gone in self.watched.difference(&wanted) {
            self.subscription.remove(gone);
        }
        let mut watched = BTreeSet::new();
        for folder in wanted {
            let added = self.watched.contains(&folder)
                || self
                    .subscription
                    .add(&folder, WatchDepth::Folder)
                    .inspect_err(|error| {
                        tracing::warn!(folder = %folder.display(), %error, "failed to watch for agents");
                    })
                    .is_ok();
            if added {
                watched.insert(folder);
            }
        }
        self.watched = watched;
    }
}

/// Sends a request when changes that matter have come to rest.
fn report_changes(
    events: &WatchEventReceiver,
    filter: &Mutex<WatchFilter>,
    requests: &mpsc::Sender<()>,
) {
    while let Some(event) = events.next() {
        if !lock(filter).matches(&event) {
            continue;
        }
        let deadline = Instant::now() + MAX_COLLECT_TIME;
        while Instant::now() < deadline && events.next_timeout(QUIET_TIME).is_ok() {}
        // A full queue has a request that is not handled yet.
        if let Err(mpsc::error::TrySendError::Closed(())) = requests.try_send(()) {
            return;
        }
    }
}

impl WatchFilter {
    fn matches(&self, event: &WatchEvent) -> bool {
        let WatchEvent::Changed(event) = event else {
            return true;
        };
        let is_known = |path: &PathBuf| {
            let name = path.file_name();
            name.is_some_and(|name| self.names.contains(name))
                || self.folders.iter().any(|folder| folder.starts_with(path))
        };
        !event.kind.is_access() && event.paths.iter().any(is_known)
    }
}

/// Returns the real path of a folder, or of the nearest existing folder above it.
fn nearest_folder(folder: &Path) -> Option<PathBuf> {
    let mut real = folder.ancestors().filter_map(|one| one.canonicalize().ok());
    real.find(|folder| folder.is_dir())
}

/// Returns a path, and the real path of the part of it that exists.
fn with_real_path(path: PathBuf) -> Vec<PathBuf> {
    let mut existing = path.ancestors();
    let real = existing.find_map(|one| {
        let rest = path.strip_prefix(one).ok()?;
        Some(one.canonicalize().ok()?.join(rest))
    });
    real.into_iter().chain([path]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_folder_that_is_created_later_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let config = home.join(".config/agenthost/config.toml");
        let (requests, mut changes) = mpsc::channel(1);
        let mut watch = ProgramWatch::start(requests).unwrap();
        let file = FileConfig::default();
        watch.follow(&file, Some(&config));
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        changes.blocking_recv().unwrap();
        watch.follow(&file, Some(&config));
        std::fs::write(config.with_file_name("other.toml"), "").unwrap();
        std::fs::write(&config, "").unwrap();
        changes.blocking_recv().unwrap();
        assert!(changes.try_recv().is_err());
        drop(watch);
        assert_eq!(changes.blocking_recv(), None);
    }
}
