//! Creates and removes git worktrees for sessions.
//!
//! A worktree is a directory with its own branch. Its origin is recorded in its git directory.

pub(super) mod removal;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use agenthost_core::{
    COMMAND_COLS, COMMAND_ROWS, CommandLine, SessionKey, TerminalEvent, Worktree, WorktreeRequest,
};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::{ChangeTracker, ChangesError, OPERATION_TIMEOUT, WORKTREES_FOLDER};
use crate::file_service::MAX_FILE_BYTES;
use crate::file_uri::{path_of, uri_of, uri_of_raw};
use crate::git::GitCommand;
use crate::protected_paths::ProtectedPaths;
use crate::terminal::{PtyProgram, Terminal, TerminalOptions};

/// File in the git directory with the origin of a worktree.
const RECORD_FILE: &str = "agenthost";

/// Timeout for the setup command of a worktree, which may install dependencies.
const SETUP_TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum number of files that are copied into a worktree.
const MAX_COPIED_FILES: usize = 100;

/// The origin of a worktree: base branch, folder, and the created branch.
struct WorktreeRecord {
    base: String,
    folder: Uri,
    branch: String,
}

/// Returns the base branch in the record of a worktree.
pub(super) fn recorded_base(git_dir: &Path) -> Option<String> {
    read_record(git_dir).map(|note| note.base)
}

/// Returns the folder in the record of a worktree.
pub(super) fn recorded_folder(git_dir: &Path) -> Option<Uri> {
    read_record(git_dir).map(|note| note.folder)
}

fn read_record(git_dir: &Path) -> Option<WorktreeRecord> {
    let note = std::fs::read_to_string(git_dir.join(RECORD_FILE)).ok()?;
    let mut lines = note.lines();
    let mut line = || lines.next().map(ToOwned::to_owned);
    Some(WorktreeRecord {
        base: line()?,
        folder: Uri::from(line()?),
        branch: line()?,
    })
}

fn refused(reason: &str) -> ChangesError {
    ChangesError::Refused(reason.to_owned())
}

fn check_in_repository(git: &GitCommand) -> Result<(), ChangesError> {
    if git
        .try_read_line(["rev-parse", "--is-inside-work-tree"])?
        .as_deref()
        != Some("true")
    {
        return Err(refused(
            "the folder is not in a git repository, so it cannot have a worktree",
        ));
    }
    Ok(())
}

/// Returns the name of the branch for a new worktree.
fn new_branch(
    git: &GitCommand,
    session: &SessionKey,
    request: &WorktreeRequest,
) -> Result<String, ChangesError> {
    let short = session.as_str().get(..8).unwrap_or_default();
    let name = request
        .name
        .clone()
        .unwrap_or_else(|| format!("session-{short}"));
    let branch = format!("agenthost/{name}");
    let reference = format!("refs/heads/{branch}");
    if !git
        .run(["check-ref-format", reference.as_str()], &[])?
        .success
    {
        return Err(refused(
            "the name of the worktree can't be the name of a branch",
        ));
    }
    Ok(branch)
}

