//! Tracks the changes of sessions' files with checkpoints in shadow git repositories.
//!
//! A checkpoint is a git tree of everything in a folder, except for ignored and too large
//! files. The difference between two checkpoints is the difference between their trees. The
//! trees and their blobs are stored in a repository of the host, one for each session. The
//! index, the branches and the objects of the user's repository are never written. A folder
//! outside of any repository is tracked in the same way.

mod attributes;
pub(crate) mod checkpoints;
pub(crate) mod diff;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub(crate) mod git_content;
mod object_address;
pub(crate) mod operations;
pub(crate) mod path_list;
mod repository;
pub(crate) mod restore;
pub(crate) mod status;
mod survey;
mod tree;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agenthost_core::{
    ChangesetDiff, CheckpointId, CheckpointReport, DiffEndpoint, DiffRange, OperationRequest,
    OperationResult, SessionKey, WorkspaceStatus, short_hash,
};
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;

use crate::file_uri::path_of;
use crate::git::GitCommand;
use crate::protected_paths::ProtectedPaths;
use checkpoints::CheckpointTrees;
use diff::summarize;
pub use error::ChangesError;
use repository::ShadowRepository;
pub use survey::is_whole_edit;
pub use worktrees::removal::{UnmergedWork, WorktreeRemoval};

/// Directory of all worktrees, beside the directories of the sessions.
const WORKTREES_FOLDER: &str = "worktrees";

/// File with the reason why a session is not tracked.
const UNTRACKED_FILE: &str = "untracked";

/// Timeout for a checkpoint. A turn waits for it.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for diffs and other queries.
const DIFF_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for an operation, which may run hooks of the user.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(120);

/// The checkpoints and worktrees of all sessions.
#[derive(Debug)]
pub struct ChangeTracker {
    directory: PathBuf,
    /// Directory for pid files. With it, the next host kills setup commands if this host is
    /// killed.
    pid_dir: Option<Arc<Path>>,
    /// Cancellation flags of the worktree setups that are running.
    setups: Mutex<BTreeMap<SessionKey, Arc<AtomicBool>>>,
    /// Keys of repository code that may run.
    trusted_keys: Mutex<Arc<BTreeSet<String>>>,
    /// Paths that no checkpoint contains.
    protected: ProtectedPaths,
}

impl ChangeTracker {
    /// Creates a tracker that stores its data in a directory.
    pub fn new(directory: PathBuf) -> Self {
        ChangeTracker {
            directory,
            pid_dir: None,
            setups: Mutex::default(),
            trusted_keys: Mutex::default(),
            protected: ProtectedPaths::default(),
        }
    }

    /// Replaces the keys of the code that may run, see
    /// [`RepositoryCode`](crate::RepositoryCode).
    pub fn set_trusted_keys(&self, keys: BTreeSet<String>) {
        *lock(&self.trusted_keys) = Arc::new(keys);
    }

    fn git(&self, directory: &Path, timeout: Duration) -> GitCommand {
        let trusted = lock(&self.trusted_keys);
        GitCommand::new(directory, timeout).with_trusted_keys(Arc::clone(&trusted))
    }

    /// Returns the directory of all worktrees of a tracker with this directory.
    #[must_use]
    pub fn worktrees_in(directory: &Path) -> PathBuf {
        directory.join(WORKTREES_FOLDER)
    }

    /// Excludes paths from checkpoints, in whatever folder they are.
    #[must_use]
    pub fn with_protected_paths(self, protected: ProtectedPaths) -> Self {
        ChangeTracker { protected, ..self }
    }

    /// Sets the directory for pid files, with which the next host kills leftover processes.
    pub fn with_pid_dir(self, pid_dir: &Path) -> Self {
        ChangeTracker {
            pid_dir: Some(pid_dir.into()),
            ..self
        }
    }

    /// Takes a checkpoint of the session's files. Also takes the start checkpoint if that is
    /// missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the session is not tracked, or if git or the file system fails.
    pub fn take_checkpoint(
        &self,
        session: &Uri,
        directories: &[Uri],
        mark: &CheckpointId,
        chat_began: Option<&CheckpointId>,
    ) -> Result<CheckpointReport, ChangesError> {
        let tracked = self.open_session(session)?;
        if *mark != CheckpointId::SessionStart
            && tracked
                .read_checkpoint(&CheckpointId::SessionStart)?
                .is_none()
        {
            // A folder over the limits is not scanned again for each turn, because turns wait
            // for it.
            if let Some(reason) = tracked.untracked_reason() {
                return Err(ChangesError::Untracked(reason));
            }
            tracked.take_start_checkpoint(directories)?;
        }
        match mark {
            CheckpointId::SessionStart => tracked.take_start_checkpoint(directories),
            CheckpointId::BeforeTurn(_) => tracked.take_checkpoint(directories, mark, chat_began),
            CheckpointId::AfterTurn(_) => {
                let marked = tracked.take_checkpoint(directories, mark, chat_began)?;
                tracked.prune_objects()?;
                Ok(marked)
            }
        }
    }

