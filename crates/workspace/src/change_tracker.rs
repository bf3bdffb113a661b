//! How the files of sessions change.
//!
//! A moment is remembered as a tree of git: of all that is in a folder, except
//! for what its ignore files name and what is too large. Two moments differ by
//! what differs between their trees. Trees and what is in them are kept in a
//! repository of our own, one for each session; of the user's, the index, the
//! branches and the objects stay as they are. A folder that is in no
//! repository is treated the same way.

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
pub use worktrees::WorktreeRemoval;

/// The folder of worktrees, beside those of sessions.
const WORKTREES_FOLDER: &str = "worktrees";

/// The file that says why a session is not tracked.
const UNTRACKED_FILE: &str = "untracked";

/// How long marking a moment may take. A turn waits for it.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long anything else may take.
const DIFF_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an operation may take: hooks of the user may run.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(120);

/// What is kept of the files of sessions.
#[derive(Debug)]
pub struct ChangeTracker {
    directory: PathBuf,
    /// Where it is noted what runs, for the next host if this one is killed.
    pid_dir: Option<Arc<Path>>,
    /// Worktrees that are being set up, and whether that is still wanted.
    setups: Mutex<BTreeMap<SessionKey, Arc<AtomicBool>>>,
    /// Keys of the code of repositories that may run.
    trusted_keys: Mutex<Arc<BTreeSet<String>>>,
    /// Left out of every folder.
    protected: ProtectedPaths,
}

impl ChangeTracker {
    /// Keeps what it has to in a directory.
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

    /// Returns where the worktrees of sessions are in such a directory.
    #[must_use]
    pub fn worktrees_in(directory: &Path) -> PathBuf {
        directory.join(WORKTREES_FOLDER)
    }

    /// Leaves some paths out, whatever folder they are in.
    #[must_use]
    pub fn with_protected_paths(self, protected: ProtectedPaths) -> Self {
        ChangeTracker { protected, ..self }
    }

    /// Notes what it runs in a directory, so that the next one can end it.
    pub fn with_pid_dir(self, pid_dir: &Path) -> Self {
        ChangeTracker {
            pid_dir: Some(pid_dir.into()),
            ..self
        }
    }

    /// Remembers how the files are now.
    ///
    /// # Errors
    ///
    /// Why that could not be done.
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
            // What is too much is not tried again and again: turns wait for it.
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

    /// Says how the files differ between two moments.
    ///
    /// # Errors
    ///
    /// Why that is not known.
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

    /// Does something about how files differ.
    ///
    /// # Errors
    ///
    /// Why it could not be done. Then nothing was.
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

    /// Forgets all about a session.
    ///
    /// # Errors
    ///
    /// If the system does not let it.
    pub fn remove_session(&self, session: &Uri) -> Result<(), ChangesError> {
        let directory = self.directory.join(SessionKey::of(session).as_str());
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Forgets all sessions but these. What a worktree has in it stays.
    ///
    /// # Errors
    ///
    /// If the system does not let it.
    pub fn retain_sessions(&self, sessions: &BTreeSet<SessionKey>) -> io::Result<()> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let known: BTreeSet<_> = sessions.iter().map(SessionKey::as_str).collect();
        for entry in entries {
            let entry = entry?;
            // What has another kind of name is not ours.
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
        // What was in files is for nobody else to read.
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

/// What is kept of one session.
#[derive(Debug)]
struct SessionRepositories {
    directory: PathBuf,
    key: SessionKey,
    /// Git, to be used in the folders of the session.
    git: GitCommand,
    protected: ProtectedPaths,
}

impl SessionRepositories {
    /// The repositories that folders are in. Those that are the same folder
    /// count once.
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

    /// Takes the trees of a moment, and says what changed until then.
    fn take_checkpoint(
        &self,
        directories: &[Uri],
        mark: &CheckpointId,
        chat_began: Option<&CheckpointId>,
    ) -> Result<CheckpointReport, ChangesError> {
        let repositories = self.open_repositories(directories, CHECKPOINT_TIMEOUT)?;
        // A session begins once, however many folders it gets later.
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
        // A turn waits for this: all else can be found out when it is over.
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

    /// Marks the start. If there is too much to mark, that is noted.
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

    /// Why nothing is tracked, if it is known.
    fn untracked_reason(&self) -> Option<String> {
        std::fs::read_to_string(self.directory.join(UNTRACKED_FILE)).ok()
    }

    /// Why a moment is not known: because no one ever was, or this one.
    fn missing_checkpoint_error(&self) -> ChangesError {
        let reason = self.untracked_reason();
        reason.map_or(ChangesError::NoCheckpoint, ChangesError::Untracked)
    }

    /// The trees at both ends of a span; none if one was not marked.
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

/// What is known of the primary folder.
fn workspace_status(repositories: &[ShadowRepository]) -> Result<WorkspaceStatus, ChangesError> {
    let primary = repositories.first();
    let git = primary.map(status::git_status).transpose()?.flatten();
    Ok(WorkspaceStatus { git })
}

/// A name for a folder that can be a name of a file.
fn folder_key(path: &Path) -> String {
    short_hash(path.as_os_str().as_encoded_bytes())
}
