//! The repository that a folder is in, seen so that nothing of it changes.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::tree;
use super::tree::WorkingTreeSnapshot;
use super::{ChangesError, folder_key};
use crate::git;
use crate::git::GitCommand;
use crate::protected_paths::ProtectedPaths;

/// A folder and the repository it is in: the user's, or ours if there is none.
#[derive(Debug)]
pub(super) struct ShadowRepository {
    /// The folder.
    pub(super) directory: PathBuf,
    /// A name for the folder.
    pub(super) key: String,
    /// The top of what is checked out.
    pub(super) top: PathBuf,
    /// The folder as seen from there, empty or with a slash at its end.
    pub(super) prefix: Vec<u8>,
    /// Git that reads what the user has, and writes to what we have.
    pub(super) shadow: GitCommand,
    /// Git as the user would run it; none if the repository is ours.
    pub(super) user_git: Option<GitCommand>,
    /// Our index.
    pub(super) index: PathBuf,
    /// The user's index, if it has one.
    pub(super) user_index: Option<PathBuf>,
    /// Where the user's repository keeps what is about it.
    pub(super) git_dir: Option<PathBuf>,
    /// Where the host makes worktrees.
    worktrees: PathBuf,
    /// What is in the folder, once somebody has looked.
    snapshot: OnceCell<WorkingTreeSnapshot>,
    /// Left out of trees.
    pub(super) protected: ProtectedPaths,
    /// The top without symbolic links, once something is protected.
    real_top: PathBuf,
}

impl ShadowRepository {
    /// Finds the repository of a folder. Ours is below `kept`.
    pub(super) fn open(
        git: GitCommand,
        directory: &Path,
        session_dir: &Path,
    ) -> Result<Self, ChangesError> {
        if !directory.is_dir() {
            return Err(ChangesError::NoFolder);
        }
        let key = folder_key(directory);
        let index = session_dir.join(format!("index-{key}"));
        let Some(found) = GitLocation::find(&git)? else {
            let git = git.without_repository();
            let ours = ensure_shadow_git_dir(&git, session_dir, "sha1", None)?;
            let shadow = git
                .with_env("GIT_DIR", &ours)
                .with_env("GIT_WORK_TREE", directory)
                .with_env("GIT_INDEX_FILE", &index);
            return Ok(ShadowRepository {
                directory: directory.to_owned(),
                key,
                top: directory.to_owned(),
                prefix: Vec::new(),
                shadow,
                user_git: None,
                index,
                user_index: None,
                git_dir: None,
                worktrees: PathBuf::new(),
                snapshot: OnceCell::new(),
                protected: ProtectedPaths::default(),
                real_top: PathBuf::new(),
            });
        };
        let git = git.with_repository(&found.git_dir, &found.common_dir, &found.top)?;
        let ours = ensure_shadow_git_dir(&git, session_dir, &found.format, Some(&found.objects))?;
        let shadow = git
            .in_directory(&found.top)
            .with_env("GIT_DIR", &found.git_dir)
            .with_env("GIT_WORK_TREE", &found.top)
            .with_env("GIT_INDEX_FILE", &index)
            .with_env("GIT_OBJECT_DIRECTORY", ours.join("objects"));
        Ok(ShadowRepository {
            directory: directory.to_owned(),
            key,
            top: found.top,
            prefix: found.prefix,
            shadow,
            user_git: Some(git),
            index,
            user_index: Some(found.index),
            git_dir: Some(found.git_dir),
            worktrees: session_dir
                .parent()
                .unwrap_or(session_dir)
                .join(super::WORKTREES_FOLDER),
            snapshot: OnceCell::new(),
            protected: ProtectedPaths::default(),
            real_top: PathBuf::new(),
        })
    }

    /// Leaves some paths out of trees. Refuses a folder that is one of them.
    pub(super) fn with_protected_paths(
        self,
        protected: &ProtectedPaths,
    ) -> Result<Self, ChangesError> {
        if protected.contains(&self.directory.canonicalize()?) {
            let reason = "the folder belongs to the host itself".to_owned();
            return Err(ChangesError::Refused(reason));
        }
        Ok(ShadowRepository {
            protected: protected.clone(),
            real_top: self.top.canonicalize()?,
            ..self
        })
    }

    /// Returns `true` if a path of the repository is left out. Git follows no
    /// link below the top, so only the way there has to be resolved.
    pub(super) fn is_protected(&self, name: &[u8]) -> bool {
        let path = self.real_top.join(OsStr::from_bytes(name));
        self.protected.contains(&path)
    }

    /// Where it is noted what the worktree was made from, if the host made it.
    /// A note in any other repository is not ours, and may name any folder.
    pub(super) fn record_dir(&self) -> Option<&Path> {
        let worktrees = self.worktrees.canonicalize().ok()?;
        let top = self.top.canonicalize().ok()?;
        self.git_dir
            .as_deref()
            .filter(|_| top.starts_with(worktrees))
    }

