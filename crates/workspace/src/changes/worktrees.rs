//! Worktrees that the host makes for sessions.
//!
//! A worktree is a folder of its own with a branch of its own. Where it came
//! from is noted beside what git keeps of it.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agenthost_core::{SessionKey, Worktree, WorktreeWish};
use agenthost_protocol::uri::Uri;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::git::{Answered, Git};
use super::{Changes, ChangesError, OPERATING, WORKTREES};
use crate::address::{path_of, uri_of, uri_of_raw};
use crate::files::LARGEST;

/// The file in which it is noted what a worktree was made from.
const NOTE: &str = "agenthost";

/// How long setting a worktree up may take.
const SETUP: Duration = Duration::from_secs(600);

/// Most files that are copied into a worktree.
const COPIES: usize = 100;

/// What is noted of a worktree.
struct Note {
    base: String,
    folder: Uri,
    branch: String,
}

/// The branch that a worktree was made from, if the host made it.
pub(super) fn based_on(git_dir: &Path) -> Option<String> {
    note(git_dir).map(|note| note.base)
}

/// The folder that a worktree was made from, if the host made it.
pub(super) fn made_from(git_dir: &Path) -> Option<Uri> {
    note(git_dir).map(|note| note.folder)
}

fn note(git_dir: &Path) -> Option<Note> {
    let note = std::fs::read_to_string(git_dir.join(NOTE)).ok()?;
    let mut lines = note.lines();
    let mut line = || lines.next().map(ToOwned::to_owned);
    Some(Note {
        base: line()?,
        folder: Uri::from(line()?),
        branch: line()?,
    })
}

/// What became of the worktree of a session that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// There was none, or nothing of it is left.
    Nothing,
    /// Something was worth keeping, in these words.
    Kept(String),
}

impl Changes {
    /// Makes a worktree for a session.
    ///
    /// # Errors
    ///
    /// Why it could not be made. Then nothing of it is left.
    pub fn make_worktree(
        &self,
        session: &Uri,
        folder: &Uri,
        wish: &WorktreeWish,
    ) -> Result<Worktree, ChangesError> {
        let refused = |reason: &str| ChangesError::Refused(reason.to_owned());
        let from = path_of(folder).filter(|path| path.is_dir());
        let from = from.ok_or(ChangesError::NoFolder)?;
        let git = Git::new(&from, OPERATING);
        if git
            .maybe(["rev-parse", "--is-inside-work-tree"])?
            .as_deref()
            != Some("true")
        {
            return Err(refused(
                "the folder is in no git repository: it can have no worktree",
            ));
        }
        let key = SessionKey::of(session);
        let short = key.as_str().get(..8).unwrap_or_default();
        let name = wish
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
        let current = git.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let base = wish.base.clone().or(current);
        let named = base.as_deref().unwrap_or("HEAD");
        let commit = format!("{named}^{{commit}}");
        let known = [
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            commit.as_str(),
        ];
        let Some(commit) = git.maybe(known)? else {
            return Err(refused("there is no such branch to start from"));
        };
        // Where no branch is checked out, it is based on the commit.
        let base = base.unwrap_or_else(|| commit.clone());
        let top = git.line(["rev-parse", "--show-toplevel"])?;
        let prefix = git.line(["rev-parse", "--show-prefix"])?;
        let called = Path::new(&top).file_name().unwrap_or("worktree".as_ref());
        let place = self.worktree_of(&key).join(called);
        if place.exists() {
            return Err(refused("there is a worktree of this session already"));
        }
        std::fs::create_dir_all(self.worktree_of(&key))?;
        let added = ["worktree", "add", "--quiet", "-b", branch.as_str()].map(AsRef::as_ref);
        let added = added
            .into_iter()
            .chain([place.as_os_str(), commit.as_ref()]);
        let directory = match prefix.trim_end_matches('/') {
            "" => place.clone(),
            prefix => place.join(prefix),
        };
        let note = Note {
            base,
            folder: folder.clone(),
            branch: branch.clone(),
        };
        let made = git
            .run_as_user(added)
            .and_then(Answered::succeeded)
            .and_then(|_| set_up(&from, &directory, &note, wish));
        if let Err(error) = made {
            // It may not have come that far; the first problem is the one to tell.
            remove(&git.again(OPERATING), &place, &branch).unwrap_or_default();
            return Err(error);
        }
        Ok(Worktree {
            directory: uri_of(&directory).unwrap_or_else(|| uri_of_raw(&directory)),
            branch,
        })
    }

