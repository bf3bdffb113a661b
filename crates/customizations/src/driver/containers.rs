//! Containers on this disk, shared by all sessions that have them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::path_of;
use tokio::time::Instant;

use super::task::{DriverTask, TrackedSession, WorkDone};
use crate::parse::{ContainerLayout, ParsedContainer};
use crate::sources::{ContainerDefinition, ContainerRead, container_definitions};
use crate::watcher::{FolderWatcher, WatchChange, WatchInterest, WatchedFolders, ancestor_folders};

/// How long changes are gathered before a container is read again.
const READ_DEBOUNCE: Duration = Duration::from_millis(60);

/// How often a container is read in a row because more of it came to be
/// watched.
const MAX_REREADS: usize = 3;

/// A container on this disk.
pub(super) struct DiskContainer {
    pub(super) definition: Arc<ContainerDefinition>,
    /// What is in it, once it was read.
    pub(super) parsed: Option<Arc<ParsedContainer>>,
    /// Whether it is there.
    pub(super) present: bool,
    /// What clients see of it now.
    pub(super) customization: Arc<Customization>,
    read_state: ReadState,
}

/// How reading a container goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// Nothing to do.
    Idle,
    /// It has changed, and is read at a moment.
    Due(Instant),
    /// It is being read.
    Running,
    /// It is being read, and has changed since.
    RunningAndDue,
}

impl DiskContainer {
    fn new(definition: ContainerDefinition) -> Self {
        DiskContainer {
            customization: Arc::new(definition.to_customization(None, None)),
            definition: Arc::new(definition),
            parsed: None,
            present: false,
            read_state: ReadState::Idle,
        }
    }

    /// When it is to be read.
    pub(super) fn due_at(&self) -> Option<Instant> {
        match self.read_state {
            ReadState::Due(at) => Some(at),
            ReadState::Idle | ReadState::Running | ReadState::RunningAndDue => None,
        }
    }

    /// Whether clients get to see it.
    pub(super) fn is_published(&self) -> bool {
        self.definition.is_published(self.present)
    }
}

impl DriverTask {
    /// Somebody wants to know what a session has.
    pub(super) fn track_session(
        &mut self,
        session: Uri,
        provider: ProviderId,
        directories: &[Uri],
    ) {
        let directories: Vec<PathBuf> = directories.iter().filter_map(path_of).collect();
        let all = container_definitions(&self.settings, &self.data, &provider, &directories);
        let known: &mut TrackedSession = self.sessions.entry(session.clone()).or_default();
        known.provider = Some(provider);
        known.directories = directories;
        known.containers = all.iter().map(ContainerDefinition::key).collect();
        known.published = None;
        let mut survey = Vec::new();
        for definition in all {
            let key = definition.key();
            let container = self
                .containers
                .entry(key.clone())
                .or_insert_with(|| DiskContainer::new(definition));
            if container.parsed.is_none() {
                survey.push((key, container.definition.clone()));
            }
        }
        self.drop_unused_containers();
        self.work
            .spawn_blocking(move || WorkDone::ContainersSurveyed {
                session,
                present: survey
                    .into_iter()
                    .map(|(key, definition)| (key, definition.is_present()))
                    .collect(),
            });
    }

    /// Nobody wants to know about a session any more.
    pub(super) fn untrack_session(&mut self, session: &Uri) {
        self.handle_session_ended(session);
        self.set_client_plugins(session, Vec::new());
        self.sessions.remove(session);
        self.event_queue.remove_session(session);
        self.drop_unused_containers();
        self.remove_specs(session);
    }

    /// It is known which containers are there: they can be shown, and read.
    pub(super) fn handle_survey(&mut self, session: &Uri, present: Vec<(String, bool)>) {
        for (key, present) in present {
            if let Some(container) = self.containers.get_mut(&key)
                && container.parsed.is_none()
            {
                container.present = present;
                self.spawn_read(&key);
            }
        }
        self.publish_all(session);
    }

    /// Files of containers have changed.
    pub(super) fn mark_changed(&mut self, keys: &BTreeSet<String>) {
        for key in keys {
            if let Some(container) = self.containers.get_mut(key) {
                container.read_state = match container.read_state {
                    ReadState::Idle => ReadState::Due(Instant::now() + READ_DEBOUNCE),
                    ReadState::Running => ReadState::RunningAndDue,
                    state @ (ReadState::Due(_) | ReadState::RunningAndDue) => state,
                };
            }
        }
    }

