//! Opens the git repository of a folder together with a shadow repository for all writes.

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

/// A folder and its repository: that of the user, or one of the host if there is none.
#[derive(Debug)]
pub(super) struct ShadowRepository {
    /// The folder of the session.
    pub(super) directory: PathBuf,
    /// Hash of the folder's path, used in file names.
    pub(super) key: String,
    /// Top of the working tree.
    pub(super) top: PathBuf,
    /// Path of the folder relative to the top, empty or with a trailing slash.
    pub(super) prefix: Vec<u8>,
    /// git with the user's repository for reading and the shadow repository for writing.
    pub(super) shadow: GitCommand,
    /// git with the user's repository; `None` if there is none.
    pub(super) user_git: Option<GitCommand>,
    /// Index file of the host for this folder.
    pub(super) index: PathBuf,
    /// The user's index file.
    pub(super) user_index: Option<PathBuf>,
    /// The git directory of the user's repository.
    pub(super) git_dir: Option<PathBuf>,
    /// Directory of all worktrees of the host.
    worktrees: PathBuf,
    /// Taken on first use.
    snapshot: OnceCell<WorkingTreeSnapshot>,
    /// Paths that no tree contains.
    pub(super) protected: ProtectedPaths,
    /// The top without symbolic links, set with the protected paths.
    real_top: PathBuf,
}

impl ShadowRepository {
    /// Opens the repository of a folder. The shadow repository is below `session_dir`.
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

    /// Excludes paths from trees. Fails if the folder itself is protected.
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

    /// Returns `true` if a path of the repository is excluded. git follows no symbolic link
    /// below the top, so only the path of the top needs to be resolved.
    pub(super) fn is_protected(&self, name: &[u8]) -> bool {
        let path = self.real_top.join(OsStr::from_bytes(name));
        self.protected.contains(&path)
    }

    /// Returns the directory with the worktree record, if the host created this worktree. A
    /// record in any other repository is not trusted, because it could name any folder.
    pub(super) fn record_dir(&self) -> Option<&Path> {
        let worktrees = self.worktrees.canonicalize().ok()?;
        let top = self.top.canonicalize().ok()?;
        self.git_dir
            .as_deref()
            .filter(|_| top.starts_with(worktrees))
    }

    /// Returns the tree of the last commit, or the empty tree before the first commit.
    pub(super) fn head_tree(&self) -> Result<String, ChangesError> {
        self.require_user_git()?;
        let tree = ["rev-parse", "--quiet", "--verify", "HEAD^{tree}"];
        match self.shadow.try_read_line(tree)? {
            Some(tree) => Ok(tree),
            None => self.empty_tree(),
        }
    }

    /// Returns git for the user's repository. Fails if the folder is in none.
    pub(super) fn require_user_git(&self) -> Result<&GitCommand, ChangesError> {
        let none = || ChangesError::Refused("the folder is not in a git repository".to_owned());
        self.user_git.as_ref().ok_or_else(none)
    }

    pub(super) fn empty_tree(&self) -> Result<String, ChangesError> {
        let written = self.shadow.run(["mktree"], &[])?;
        let tree = written.into_stdout()?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Returns the snapshot of the folder. It is taken once, so that all users of this value
    /// see the same state.
    pub(super) fn snapshot(&self) -> Result<&WorkingTreeSnapshot, ChangesError> {
        if let Some(taken) = self.snapshot.get() {
            return Ok(taken);
        }
        let taken = tree::take_snapshot(self)?;
        Ok(self.snapshot.get_or_init(|| taken))
    }

    /// Runs a git command on the paths below the folder.
    pub(super) fn read_scoped_output(
        &self,
        git: &GitCommand,
        arguments: &[&str],
    ) -> Result<Vec<u8>, ChangesError> {
        let scope = self.scope_pathspec();
        let arguments = arguments.iter().map(AsRef::as_ref);
        Ok(git.read_output(arguments.chain(["--".as_ref(), scope.as_os_str()]))?)
    }

    /// Returns the pathspec of the folder.
    fn scope_pathspec(&self) -> OsString {
        if self.prefix.is_empty() {
            return OsString::from(".");
        }
        OsString::from_vec(self.prefix.clone())
    }

    /// Returns the absolute path of a file: below the folder as the session names it, whatever
    /// symbolic links that path contains.
    pub(super) fn absolute_path(&self, name: &[u8]) -> PathBuf {
        match name.strip_prefix(self.prefix.as_slice()) {
            Some(inside) => self.directory.join(OsStr::from_bytes(inside)),
            None => self.top.join(OsStr::from_bytes(name)),
        }
    }
}

/// The paths that `git rev-parse` prints for a folder.
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
    /// Returns `None` if the folder is in no repository.
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
        // The output ends with a newline, so there is an empty last element.
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

/// Creates the shadow repository of a session if necessary. It borrows missing objects from the
/// user's repository as an alternate.
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
