//! Tests for differences between files, and that computing them has no visible side effect.

mod folder_kinds;
mod generated;
mod operations;
mod repository_code;
mod survey;
mod worktrees;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use agenthost_core::{ChangesetDiff, CheckpointId, DiffEndpoint, DiffRange, TurnRef};
use agenthost_protocol::changeset::ChangesetFile;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ChangeTracker, ChangesError, uri_of};
use tempfile::TempDir;

/// A folder, and the tracker of its changes.
pub(crate) struct TrackedFolder {
    _temporary: TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) changes: ChangeTracker,
    pub(crate) session: Uri,
}

impl TrackedFolder {
    /// Returns a folder that is in no repository.
    pub(crate) fn plain() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap().join("project");
        fs::create_dir(&folder).unwrap();
        TrackedFolder {
            changes: ChangeTracker::new(temporary.path().join("kept")),
            folder,
            session: Uri::from("ahp-session:/s1"),
            _temporary: temporary,
        }
    }

    /// Returns another session in the same folder.
    pub(crate) fn in_same_folder(other: &TrackedFolder) -> Self {
        let tracked_folder = TrackedFolder::plain();
        TrackedFolder {
            folder: other.folder.clone(),
            ..tracked_folder
        }
    }

    /// Returns a repository without commits.
    pub(crate) fn repository() -> Self {
        let tracked_folder = TrackedFolder::plain();
        tracked_folder.git(&["init", "--quiet", "--initial-branch=main"]);
        tracked_folder.git(&["config", "user.name", "A"]);
        tracked_folder.git(&["config", "user.email", "a@example.com"]);
        tracked_folder
    }

    /// Returns a repository with a commit of some files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let tracked_folder = TrackedFolder::repository();
        for (name, text) in files {
            tracked_folder.write(name, text);
        }
        tracked_folder.commit("first");
        tracked_folder
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.folder, arguments)
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    pub(crate) fn uri(&self, name: &str) -> Uri {
        uri_of(&self.folder.join(name)).unwrap()
    }

    pub(crate) fn directories(&self) -> Vec<Uri> {
        vec![uri_of(&self.folder).unwrap()]
    }

    pub(crate) fn take_checkpoint(&self, mark: &CheckpointId) {
        let directories = self.directories();
        if *mark != CheckpointId::SessionStart {
            self.take_checkpoint(&CheckpointId::SessionStart);
        }
        let marked = self
            .changes
            .take_checkpoint(&self.session, &directories, mark, None);
        marked.unwrap();
    }

    pub(crate) fn compare(
        &self,
        from: DiffEndpoint,
        to: DiffEndpoint,
    ) -> Result<ChangesetDiff, ChangesError> {
        let span = DiffRange { from, to };
        self.changes.diff(&self.session, &self.directories(), &span)
    }

    /// Takes the first checkpoint of a session in some folders.
    pub(crate) fn start_in(&self, directories: &[Uri]) {
        let mark = &CheckpointId::SessionStart;
        let marked = self
            .changes
            .take_checkpoint(&self.session, directories, mark, None);
        marked.unwrap();
    }

    /// Returns the files that have changed since the start of the session, in some folders.
    pub(crate) fn since_start_in(&self, directories: &[Uri]) -> Vec<ChangesetFile> {
        let span = DiffRange {
            from: DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
            to: DiffEndpoint::WorkingTree,
        };
        let compared = self.changes.diff(&self.session, directories, &span);
        compared.unwrap().files
    }

    /// Returns the uncommitted changes, a line for each file.
    pub(crate) fn uncommitted(&self) -> Vec<String> {
        let compared = self
            .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
            .unwrap();
        self.lines(&compared.files)
    }

    /// Returns the changes since the start of the session, a line for each file.
    pub(crate) fn since_start(&self) -> Vec<String> {
        let compared = self.compare(
            DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
            DiffEndpoint::WorkingTree,
        );
        self.lines(&compared.unwrap().files)
    }

    pub(crate) fn lines(&self, files: &[ChangesetFile]) -> Vec<String> {
        let root = format!("{}/", uri_of(&self.folder).unwrap());
        let name = |uri: &Uri| uri.as_str().replace(&root, "");
        let line = |file: &ChangesetFile| {
            let edit = &file.edit;
            let names = match (&edit.before, &edit.after) {
                (Some(before), Some(after)) if before.uri != after.uri => {
                    format!("{} -> {}", name(&before.uri), name(&after.uri))
                }
                (Some(_), Some(after)) => name(&after.uri),
                (None, Some(after)) => format!("new {}", name(&after.uri)),
                (Some(before), None) => format!("gone {}", name(&before.uri)),
                (None, None) => panic!("neither before nor after"),
            };
            let count = edit.diff.as_ref().map_or("binary".to_owned(), |diff| {
                format!("+{} -{}", diff.added.unwrap(), diff.removed.unwrap())
            });
            format!("{names} {count}")
        };
        files.iter().map(line).collect()
    }
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {problem}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn turn(name: &str) -> TurnRef {
    TurnRef {
        chat: Uri::from("ahp-chat:/c1"),
        turn: TurnId::from(name),
    }
}

/// Returns every file below a folder, with its content.
pub(crate) fn all_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_files(&path));
            // Records empty folders, too.
            found.insert(path, Vec::new());
        } else if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(path, target.into_os_string().into_encoded_bytes());
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

