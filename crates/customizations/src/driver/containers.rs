//! Containers on the host's disk, shared by all sessions that use them.

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

/// Debounce for file changes, so that a burst of writes causes one read of the container.
const READ_DEBOUNCE: Duration = Duration::from_millis(60);

/// Maximum number of reads in a row that are caused by newly watched folders. It bounds the
/// loop for a container that changes all the time.
const MAX_REREADS: usize = 3;

/// A plugin or directory on the host's disk.
pub(super) struct DiskContainer {
    pub(super) definition: Arc<ContainerDefinition>,
    /// The contents of the container, once they have been read.
    pub(super) parsed: Option<Arc<ParsedContainer>>,
    /// `true` if the container exists on disk.
    pub(super) present: bool,
    /// The customization that clients see.
    pub(super) customization: Arc<Customization>,
    read_state: ReadState,
}

/// The progress of reading a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// No read is scheduled or running.
    Idle,
    /// The container has changed and is read at this time.
    Due(Instant),
    /// A task is reading the container.
    Running,
    /// A task is reading the container, which has changed since the read began.
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

    /// Returns the time of the scheduled read.
    pub(super) fn due_at(&self) -> Option<Instant> {
        match self.read_state {
            ReadState::Due(at) => Some(at),
            ReadState::Idle | ReadState::Running | ReadState::RunningAndDue => None,
        }
    }

    /// Returns `true` if clients see the container.
    pub(super) fn is_published(&self) -> bool {
        self.definition.is_published(self.present)
    }
}

impl DriverTask {
    /// Starts to track a session: finds its containers and surveys which of them exist.
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

    /// Stops tracking a session and releases its containers and packages.
    pub(super) fn untrack_session(&mut self, session: &Uri) {
        self.handle_session_ended(session);
        self.set_client_plugins(session, Vec::new());
        self.sessions.remove(session);
        self.event_queue.remove_session(session);
        self.drop_unused_containers();
        self.remove_specs(session);
    }

    /// Handles the result of a survey: stores which containers of a session exist, starts
    /// to read them and publishes them.
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

    /// Schedules a read of containers with changed files.
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

    /// Reads containers with an expired debounce.
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

    /// Handles the result of a read: stores and publishes the container.
    pub(super) fn handle_container_read(&mut self, key: &str, reading: ContainerRead) {
        self.shared.read_count.fetch_add(1, Ordering::Relaxed);
        let Some(container) = self.containers.get_mut(key) else {
            // The last session with this container has ended during the read, so the
            // watches that the read added are removed.
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
            // If the read panics, pending turns must not wait for the container until their
            // timeout.
            let reading = reading.await.unwrap_or_else(|_| ContainerRead {
                parsed: ParsedContainer::failed("internal error: the read panicked"),
                present: true,
                folders: Vec::new(),
            });
            WorkDone::ContainerRead {
                container: key,
                reading,
            }
        });
    }

    /// Removes containers that no session uses, and their watches.
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

/// Reads a container and watches the folders that it was read from. A folder may change
/// before its watch is set up, so the container is read again after each new watch.
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
