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

use super::task::{Done, Session, Task};
use crate::parse::{Layout, Parsed};
use crate::sources::{Definition, Reading, definitions};
use crate::watching::{Folders, Interest, Watched, Watching, above};

/// How long changes are gathered before a container is read again.
const QUIET: Duration = Duration::from_millis(60);

/// How often a container is read in a row because more of it came to be
/// watched.
const ROUNDS: usize = 3;

/// A container on this disk.
pub(super) struct Shelf {
    pub(super) definition: Arc<Definition>,
    /// What is in it, once it was read.
    pub(super) parsed: Option<Arc<Parsed>>,
    /// Whether it is there.
    pub(super) present: bool,
    /// What clients see of it now.
    pub(super) shown: Arc<Customization>,
    state: ReadState,
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

impl Shelf {
    fn new(definition: Definition) -> Self {
        Shelf {
            shown: Arc::new(definition.customization(None, None)),
            definition: Arc::new(definition),
            parsed: None,
            present: false,
            state: ReadState::Idle,
        }
    }

    /// When it is to be read.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            ReadState::Due(at) => Some(at),
            ReadState::Idle | ReadState::Running | ReadState::RunningAndDue => None,
        }
    }

    /// Whether clients get to see it.
    pub(super) fn is_shown(&self) -> bool {
        self.definition.shown_if(self.present)
    }
}

impl Task {
    /// Somebody wants to know what a session has.
    pub(super) fn follow(&mut self, session: Uri, provider: ProviderId, directories: &[Uri]) {
        let directories: Vec<PathBuf> = directories.iter().filter_map(path_of).collect();
        let all = definitions(&self.settings, &self.data, &provider, &directories);
        let known: &mut Session = self.sessions.entry(session.clone()).or_default();
        known.provider = Some(provider);
        known.directories = directories;
        known.shelves = all.iter().map(Definition::key).collect();
        known.told = None;
        let mut survey = Vec::new();
        for definition in all {
            let key = definition.key();
            let shelf = self
                .shelves
                .entry(key.clone())
                .or_insert_with(|| Shelf::new(definition));
            if shelf.parsed.is_none() {
                survey.push((key, shelf.definition.clone()));
            }
        }
        self.drop_unused();
        self.work.spawn_blocking(move || Done::Surveyed {
            session,
            present: survey
                .into_iter()
                .map(|(key, definition)| (key, definition.is_present()))
                .collect(),
        });
    }

    /// Nobody wants to know about a session any more.
    pub(super) fn forget(&mut self, session: &Uri) {
        self.session_ended(session);
        self.client_plugins(session, Vec::new());
        self.sessions.remove(session);
        self.outbox.forget(session);
        self.drop_unused();
        self.forget_shared(session);
    }

    /// It is known which containers are there: they can be shown, and read.
    pub(super) fn surveyed(&mut self, session: &Uri, present: Vec<(String, bool)>) {
        for (key, present) in present {
            if let Some(shelf) = self.shelves.get_mut(&key)
                && shelf.parsed.is_none()
            {
                shelf.present = present;
                self.begin_reading(&key);
            }
        }
        self.publish_all(session);
    }

    /// Files of containers have changed.
    pub(super) fn touched(&mut self, shelves: &BTreeSet<String>) {
        for key in shelves {
            if let Some(shelf) = self.shelves.get_mut(key) {
                shelf.state = match shelf.state {
                    ReadState::Idle => ReadState::Due(Instant::now() + QUIET),
                    ReadState::Running => ReadState::RunningAndDue,
                    state @ (ReadState::Due(_) | ReadState::RunningAndDue) => state,
                };
            }
        }
    }

    /// Reads what has changed long enough ago.
    pub(super) fn read_due(&mut self, now: Instant) {
        let due: Vec<String> = self
            .shelves
            .iter()
            .filter(|(_, shelf)| shelf.due().is_some_and(|at| at <= now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.begin_reading(&key);
        }
    }

    /// A container was read.
    pub(super) fn read(&mut self, key: &str, reading: Reading) {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        let Some(shelf) = self.shelves.get_mut(key) else {
            // Nobody has it any more; nor is it watched any more.
            let watching = self.watching.clone();
            let key = key.to_owned();
            self.work.spawn_blocking(move || {
                watching.set(&key, &Folders::new());
                Done::Nothing
            });
            return;
        };
        shelf.parsed = Some(Arc::new(reading.parsed));
        shelf.present = reading.present;
        shelf.state = match shelf.state {
            ReadState::RunningAndDue => ReadState::Due(Instant::now() + QUIET),
            ReadState::Idle | ReadState::Running | ReadState::Due(_) => ReadState::Idle,
        };
        self.show(key);
        let sessions: Vec<Uri> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.shelves.iter().any(|has| has == key))
            .map(|(uri, _)| uri.clone())
            .collect();
        for session in sessions {
            self.publish_one(&session, key);
        }
        self.prepare_waiting(Instant::now());
    }

    fn begin_reading(&mut self, key: &str) {
        let Some(shelf) = self.shelves.get_mut(key) else {
            return;
        };
        match shelf.state {
            ReadState::Running | ReadState::RunningAndDue => return,
            ReadState::Idle | ReadState::Due(_) => shelf.state = ReadState::Running,
        }
        let definition = shelf.definition.clone();
        let watching = self.watching.clone();
        let key = key.to_owned();
        let turns = self.readers.clone();
        self.work.spawn(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await.ok();
            let name = key.clone();
            let reading =
                tokio::task::spawn_blocking(move || read_and_watch(&name, &definition, &watching));
            // Whoever waits for it must not wait for ever.
            let reading = reading.await.unwrap_or_else(|_| Reading {
                parsed: Parsed::failed("reading it failed"),
                present: true,
                folders: Vec::new(),
            });
            Done::Read {
                shelf: key,
                reading,
            }
        });
    }

    /// Containers that no session has are not read or watched any more.
    fn drop_unused(&mut self) {
        let used: BTreeSet<&String> = self
            .sessions
            .values()
            .flat_map(|session| &session.shelves)
            .collect();
        let unused: Vec<String> = self
            .shelves
            .keys()
            .filter(|key| !used.contains(key))
            .cloned()
            .collect();
        if unused.is_empty() {
            return;
        }
        for key in &unused {
            self.shelves.remove(key);
            self.forget_code(key);
        }
        let watching = self.watching.clone();
        self.work.spawn_blocking(move || {
            for key in &unused {
                watching.set(key, &Folders::new());
            }
            Done::Nothing
        });
    }
}

/// Reads a container and watches all that it was read from. What came to be
/// watched only now may have changed in between, so it is read again.
fn read_and_watch(key: &str, definition: &Definition, watching: &Watching) -> Reading {
    watching.set(key, &folders_above(definition));
    let mut reading = definition.read();
    for _ in 0..ROUNDS {
        let mut folders = folders_above(definition);
        let inside = reading.folders.drain(..);
        folders.extend(inside.map(|folder| (folder, Interest::All)));
        if watching.set(key, &folders) == Watched::AsBefore {
            break;
        }
        reading = definition.read();
    }
    reading
}

fn folders_above(definition: &Definition) -> Folders {
    let root = &definition.root;
    match (definition.frame.layout, root.parent()) {
        (Layout::Files(_), _) => {
            let files = definition.files.iter();
            files
                .flat_map(|file| above(root, &root.join(file.trim_end_matches('/'))))
                .collect()
        }
        (Layout::Plugin, Some(parent)) => above(parent, root),
        (Layout::Folder(_), _) => above(&definition.boundary, root),
        (Layout::Plugin, None) => Folders::new(),
    }
}