    /// Computes the differences between two endpoints.
    ///
    /// # Errors
    ///
    /// Returns an error if an endpoint is not known, or if git or the file system fails.
    pub fn diff(
        &self,
        session: &Uri,
        directories: &[Uri],
        range: &DiffRange,
    ) -> Result<ChangesetDiff, ChangesError> {
        let tracked = self.open_session(session)?;
        let repositories = tracked.open_repositories(directories, DIFF_TIMEOUT)?;
        let (mut files, mut large) = (Vec::new(), Vec::new());
        let mut known = false;
        for repository in &repositories {
            let Some((from, to)) = tracked.range_trees(repository, range)? else {
                continue;
            };
            known = true;
            files.extend(diff::compare_from_endpoint(
                repository,
                &range.from,
                &from,
                &to,
            )?);
            if range.to == DiffEndpoint::WorkingTree {
                large.extend(git_content::describe_large_files(
                    repository,
                    &repository.snapshot()?.skipped,
                ));
            }
        }
        if !known {
            return Err(tracked.missing_checkpoint_error());
        }
        let mut files = git_content::describe_files(&tracked.key, &repositories, files)?;
        files.extend(large);
        Ok(ChangesetDiff {
            files,
            status: workspace_status(&repositories)?,
        })
    }

    /// Runs a changeset operation, for example stage, commit or undo.
    ///
    /// # Errors
    ///
    /// Returns an error if the operation was refused or failed. A failed undo, apply or merge is
    /// rolled back.
    pub fn run_operation(
        &self,
        session: &Uri,
        directories: &[Uri],
        request: &OperationRequest,
    ) -> Result<OperationResult, ChangesError> {
        let tracked = self.open_session(session)?;
        let repositories = tracked.open_repositories(directories, OPERATION_TIMEOUT)?;
        operations::run_operation(&tracked, &repositories, request)
    }

    /// Removes all data of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be removed.
    pub fn remove_session(&self, session: &Uri) -> Result<(), ChangesError> {
        let directory = self.directory.join(SessionKey::of(session).as_str());
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Removes the data of all sessions except for these. Worktrees stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be read or an entry can't be removed.
    pub fn retain_sessions(&self, sessions: &BTreeSet<SessionKey>) -> io::Result<()> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let known: BTreeSet<_> = sessions.iter().map(SessionKey::as_str).collect();
        for entry in entries {
            let entry = entry?;
            // A name that is not UTF-8 was not created by the host.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name != WORKTREES_FOLDER && !known.contains(name.as_str()) {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn open_session(&self, session: &Uri) -> Result<SessionRepositories, ChangesError> {
        let key = SessionKey::of(session);
        let directory = self.directory.join(key.as_str());
        // Only this user may read the stored file contents.
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&directory)?;
        Ok(SessionRepositories {
            directory,
            key,
            git: self.git(Path::new("/"), DIFF_TIMEOUT),
            protected: self.protected.clone(),
        })
    }
}

/// The shadow repositories and checkpoints of one session.
#[derive(Debug)]
struct SessionRepositories {
    directory: PathBuf,
    key: SessionKey,
    /// Template for git commands in the folders of the session.
    git: GitCommand,
    protected: ProtectedPaths,
}

impl SessionRepositories {
    /// Opens the repositories of folders. A folder inside of another one is covered by that
    /// one.
    fn open_repositories(
        &self,
        directories: &[Uri],
        timeout: Duration,
    ) -> Result<Vec<ShadowRepository>, ChangesError> {
        let mut found: Vec<ShadowRepository> = Vec::new();
        for directory in directories.iter().filter_map(path_of) {
            let within = |known: &ShadowRepository| directory.starts_with(&known.directory);
            if !found.iter().any(within) {
                found.retain(|known| !known.directory.starts_with(&directory));
                let git = self
                    .git
                    .in_other_repository(&directory)
                    .with_timeout(timeout);
                let repository = ShadowRepository::open(git, &directory, &self.directory)?;
                found.push(repository.with_protected_paths(&self.protected)?);
            }
        }
        if found.is_empty() {
            return Err(ChangesError::NoFolder);
        }
        Ok(found)
    }