    /// Removes the worktree of a session that is gone, unless there is
    /// something in it that is nowhere else. Files that ignore files name go
    /// with it.
    ///
    /// # Errors
    ///
    /// If it can't be seen what is in it. Then it stays.
    pub fn drop_worktree(&self, session: &Uri) -> Result<Leftover, ChangesError> {
        let parent = self.worktree_of(&SessionKey::of(session));
        let Some(place) = only_folder(&parent)? else {
            return Ok(Leftover::Nothing);
        };
        let here = place.display();
        let git = Git::new(&place, OPERATING);
        let status = git.ask(["status", "--porcelain", "-z", "--untracked-files=all"])?;
        if !status.is_empty() {
            let words = format!("the worktree {here} has changes that are not committed");
            return Ok(Leftover::Kept(words));
        }
        let git_dir = PathBuf::from(git.line(["rev-parse", "--absolute-git-dir"])?);
        let branch = git.maybe(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let origin = note(&git_dir).filter(|note| Some(&note.branch) == branch.as_ref());
        let origin = origin.and_then(|note| Some((path_of(&note.folder)?, note)));
        let Some((folder, Note { base, branch, .. })) = origin else {
            let words = format!("the worktree {here} is on another branch");
            return Ok(Leftover::Kept(words));
        };
        let git = Git::new(&folder, OPERATING);
        let range = format!("{base}..refs/heads/{branch}");
        let ahead = git.line(["rev-list", "--count", "--end-of-options", range.as_str()])?;
        let place = place.as_os_str();
        git.ask(["worktree".as_ref(), "remove".as_ref(), place])?;
        std::fs::remove_dir_all(parent)?;
        if ahead != "0" {
            let words = format!("the branch {branch} has commits that {base} has not");
            return Ok(Leftover::Kept(words));
        }
        git.ask(["branch", "--quiet", "-D", branch.as_str()])?;
        Ok(Leftover::Nothing)
    }

    fn worktree_of(&self, key: &SessionKey) -> PathBuf {
        self.directory.join(WORKTREES).join(key.as_str())
    }
}

/// Notes what a worktree was made from, and gets it ready.
fn set_up(
    from: &Path,
    directory: &Path,
    note: &Note,
    wish: &WorktreeWish,
) -> Result<(), ChangesError> {
    let git = Git::new(directory, OPERATING);
    let git_dir = git.line(["rev-parse", "--absolute-git-dir"])?;
    let text = format!("{}\n{}\n{}\n", note.base, note.folder, note.branch);
    std::fs::write(Path::new(&git_dir).join(NOTE), text)?;
    copy(from, directory, &wish.files)?;
    match &wish.setup {
        Some(line) => run(directory, &line.0),
        None => Ok(()),
    }
}

/// The folder in a folder; none if there is none.
fn only_folder(parent: &Path) -> Result<Option<PathBuf>, ChangesError> {
    match std::fs::read_dir(parent) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        entries => {
            let first = entries?.next().transpose()?;
            Ok(first.map(|entry| entry.path()))
        }
    }
}

fn remove(git: &Git, place: &Path, branch: &str) -> Result<(), ChangesError> {
    let place = place.as_os_str();
    git.ask([
        "worktree".as_ref(),
        "remove".as_ref(),
        "--force".as_ref(),
        place,
    ])?;
    git.ask(["branch", "--quiet", "-D", branch]).map(drop)
}

/// Copies files that git does not track, such as settings. Those that are not
/// there are not missed.
fn copy(from: &Path, to: &Path, names: &[String]) -> Result<(), ChangesError> {
    if names.len() > COPIES {
        return Err(ChangesError::TooMuch(format!(
            "more than {COPIES} files to copy"
        )));
    }
    let from = Dir::open_ambient_dir(from, ambient_authority())?;
    let to = Dir::open_ambient_dir(to, ambient_authority())?;
    for name in names {
        let path = Path::new(name);
        let plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() {
            let reason = "files to copy are named from the folder, without `..`".to_owned();
            return Err(ChangesError::Refused(reason));
        }
        let Ok(metadata) = from.metadata(path) else {
            continue;
        };
        if !metadata.is_file() || metadata.len() > LARGEST {
            let reason = format!("`{name}` is no file that can be copied");
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

/// Runs what the user wants to be run first; its last words if it fails.
fn run(directory: &Path, line: &str) -> Result<(), ChangesError> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut child = Command::new("sh")
        .args(["-c", line])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let group = i32::try_from(child.id()).ok().map(Pid::from_raw);
    let words = std::thread::spawn(move || {
        let mut last = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            last.extend(buffer.iter().take(count));
            last.drain(..last.len().saturating_sub(2_000));
        }
        String::from_utf8_lossy(&last).into_owned()
    });
    let deadline = Instant::now() + SETUP;
    let ended = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if let Some(group) = group {
        // What it left running has no business here. There may be nothing.
        killpg(group, Signal::SIGKILL).unwrap_or_default();
    }
    let Some(status) = ended else {
        child.wait()?;
        return Err(ChangesError::Refused(
            "the setup command took too long".to_owned(),
        ));
    };
    if status.success() {
        return Ok(());
    }
    let words = words.join().unwrap_or_default();
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it said nothing");
    Err(ChangesError::Refused(format!(
        "the setup command failed: {last}"
    )))
}