/// Returns the base branch of a new worktree, and its commit.
fn resolve_base(
    git: &GitCommand,
    request: &WorktreeRequest,
) -> Result<(String, String), ChangesError> {
    let current = git.try_read_line(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let base = request.base.clone().or(current);
    let named = base.as_deref().unwrap_or("HEAD");
    let commit = format!("{named}^{{commit}}");
    let known = [
        "rev-parse",
        "--quiet",
        "--verify",
        "--end-of-options",
        commit.as_str(),
    ];
    let Some(commit) = git.try_read_line(known)? else {
        return Err(refused("the base branch does not exist"));
    };
    // With a detached `HEAD`, the base is the commit.
    let base = base.unwrap_or_else(|| commit.clone());
    Ok((base, commit))
}

impl ChangeTracker {
    /// Creates a worktree for a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the worktree can't be created or set up. It is removed then.
    pub fn create_worktree(
        &self,
        session: &Uri,
        folder: &Uri,
        request: &WorktreeRequest,
    ) -> Result<Worktree, ChangesError> {
        let from = path_of(folder).filter(|path| path.is_dir());
        let from = from.ok_or(ChangesError::NoFolder)?;
        let git = self.git(&from, OPERATION_TIMEOUT);
        check_in_repository(&git)?;
        let key = SessionKey::of(session);
        let branch = new_branch(&git, &key, request)?;
        let (base, commit) = resolve_base(&git, request)?;
        let top = git.read_line(["rev-parse", "--show-toplevel"])?;
        let prefix = git.read_line(["rev-parse", "--show-prefix"])?;
        let called = Path::new(&top).file_name().unwrap_or("worktree".as_ref());
        let worktree_path = self.worktree_parent(&key).join(called);
        if worktree_path.exists() {
            return Err(refused("there is a worktree of this session already"));
        }
        std::fs::create_dir_all(self.worktree_parent(&key))?;
        let directory = match prefix.trim_end_matches('/') {
            "" => worktree_path.clone(),
            prefix => worktree_path.join(prefix),
        };
        let note = WorktreeRecord {
            base,
            folder: folder.clone(),
            branch: branch.clone(),
        };
        let made = self
            .check_out_worktree(&git, &worktree_path, &branch, &commit)
            .and_then(|()| self.set_up_worktree(&key, &from, &directory, &note, request));
        if let Err(error) = made {
            remove_worktree_and_branch(
                &git.with_timeout(OPERATION_TIMEOUT),
                &worktree_path,
                &branch,
            )
            .ignore_secondary();
            return Err(error);
        }
        Ok(Worktree {
            directory: uri_of(&directory).unwrap_or_else(|| uri_of_raw(&directory)),
            branch,
        })
    }

    /// Adds a worktree with a new branch and checks out its files.
    fn check_out_worktree(
        &self,
        git: &GitCommand,
        worktree_path: &Path,
        branch: &str,
        commit: &str,
    ) -> Result<(), ChangesError> {
        // The checkout is a separate step, because the worktree's configuration may differ from
        // that of the folder, and the code that it runs must be checked first.
        let added = ["worktree", "add", "--quiet", "--no-checkout", "-b", branch];
        let added = added.map(AsRef::as_ref);
        let added = added
            .into_iter()
            .chain([worktree_path.as_os_str(), commit.as_ref()]);
        git.run_without_hooks(added)?.into_stdout()?;
        let checkout = ["checkout", "--quiet", "--force"];
        self.git(worktree_path, OPERATION_TIMEOUT)
            .run_with_allowed_hooks(checkout)?
            .into_stdout()?;
        Ok(())
    }

    /// Writes the record of a worktree, copies files and runs the setup command.
    fn set_up_worktree(
        &self,
        session: &SessionKey,
        from: &Path,
        directory: &Path,
        note: &WorktreeRecord,
        request: &WorktreeRequest,
    ) -> Result<(), ChangesError> {
        let git = self.git(directory, OPERATION_TIMEOUT);
        let git_dir = git.read_line(["rev-parse", "--absolute-git-dir"])?;
        let text = format!("{}\n{}\n{}\n", note.base, note.folder, note.branch);
        std::fs::write(Path::new(&git_dir).join(RECORD_FILE), text)?;
        copy_files(from, directory, &request.files, &self.protected)?;
        let Some(line) = &request.setup else {
            return Ok(());
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let known = Arc::clone(&cancelled);
        self.setups().insert(session.clone(), known);
        let ran = run_setup(directory, line, self.pid_dir.clone(), &cancelled);
        self.setups().remove(session);
        ran
    }

    /// Cancels the setup of a session's worktree.
    pub fn cancel_setup(&self, session: &Uri) {
        if let Some(setup) = self.setups().get(&SessionKey::of(session)) {
            setup.store(true, Ordering::Relaxed);
        }
    }

    fn setups(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Arc<AtomicBool>>> {
        lock(&self.setups)
    }

    fn worktree_parent(&self, key: &SessionKey) -> PathBuf {
        self.directory.join(WORKTREES_FOLDER).join(key.as_str())
    }
}

fn remove_worktree_and_branch(
    git: &GitCommand,
    worktree_path: &Path,
    branch: &str,
) -> Result<(), ChangesError> {
    let worktree_path = worktree_path.as_os_str();
    git.read_output([
        "worktree".as_ref(),
        "remove".as_ref(),
        "--force".as_ref(),
        worktree_path,
    ])?;
    git.read_output(["branch", "--quiet", "-D", branch])?;
    Ok(())
}

/// Copies files that git does not track, such as settings. Missing ones are skipped.
fn copy_files(
    from: &Path,
    to: &Path,
    names: &[String],
    protected: &ProtectedPaths,
) -> Result<(), ChangesError> {
    if names.len() > MAX_COPIED_FILES {
        return Err(ChangesError::LimitExceeded(format!(
            "more than {MAX_COPIED_FILES} files to copy"
        )));
    }
    let real = from.canonicalize()?;
    let from = Dir::open_ambient_dir(from, ambient_authority())?;
    let to = Dir::open_ambient_dir(to, ambient_authority())?;
    for name in names {
        let path = Path::new(name);
        let plain = path.components().all(
            |part| matches!(part, Component::Normal(part) if !part.eq_ignore_ascii_case(".git")),
        );
        if !plain || name.is_empty() {
            let reason = "files to copy have paths relative to the folder, without `..` or `.git`";
            return Err(ChangesError::Refused(reason.to_owned()));
        }
        let Ok(metadata) = from.metadata(path) else {
            continue;
        };
        let is_protected = protected.contains(&real.join(from.canonicalize(path)?));
        if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES || is_protected {
            let reason = format!(
                "`{name}` can't be copied: it is not a regular file, is too large, or belongs to \
                 the host"
            );
            return Err(ChangesError::Refused(reason));
        }
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            to.create_dir_all(parent)?;
        }
        from.copy(path, &to, path)?;
    }
    Ok(())
}

/// Runs the setup command in a terminal, so that it ends with the host, even if the host is
/// killed. On failure, the error has the last line of its output.
fn run_setup(
    directory: &Path,
    line: &CommandLine,
    pid_dir: Option<Arc<Path>>,
    cancelled: &AtomicBool,
) -> Result<(), ChangesError> {
    let refused = |reason: String| Err(ChangesError::Refused(reason));
    let start = TerminalOptions {
        program: PtyProgram::Command(line.clone()),
        environment: Vec::new(),
        directory: uri_of(directory),
        cols: COMMAND_COLS,
        rows: COMMAND_ROWS,
        pid_dir,
        output_sink: None,
    };
    let (tell, events) = sync_channel(16);
    let tell = move |event| {
        tell.send(event).ignore_closed();
    };
    let terminal = Terminal::open(&start, tell);
    let _terminal = terminal.map_err(|error| ChangesError::Refused(error.to_string()))?;
    let deadline = Instant::now() + SETUP_TIMEOUT;
    let end = loop {
        match events.recv_timeout(Duration::from_millis(100)) {
            Ok(TerminalEvent::Exited(end)) => break end,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let reason = "the terminal of the setup command closed without an exit status";
                return refused(reason.to_owned());
            }
        }
        if cancelled.load(Ordering::Relaxed) {
            return refused("the session was removed".to_owned());
        }
        if Instant::now() > deadline {
            return refused("the setup command took too long".to_owned());
        }
    };
    if end.exit_code == Some(0) {
        return Ok(());
    }
    let words = end.preview.unwrap_or_default();
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or("no output");
    refused(format!("the setup command failed: {last}"))
}