#[test]
fn changesets_of_all_ranges_are_computed() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "1\n2\n"), ("b.txt", "b\n")]);
    tracked_folder.git(&["checkout", "--quiet", "-b", "work"]);
    tracked_folder.write("c.txt", "committed on the branch\n");
    tracked_folder.commit("second");
    tracked_folder.write("a.txt", "1\n2\n3\n");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("b.txt", "B\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    tracked_folder.write("d.txt", "by hand\n");
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t2")));
    fs::remove_file(tracked_folder.folder.join("a.txt")).unwrap();
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t2")));

    assert_eq!(
        tracked_folder.uncommitted(),
        ["gone a.txt +0 -2", "b.txt +1 -1", "new d.txt +1 -0"]
    );
    let branch = tracked_folder
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(
        tracked_folder.lines(&branch.files),
        [
            "gone a.txt +0 -2",
            "b.txt +1 -1",
            "new c.txt +1 -0",
            "new d.txt +1 -0"
        ]
    );
    let git = branch.status.git.unwrap();
    assert_eq!(
        (git.branch.as_deref(), git.base.as_deref()),
        (Some("work"), Some("main"))
    );
    assert_eq!((git.uncommitted, git.operation_in_progress), (3, None));
    assert_eq!(
        tracked_folder.since_start(),
        ["gone a.txt +0 -3", "b.txt +1 -1", "new d.txt +1 -0"]
    );
    let of = |from: CheckpointId, to: CheckpointId| {
        let compared =
            tracked_folder.compare(DiffEndpoint::Checkpoint(from), DiffEndpoint::Checkpoint(to));
        tracked_folder.lines(&compared.unwrap().files)
    };
    let first = of(
        CheckpointId::BeforeTurn(turn("t1")),
        CheckpointId::AfterTurn(turn("t1")),
    );
    assert_eq!(first, ["b.txt +1 -1"]);
    let second = of(
        CheckpointId::BeforeTurn(turn("t2")),
        CheckpointId::AfterTurn(turn("t2")),
    );
    assert_eq!(second, ["gone a.txt +0 -3"]);
    let between = of(
        CheckpointId::AfterTurn(turn("t1")),
        CheckpointId::AfterTurn(turn("t2")),
    );
    assert_eq!(between, ["gone a.txt +0 -3", "new d.txt +1 -0"]);
    let unknown = DiffEndpoint::Checkpoint(CheckpointId::AfterTurn(turn("t9")));
    assert_eq!(
        tracked_folder.compare(unknown, DiffEndpoint::WorkingTree),
        Err(ChangesError::NoCheckpoint)
    );
}

/// CHS-18.
#[test]
fn contents_of_both_sides_are_readable() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "before\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("a.txt", "after\n");
    let compared = tracked_folder.compare(
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        DiffEndpoint::WorkingTree,
    );
    tracked_folder.write("a.txt", "later\n");
    let edit = compared.unwrap().files.remove(0).edit;
    let (before, after) = (edit.before.unwrap().content, edit.after.unwrap().content);
    assert_eq!(
        tracked_folder.changes.read_object(&before.uri).unwrap(),
        b"before\n"
    );
    assert_eq!(
        tracked_folder.changes.read_object(&after.uri).unwrap(),
        b"after\n"
    );
    assert_eq!((before.size_hint, after.size_hint), (Some(7), Some(6)));
    assert_ne!(before.nonce, after.nonce);
    // If the paths differ, clients treat the two versions as a renamed file.
    let path = |uri: &Uri| uri.as_str().split(['?', ':']).nth(1).unwrap().to_owned();
    let file = tracked_folder.uri("a.txt");
    assert_eq!(format!("file://{}", path(&after.uri)), file.as_str());
    assert_eq!(path(&before.uri), path(&after.uri));

    let text = after.uri.as_str();
    let (_, query) = text.split_once('?').unwrap();
    let (key, object) = query.split_once('.').unwrap();
    // The form that earlier hosts have stored.
    let old = format!("agenthost-git:/{key}/{object}/a.txt");
    assert_eq!(
        tracked_folder.changes.read_object(&Uri::from(old)).unwrap(),
        b"after\n"
    );
    let wrong = [
        text.replace(object, &"0".repeat(40)),
        text.replace(object, "HEAD"),
        text.replace(object, "--help"),
        text.replace(key, ".."),
        text.replace(key, &"0".repeat(32)),
        "agenthost-git:/".to_owned(),
        "agenthost-git:/../../x".to_owned(),
    ];
    for uri in wrong {
        assert!(
            tracked_folder
                .changes
                .read_object(&Uri::from(uri.as_str()))
                .is_err(),
            "{uri}"
        );
    }
    tracked_folder
        .changes
        .remove_session(&tracked_folder.session)
        .unwrap();
    assert!(tracked_folder.changes.read_object(&before.uri).is_err());
    tracked_folder
        .changes
        .remove_session(&tracked_folder.session)
        .unwrap();
}

#[test]
fn computing_a_diff_changes_nothing_in_the_repository() {
    let tracked_folder =
        TrackedFolder::with(&[("a.txt", "1\n"), ("x/b.txt", "2\n"), ("c.txt", "c\n")]);
    tracked_folder.write("a.txt", "staged\n");
    tracked_folder.git(&["add", "a.txt"]);
    tracked_folder.write("a.txt", "not staged\n");
    tracked_folder.write("new.txt", "new\n");
    let hook = tracked_folder.folder.join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, executable).unwrap();
    tracked_folder.git(&["config", "core.fsmonitor", "touch ran; false"]);
    let before = all_files(&tracked_folder.folder);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    tracked_folder.uncommitted();
    tracked_folder.since_start();
    tracked_folder
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert!(all_files(&tracked_folder.folder) == before);
}
