//! How the files of sessions change.
//!
//! A moment is remembered as a tree of git: of all that is in a folder, except
//! for what its ignore files name and what is too large. Two moments differ by
//! what differs between their trees. Trees and what is in them are kept in a
//! repository of our own, one for each session; of the user's, the index, the
//! branches and the objects stay as they are. A folder that is in no
//! repository is treated the same way.

mod attributes;
mod compare;
mod content;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod marks;
mod names;
mod object_address;
mod operate;
mod put_back;
mod repository;
mod standing;
mod survey;
mod tree;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agenthost_core::{
    ChangeOperation, Comparison, Mark, Marked, Moment, Operated, SessionKey, Span, Standing,
    short_hash,
};
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::uri::Uri;

use crate::address::path_of;
use crate::git::Git;
use crate::protected::ProtectedPaths;
use compare::summarize;
pub use error::ChangesError;
use marks::Marks;
use repository::Repository;
pub use survey::is_whole_edit;
pub use worktrees::Leftover;

/// The folder of worktrees, beside those of sessions.
const WORKTREES: &str = "worktrees";

/// The file that says why a session is not tracked.
const UNTRACKED: &str = "untracked";

/// How long marking a moment may take. A turn waits for it.
const MARKING: Duration = Duration::from_secs(10);

/// How long anything else may take.
const LOOKING: Duration = Duration::from_secs(30);

/// How long an operation may take: hooks of the user may run.
const OPERATING: Duration = Duration::from_secs(120);

/// What is kept of the files of sessions.
#[derive(Debug)]
pub struct Changes {
    directory: PathBuf,
    /// Where it is noted what runs, for the next host if this one is killed.
    notes: Option<Arc<Path>>,
    /// Worktrees that are being set up, and whether that is still wanted.
    setups: Mutex<BTreeMap<SessionKey, Arc<AtomicBool>>>,
    /// Keys of the code of repositories that may run.
    trusted: Mutex<Arc<BTreeSet<String>>>,
    /// Left out of every folder.
    protected: ProtectedPaths,
}

impl Changes {
    /// Keeps what it has to in a directory.
    pub fn new(directory: PathBuf) -> Self {
        Changes {
            directory,
            notes: None,
            setups: Mutex::default(),
            trusted: Mutex::default(),
            protected: ProtectedPaths::default(),
        }
    }