    /// Takes a checkpoint and reports the changes since the start of the session and of the
    /// chat.
    fn take_checkpoint(
        &self,
        directories: &[Uri],
        mark: &CheckpointId,
        chat_began: Option<&CheckpointId>,
    ) -> Result<CheckpointReport, ChangesError> {
        let repositories = self.open_repositories(directories, CHECKPOINT_TIMEOUT)?;
        // The start checkpoint is taken once for each folder, also if folders are added later.
        let mut marks = match mark {
            CheckpointId::SessionStart => self.read_checkpoint(mark)?.unwrap_or_default(),
            CheckpointId::BeforeTurn(_) | CheckpointId::AfterTurn(_) => CheckpointTrees::default(),
        };
        for repository in &repositories {
            if marks.get(repository).is_none() {
                marks.insert(repository, repository.snapshot()?.tree.clone());
            }
        }
        self.write_checkpoint(mark, &marks)?;
        // The turn waits for this checkpoint. The report can be computed after the turn.
        if let CheckpointId::BeforeTurn(_) = mark {
            return Ok(CheckpointReport::default());
        }
        let since = |mark: &CheckpointId| -> Result<Option<ChangesSummary>, ChangesError> {
            let Some(began) = self.read_checkpoint(mark)? else {
                return Ok(None);
            };
            let mut files = Vec::new();
            for repository in &repositories {
                if let (Some(from), Some(to)) = (began.get(repository), marks.get(repository)) {
                    files.extend(diff::compare_trees(repository, from, to)?);
                }
            }
            Ok(Some(summarize(&files)))
        };
        let chat = chat_began.map(since).transpose()?.flatten();
        Ok(CheckpointReport {
            status: Some(workspace_status(&repositories)?),
            session_total: since(&CheckpointId::SessionStart)?,
            chat_total: chat,
        })
    }

    /// Takes the start checkpoint. If the limits are exceeded, the reason is stored, so that
    /// later checkpoints fail at once.
    fn take_start_checkpoint(&self, directories: &[Uri]) -> Result<CheckpointReport, ChangesError> {
        let marked = self.take_checkpoint(directories, &CheckpointId::SessionStart, None);
        let note = self.directory.join(UNTRACKED_FILE);
        match &marked {
            Err(error @ (ChangesError::LimitExceeded(_) | ChangesError::TimedOut)) => {
                std::fs::write(note, error.to_string())?;
            }
            Ok(_) if note.exists() => std::fs::remove_file(note)?,
            _ => {}
        }
        marked
    }

    /// Returns the stored reason why the session is not tracked.
    fn untracked_reason(&self) -> Option<String> {
        std::fs::read_to_string(self.directory.join(UNTRACKED_FILE)).ok()
    }

    /// Returns the error for a missing checkpoint: the stored reason, or
    /// [`ChangesError::NoCheckpoint`].
    fn missing_checkpoint_error(&self) -> ChangesError {
        let reason = self.untracked_reason();
        reason.map_or(ChangesError::NoCheckpoint, ChangesError::Untracked)
    }

    /// Returns the trees of both endpoints, or `None` if a checkpoint is missing.
    fn range_trees(
        &self,
        repository: &ShadowRepository,
        range: &DiffRange,
    ) -> Result<Option<(String, String)>, ChangesError> {
        let from = self.endpoint_tree(repository, &range.from)?;
        let to = self.endpoint_tree(repository, &range.to)?;
        Ok(from.zip(to))
    }

    fn endpoint_tree(
        &self,
        repository: &ShadowRepository,
        endpoint: &DiffEndpoint,
    ) -> Result<Option<String>, ChangesError> {
        match endpoint {
            DiffEndpoint::WorkingTree => Ok(Some(repository.snapshot()?.tree.clone())),
            DiffEndpoint::Head => repository.head_tree().map(Some),
            DiffEndpoint::MergeBase => status::merge_base_tree(repository).map(Some),
            DiffEndpoint::Checkpoint(mark) => {
                let marks = self.read_checkpoint(mark)?;
                Ok(marks.and_then(|marks| marks.get(repository).map(ToOwned::to_owned)))
            }
        }
    }

    fn write_checkpoint(
        &self,
        mark: &CheckpointId,
        marks: &CheckpointTrees,
    ) -> Result<(), ChangesError> {
        marks.write(&self.directory.join("marks"), mark)
    }

    fn read_checkpoint(
        &self,
        mark: &CheckpointId,
    ) -> Result<Option<CheckpointTrees>, ChangesError> {
        CheckpointTrees::read(&self.directory.join("marks"), mark)
    }
}

/// Returns the git status of the first folder.
fn workspace_status(repositories: &[ShadowRepository]) -> Result<WorkspaceStatus, ChangesError> {
    let primary = repositories.first();
    let git = primary.map(status::git_status).transpose()?.flatten();
    Ok(WorkspaceStatus { git })
}

/// Returns a short hash of a path that is usable in file names.
fn folder_key(path: &Path) -> String {
    short_hash(path.as_os_str().as_encoded_bytes())
}