    /// Reads what has changed long enough ago.
    pub(super) fn read_due_containers(&mut self, now: Instant) {
        let due: Vec<String> = self
            .containers
            .iter()
            .filter(|(_, shelf)| shelf.due_at().is_some_and(|at| at <= now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.spawn_read(&key);
        }
    }

    /// A container was read.
    pub(super) fn handle_container_read(&mut self, key: &str, reading: ContainerRead) {
        self.shared.read_count.fetch_add(1, Ordering::Relaxed);
        let Some(container) = self.containers.get_mut(key) else {
            // Nobody has it any more; nor is it watched any more.
            let watching = self.watcher.clone();
            let key = key.to_owned();
            self.work.spawn_blocking(move || {
                watching.set_folders(&key, &WatchedFolders::new());
                WorkDone::Nothing
            });
            return;
        };
        container.parsed = Some(Arc::new(reading.parsed));
        container.present = reading.present;
        container.read_state = match container.read_state {
            ReadState::RunningAndDue => ReadState::Due(Instant::now() + READ_DEBOUNCE),
            ReadState::Idle | ReadState::Running | ReadState::Due(_) => ReadState::Idle,
        };
        self.recompute(key);
        let sessions: Vec<Uri> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.containers.iter().any(|has| has == key))
            .map(|(uri, _)| uri.clone())
            .collect();
        for session in sessions {
            self.publish_container(&session, key);
        }
        self.prepare_ready_turns(Instant::now());
    }

    fn spawn_read(&mut self, key: &str) {
        let Some(container) = self.containers.get_mut(key) else {
            return;
        };
        match container.read_state {
            ReadState::Running | ReadState::RunningAndDue => return,
            ReadState::Idle | ReadState::Due(_) => container.read_state = ReadState::Running,
        }
        let definition = container.definition.clone();
        let watching = self.watcher.clone();
        let key = key.to_owned();
        let permits = self.read_permits.clone();
        self.work.spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await.ok();
            let name = key.clone();
            let reading =
                tokio::task::spawn_blocking(move || read_and_watch(&name, &definition, &watching));
            // Whoever waits for it must not wait for ever.
            let reading = reading.await.unwrap_or_else(|_| ContainerRead {
                parsed: ParsedContainer::failed("reading it failed"),
                present: true,
                folders: Vec::new(),
            });
            WorkDone::ContainerRead {
                container: key,
                reading,
            }
        });
    }

    /// Containers that no session has are not read or watched any more.
    fn drop_unused_containers(&mut self) {
        let used: BTreeSet<&String> = self
            .sessions
            .values()
            .flat_map(|session| &session.containers)
            .collect();
        let unused: Vec<String> = self
            .containers
            .keys()
            .filter(|key| !used.contains(key))
            .cloned()
            .collect();
        if unused.is_empty() {
            return;
        }
        for key in &unused {
            self.containers.remove(key);
            self.remove_code_trust(key);
        }
        let watching = self.watcher.clone();
        self.work.spawn_blocking(move || {
            for key in &unused {
                watching.set_folders(key, &WatchedFolders::new());
            }
            WorkDone::Nothing
        });
    }
}

/// Reads a container and watches all that it was read from. What came to be
/// watched only now may have changed in between, so it is read again.
fn read_and_watch(
    key: &str,
    definition: &ContainerDefinition,
    watcher: &FolderWatcher,
) -> ContainerRead {
    watcher.set_folders(key, &ancestor_watches(definition));
    let mut reading = definition.read();
    for _ in 0..MAX_REREADS {
        let mut folders = ancestor_watches(definition);
        let inside = reading.folders.drain(..);
        folders.extend(inside.map(|folder| (folder, WatchInterest::All)));
        if watcher.set_folders(key, &folders) == WatchChange::Unchanged {
            break;
        }
        reading = definition.read();
    }
    reading
}

fn ancestor_watches(definition: &ContainerDefinition) -> WatchedFolders {
    let root = &definition.root;
    match (definition.frame.layout, root.parent()) {
        (ContainerLayout::Files(_), _) => {
            let files = definition.files.iter();
            files
                .flat_map(|file| ancestor_folders(root, &root.join(file.trim_end_matches('/'))))
                .collect()
        }
        (ContainerLayout::Plugin, Some(parent)) => ancestor_folders(parent, root),
        (ContainerLayout::Folder(_), _) => ancestor_folders(&definition.boundary, root),
        (ContainerLayout::Plugin, None) => WatchedFolders::new(),
    }
}