    /// Replaces the keys of the code that may run, see
    /// [`RepositoryCode`](crate::RepositoryCode).
    pub fn trust(&self, keys: BTreeSet<String>) {
        *self.trusted.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    fn git(&self, directory: &Path, timeout: Duration) -> Git {
        let trusted = self.trusted.lock();
        let trusted = trusted.unwrap_or_else(PoisonError::into_inner);
        Git::new(directory, timeout).trusting(Arc::clone(&trusted))
    }

    /// Returns where the worktrees of sessions are in such a directory.
    #[must_use]
    pub fn worktrees_in(directory: &Path) -> PathBuf {
        directory.join(WORKTREES)
    }

    /// Leaves some paths out, whatever folder they are in.
    #[must_use]
    pub fn protecting(self, protected: ProtectedPaths) -> Self {
        Changes { protected, ..self }
    }

    /// Notes what it runs in a directory, so that the next one can end it.
    pub fn with_notes(self, notes: &Path) -> Self {
        Changes {
            notes: Some(notes.into()),
            ..self
        }
    }

    /// Remembers how the files are now.
    ///
    /// # Errors
    ///
    /// Why that could not be done.
    pub fn mark(
        &self,
        session: &Uri,
        directories: &[Uri],
        mark: &Mark,
        chat_began: Option<&Mark>,
    ) -> Result<Marked, ChangesError> {
        let kept = self.of(session)?;
        if *mark != Mark::Start && kept.read(&Mark::Start)?.is_none() {
            // What is too much is not tried again and again: turns wait for it.
            if let Some(reason) = kept.untracked() {
                return Err(ChangesError::Untracked(reason));
            }
            kept.begin(directories)?;
        }
        match mark {
            Mark::Start => kept.begin(directories),
            Mark::Before(_) => kept.take_mark(directories, mark, chat_began),
            Mark::After(_) => {
                let marked = kept.take_mark(directories, mark, chat_began)?;
                kept.tidy()?;
                Ok(marked)
            }
        }
    }

    /// Says how the files differ between two moments.
    ///
    /// # Errors
    ///
    /// Why that is not known.
    pub fn compare(
        &self,
        session: &Uri,
        directories: &[Uri],
        span: &Span,
    ) -> Result<Comparison, ChangesError> {
        let kept = self.of(session)?;
        let repositories = kept.repositories(directories, LOOKING)?;
        let (mut files, mut large) = (Vec::new(), Vec::new());
        let mut known = false;
        for repository in &repositories {
            let Some((from, to)) = kept.ends(repository, span)? else {
                continue;
            };
            known = true;
            files.extend(compare::since(repository, &span.from, &from, &to)?);
            if span.to == Moment::Now {
                large.extend(content::large(repository, &repository.now()?.left_out));
            }
        }
        if !known {
            return Err(kept.unmarked());
        }
        let mut files = content::describe(&kept.key, &repositories, files)?;
        files.extend(large);
        Ok(Comparison {
            files,
            standing: standing(&repositories)?,
        })
    }

    /// Does something about how files differ.
    ///
    /// # Errors
    ///
    /// Why it could not be done. Then nothing was.
    pub fn operate(
        &self,
        session: &Uri,
        directories: &[Uri],
        wanted: &ChangeOperation,
    ) -> Result<Operated, ChangesError> {
        let kept = self.of(session)?;
        let repositories = kept.repositories(directories, OPERATING)?;
        operate::operate(&kept, &repositories, wanted)
    }

    /// Forgets all about a session.
    ///
    /// # Errors
    ///
    /// If the system does not let it.
    pub fn forget(&self, session: &Uri) -> Result<(), ChangesError> {
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
    pub fn forget_others(&self, sessions: &BTreeSet<SessionKey>) -> io::Result<()> {
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
            if name != WORKTREES && !known.contains(name.as_str()) {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn of(&self, session: &Uri) -> Result<Kept, ChangesError> {
        let key = SessionKey::of(session);
        let directory = self.directory.join(key.as_str());
        // What was in files is for nobody else to read.
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&directory)?;
        Ok(Kept {
            directory,
            key,
            git: self.git(Path::new("/"), LOOKING),
            protected: self.protected.clone(),
        })
    }
}

/// What is kept of one session.
#[derive(Debug)]
struct Kept {
    directory: PathBuf,
    key: SessionKey,
    /// Git, to be used in the folders of the session.
    git: Git,
    protected: ProtectedPaths,
}

impl Kept {
    /// The repositories that folders are in. Those that are the same folder
    /// count once.
    fn repositories(
        &self,
        directories: &[Uri],
        patience: Duration,
    ) -> Result<Vec<Repository>, ChangesError> {
        let mut found: Vec<Repository> = Vec::new();
        for directory in directories.iter().filter_map(path_of) {
            let within = |known: &Repository| directory.starts_with(&known.directory);
            if !found.iter().any(within) {
                found.retain(|known| !known.directory.starts_with(&directory));
                let git = self.git.at(&directory).again(patience);
                let repository = Repository::open(git, &directory, &self.directory)?;
                found.push(repository.protecting(&self.protected)?);
            }
        }
        if found.is_empty() {
            return Err(ChangesError::NoFolder);
        }
        Ok(found)
    }

    /// Takes the trees of a moment, and says what changed until then.
    fn take_mark(
        &self,
        directories: &[Uri],
        mark: &Mark,
        chat_began: Option<&Mark>,
    ) -> Result<Marked, ChangesError> {
        let repositories = self.repositories(directories, MARKING)?;
        // A session begins once, however many folders it gets later.
        let mut marks = match mark {
            Mark::Start => self.read(mark)?.unwrap_or_default(),
            Mark::Before(_) | Mark::After(_) => Marks::default(),
        };
        for repository in &repositories {
            if marks.get(repository).is_none() {
                marks.insert(repository, repository.now()?.tree.clone());
            }
        }
        self.write(mark, &marks)?;
        // A turn waits for this: all else can be found out when it is over.
        if let Mark::Before(_) = mark {
            return Ok(Marked::default());
        }
        let since = |mark: &Mark| -> Result<Option<ChangesSummary>, ChangesError> {
            let Some(began) = self.read(mark)? else {
                return Ok(None);
            };
            let mut files = Vec::new();
            for repository in &repositories {
                if let (Some(from), Some(to)) = (began.get(repository), marks.get(repository)) {
                    files.extend(compare::trees(repository, from, to)?);
                }
            }
            Ok(Some(summarize(&files)))
        };
        let chat = chat_began.map(since).transpose()?.flatten();
        Ok(Marked {
            standing: Some(standing(&repositories)?),
            session: since(&Mark::Start)?,
            chat,
        })
    }

    /// Marks the start. If there is too much to mark, that is noted.
    fn begin(&self, directories: &[Uri]) -> Result<Marked, ChangesError> {
        let marked = self.take_mark(directories, &Mark::Start, None);
        let note = self.directory.join(UNTRACKED);
        match &marked {
            Err(error @ (ChangesError::TooMuch(_) | ChangesError::TooSlow)) => {
                std::fs::write(note, error.to_string())?;
            }
            Ok(_) if note.exists() => std::fs::remove_file(note)?,
            _ => {}
        }
        marked
    }

    /// Why nothing is tracked, if it is known.
    fn untracked(&self) -> Option<String> {
        std::fs::read_to_string(self.directory.join(UNTRACKED)).ok()
    }

    /// Why a moment is not known: because no one ever was, or this one.
    fn unmarked(&self) -> ChangesError {
        let reason = self.untracked();
        reason.map_or(ChangesError::Unmarked, ChangesError::Untracked)
    }

    /// The trees at both ends of a span; none if one was not marked.
    fn ends(
        &self,
        repository: &Repository,
        span: &Span,
    ) -> Result<Option<(String, String)>, ChangesError> {
        let from = self.tree(repository, &span.from)?;
        let to = self.tree(repository, &span.to)?;
        Ok(from.zip(to))
    }

    fn tree(
        &self,
        repository: &Repository,
        moment: &Moment,
    ) -> Result<Option<String>, ChangesError> {
        match moment {
            Moment::Now => Ok(Some(repository.now()?.tree.clone())),
            Moment::Committed => repository.committed().map(Some),
            Moment::BranchPoint => standing::branch_point(repository).map(Some),
            Moment::Marked(mark) => {
                let marks = self.read(mark)?;
                Ok(marks.and_then(|marks| marks.get(repository).map(ToOwned::to_owned)))
            }
        }
    }

    fn write(&self, mark: &Mark, marks: &Marks) -> Result<(), ChangesError> {
        marks.write(&self.directory.join("marks"), mark)
    }

    fn read(&self, mark: &Mark) -> Result<Option<Marks>, ChangesError> {
        Marks::read(&self.directory.join("marks"), mark)
    }
}

/// What is known of the primary folder.
fn standing(repositories: &[Repository]) -> Result<Standing, ChangesError> {
    let primary = repositories.first();
    let git = primary.map(standing::of).transpose()?.flatten();
    Ok(Standing { git })
}

/// A name for a folder that can be a name of a file.
fn folder_key(path: &Path) -> String {
    short_hash(path.as_os_str().as_encoded_bytes())
}