    /// The tree of the last commit; an empty one before the first.
    pub(super) fn head_tree(&self) -> Result<String, ChangesError> {
        self.require_user_git()?;
        let tree = ["rev-parse", "--quiet", "--verify", "HEAD^{tree}"];
        match self.shadow.try_read_line(tree)? {
            Some(tree) => Ok(tree),
            None => self.empty_tree(),
        }
    }

    /// Git as the user would run it.
    pub(super) fn require_user_git(&self) -> Result<&GitCommand, ChangesError> {
        let none = || ChangesError::Refused("the folder is in no git repository".to_owned());
        self.user_git.as_ref().ok_or_else(none)
    }

    /// The tree with nothing in it.
    pub(super) fn empty_tree(&self) -> Result<String, ChangesError> {
        let written = self.shadow.run(["mktree"], &[])?;
        let tree = written.into_stdout()?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// What is in the folder now. Looked at once: for whoever opened this, now
    /// is one moment.
    pub(super) fn snapshot(&self) -> Result<&WorkingTreeSnapshot, ChangesError> {
        if let Some(taken) = self.snapshot.get() {
            return Ok(taken);
        }
        let taken = tree::take_snapshot(self)?;
        Ok(self.snapshot.get_or_init(|| taken))
    }

    /// Asks something about what is in the folder.
    pub(super) fn read_scoped_output(
        &self,
        git: &GitCommand,
        arguments: &[&str],
    ) -> Result<Vec<u8>, ChangesError> {
        let scope = self.scope_pathspec();
        let arguments = arguments.iter().map(AsRef::as_ref);
        Ok(git.read_output(arguments.chain(["--".as_ref(), scope.as_os_str()]))?)
    }

    /// The folder as an argument that names paths.
    fn scope_pathspec(&self) -> OsString {
        if self.prefix.is_empty() {
            return OsString::from(".");
        }
        OsString::from_vec(self.prefix.clone())
    }

    /// Where a path of the repository is: below the folder as the session names
    /// it, whatever links lead there.
    pub(super) fn absolute_path(&self, name: &[u8]) -> PathBuf {
        match name.strip_prefix(self.prefix.as_slice()) {
            Some(inside) => self.directory.join(OsStr::from_bytes(inside)),
            None => self.top.join(OsStr::from_bytes(name)),
        }
    }
}

/// What git says of a folder.
struct GitLocation {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    objects: PathBuf,
    index: PathBuf,
    prefix: Vec<u8>,
    format: String,
}

impl GitLocation {
    /// Looks for a repository; none if there is none.
    fn find(git: &GitCommand) -> Result<Option<Self>, ChangesError> {
        let answer = git.rev_parse([
            "--is-inside-work-tree",
            "--show-object-format",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--git-path",
            "objects",
            "--git-path",
            "index",
            "--show-toplevel",
            "--show-prefix",
        ])?;
        if !answer.success {
            let bare = answer.stdout.starts_with(b"false\n");
            return match answer.into_error() {
                error if git::is_no_repository(&error) => Ok(None),
                _ if bare => Err(ChangesError::BareRepository),
                other => Err(other.into()),
            };
        }
        let lines = answer.stdout.split(|byte| *byte == b'\n');
        // The last line ends, too.
        git::check_lines(lines.clone().count(), 9)?;
        let mut lines = lines;
        let mut next = || lines.next().unwrap_or_default();
        if next() != b"true" {
            return Err(ChangesError::BareRepository);
        }
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        let format = String::from_utf8_lossy(next()).into_owned();
        let (git_dir, common_dir) = (path(next()), path(next()));
        let (objects, index) = (path(next()), path(next()));
        let top = path(next());
        Ok(Some(GitLocation {
            top,
            git_dir,
            common_dir,
            objects,
            index,
            prefix: next().to_vec(),
            format,
        }))
    }
}

/// Our repository for a session, made if it is not there. What it does not
/// have it finds among the user's objects.
fn ensure_shadow_git_dir(
    git: &GitCommand,
    session_dir: &Path,
    format: &str,
    objects: Option<&Path>,
) -> Result<PathBuf, ChangesError> {
    let ours = session_dir.join(format!("git-{format}"));
    if !ours.join("HEAD").exists() {
        let format = format!("--object-format={format}");
        let init = ["init", "--quiet", "--bare", "--template=", format.as_str()];
        let arguments = init.iter().map(OsString::from);
        git.read_output(arguments.chain([ours.clone().into_os_string()]))?;
    }
    if let Some(objects) = objects {
        let list = ours.join("objects/info/alternates");
        let mut known = std::fs::read(&list).unwrap_or_default();
        let line = objects.as_os_str().as_bytes();
        if !known
            .split(|byte| *byte == b'\n')
            .any(|known| known == line)
        {
            known.extend_from_slice(line);
            known.push(b'\n');
            std::fs::create_dir_all(ours.join("objects/info"))?;
            std::fs::write(list, known)?;
        }
    }
    Ok(ours)
}
