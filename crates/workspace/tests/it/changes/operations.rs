//! Tests for changeset operations.

use std::collections::BTreeSet;
use std::fs;

use agenthost_core::{
    CheckpointId, ConnectionId, DiffEndpoint, DiffRange, OperationKind, OperationRequest,
    OperationResult,
};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ChangesError, RepositoryCode};

use super::{TrackedFolder, all_files, turn};

pub(super) fn operate(
    tracked_folder: &TrackedFolder,
    operation: OperationKind,
    span: DiffRange,
    file: Option<Uri>,
) -> Result<OperationResult, ChangesError> {
    let wanted = OperationRequest {
        connection: ConnectionId(1),
        id: RequestId::from(1),
        channel: Uri::from("ahp-session:/s1/changeset/x"),
        range: span,
        operation,
        file,
        message: "What was done".to_owned(),
    };
    tracked_folder.changes.run_operation(
        &tracked_folder.session,
        &tracked_folder.directories(),
        &wanted,
    )
}

/// Trusts the hooks and filters that the repository has now.
pub(super) fn allow_code(tracked_folder: &TrackedFolder) {
    let code = RepositoryCode::inspect(&tracked_folder.folder).unwrap();
    tracked_folder
        .changes
        .set_trusted_keys(BTreeSet::from([code.unwrap().key]));
}

fn uncommitted() -> DiffRange {
    DiffRange {
        from: DiffEndpoint::Head,
        to: DiffEndpoint::WorkingTree,
    }
}

fn of_turn(name: &str) -> DiffRange {
    DiffRange {
        from: DiffEndpoint::Checkpoint(CheckpointId::BeforeTurn(turn(name))),
        to: DiffEndpoint::Checkpoint(CheckpointId::AfterTurn(turn(name))),
    }
}

#[test]
fn a_turn_is_undone() {
    let tracked_folder =
        TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("run.sh", "x\n")]);
    tracked_folder.write("a.txt", "by hand\n");
    let index = fs::read(tracked_folder.folder.join(".git/index")).unwrap();
    let before = all_files(&tracked_folder.folder);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("a.txt", "by the agent\n");
    fs::rename(
        tracked_folder.folder.join("b.txt"),
        tracked_folder.folder.join("c.txt"),
    )
    .unwrap();
    tracked_folder.write("new/deep/file.txt", "new\n");
    fs::remove_file(tracked_folder.folder.join("run.sh")).unwrap();
    std::os::unix::fs::symlink("a.txt", tracked_folder.folder.join("run.sh")).unwrap();
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    let undone = operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None).unwrap();
    assert_eq!(undone.message, "Restored 4 files.");
    assert!(all_files(&tracked_folder.folder) == before);
    assert_eq!(
        fs::read(tracked_folder.folder.join(".git/index")).unwrap(),
        index
    );
    // A second undo changes nothing: the files no longer have the content that the turn left.
    let again = operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None);
    assert!(
        matches!(again, Err(ChangesError::FileChanged(_))),
        "{again:?}"
    );
    assert!(all_files(&tracked_folder.folder) == before);
}

#[test]
fn files_changed_after_the_turn_are_not_undone() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("a.txt", "agent\n");
    tracked_folder.write("b.txt", "agent\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    tracked_folder.write("a.txt", "by hand since\n");
    let refused = operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None);
    assert_eq!(
        refused,
        Err(ChangesError::FileChanged(tracked_folder.uri("a.txt")))
    );
    assert_eq!(tracked_folder.text("b.txt").unwrap(), "agent\n");
    // A single file can be undone.
    let file = Some(tracked_folder.uri("b.txt"));
    operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), file).unwrap();
    assert_eq!(tracked_folder.text("b.txt").unwrap(), "b\n");
    assert_eq!(tracked_folder.text("a.txt").unwrap(), "by hand since\n");
    // `Restore` applies to all files, even if they have changed since.
    operate(&tracked_folder, OperationKind::Restore, of_turn("t1"), None).unwrap();
    assert_eq!(tracked_folder.text("a.txt").unwrap(), "a\n");
}

#[test]
fn discard_restores_one_file_or_all() {
    let tracked_folder =
        TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("w.txt", "1\r\n")]);
    tracked_folder.write("a.txt", "x\n");
    tracked_folder.write("b.txt", "x\n");
    tracked_folder.write("w.txt", "1\r\n2\r\n");
    tracked_folder.write("new.txt", "x\n");
    let file = Some(tracked_folder.uri("a.txt"));
    operate(&tracked_folder, OperationKind::Undo, uncommitted(), file).unwrap();
    assert_eq!(
        tracked_folder.uncommitted(),
        ["b.txt +1 -1", "new new.txt +1 -0", "w.txt +1 -0"]
    );
    operate(&tracked_folder, OperationKind::Undo, uncommitted(), None).unwrap();
    assert!(tracked_folder.uncommitted().is_empty());
    assert_eq!(tracked_folder.git(&["status", "--porcelain"]), "");
    assert_eq!(tracked_folder.text("w.txt").unwrap(), "1\r\n");
}

#[test]
fn changes_are_staged_and_committed() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    tracked_folder.write("a.txt", "x\n");
    tracked_folder.write("b.txt", "x\n");
    let file = Some(tracked_folder.uri("a.txt"));
    operate(&tracked_folder, OperationKind::Stage, uncommitted(), file).unwrap();
    let status = tracked_folder.git(&["status", "--porcelain"]);
    assert_eq!(status, "M  a.txt\n M b.txt\n");
    let done = operate(&tracked_folder, OperationKind::Commit, uncommitted(), None).unwrap();
    assert!(done.message.ends_with("What was done"), "{}", done.message);
    assert_eq!(tracked_folder.git(&["status", "--porcelain"]), "");
    assert_eq!(
        tracked_folder.git(&["log", "--format=%s"]),
        "What was done\nfirst\n"
    );
    let nothing = operate(&tracked_folder, OperationKind::Commit, uncommitted(), None);
    let reason = "there is nothing to commit".to_owned();
    assert_eq!(nothing, Err(ChangesError::Refused(reason)));
    let outside = Some(Uri::from("file:///etc/passwd"));
    let refused = operate(
        &tracked_folder,
        OperationKind::Stage,
        uncommitted(),
        outside,
    );
    assert!(
        matches!(refused, Err(ChangesError::Refused(_))),
        "{refused:?}"
    );
}

#[test]
fn a_commit_that_a_hook_refuses_changes_nothing() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    tracked_folder.write("a.txt", "staged\n");
    tracked_folder.git(&["add", "a.txt"]);
    tracked_folder.write("b.txt", "x\n");
    let hook = tracked_folder.folder.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, executable).unwrap();
    allow_code(&tracked_folder);
    let status = tracked_folder.git(&["status", "--porcelain"]);
    let refused = operate(&tracked_folder, OperationKind::Commit, uncommitted(), None);
    assert_eq!(refused, Err(ChangesError::Git("not today".to_owned())));
    assert_eq!(tracked_folder.git(&["status", "--porcelain"]), status);
}

#[test]
fn show_patch_returns_a_unified_diff() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    tracked_folder.write("a.txt", "b\n");
    let shown = operate(
        &tracked_folder,
        OperationKind::ShowPatch,
        uncommitted(),
        None,
    )
    .unwrap();
    let content = shown.follow_up.unwrap().content;
    let patch =
        String::from_utf8(tracked_folder.changes.read_object(&content.uri).unwrap()).unwrap();
    assert!(
        patch.contains("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"),
        "{patch}"
    );
    tracked_folder.write("a.txt", "a\n");
    let none = operate(
        &tracked_folder,
        OperationKind::ShowPatch,
        uncommitted(),
        None,
    )
    .unwrap();
    assert_eq!(none.follow_up, None);
}

#[test]
fn undo_in_a_read_only_folder_changes_nothing() {
    if nix::unistd::geteuid().is_root() {
        eprintln!("skipped: root may write everywhere");
        return;
    }
    let tracked_folder = TrackedFolder::with(&[("d/a.txt", "a\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("d/a.txt", "x\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    let set = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(tracked_folder.folder.join("d"), mode).unwrap();
    };
    set(0o555);
    let refused = operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None);
    set(0o755);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(tracked_folder.text("d/a.txt").unwrap(), "x\n");
}

#[test]
fn undo_swaps_files_and_folders_back() {
    let tracked_folder = TrackedFolder::with(&[
        ("d", "a file\n"),
        ("e/x", "in a folder\n"),
        (".gitignore", "secret\n"),
    ]);
    let before = all_files(&tracked_folder.folder);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    fs::remove_file(tracked_folder.folder.join("d")).unwrap();
    tracked_folder.write("d/x", "x\n");
    fs::remove_dir_all(tracked_folder.folder.join("e")).unwrap();
    tracked_folder.write("e", "now a file\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None).unwrap();
    assert!(all_files(&tracked_folder.folder) == before);

    // A file that is in no checkpoint is not deleted.
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t2")));
    fs::remove_file(tracked_folder.folder.join("d")).unwrap();
    tracked_folder.write("d/x", "x\n");
    tracked_folder.write("d/secret", "mine\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t2")));
    let refused = operate(&tracked_folder, OperationKind::Undo, of_turn("t2"), None);
    assert_eq!(
        refused,
        Err(ChangesError::FileChanged(tracked_folder.uri("d")))
    );
    assert_eq!(tracked_folder.text("d/secret").unwrap(), "mine\n");
    assert_eq!(tracked_folder.text("d/x").unwrap(), "x\n");
}

#[test]
fn a_file_that_became_too_large_is_not_undone() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("out.bin", "small\n");
    tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
    let file = fs::File::create(tracked_folder.folder.join("out.bin")).unwrap();
    file.set_len(20 * 1024 * 1024).unwrap();
    let refused = operate(&tracked_folder, OperationKind::Undo, of_turn("t1"), None);
    assert_eq!(
        refused,
        Err(ChangesError::FileChanged(tracked_folder.uri("out.bin")))
    );
    assert!(tracked_folder.folder.join("out.bin").exists());
}

#[test]
fn a_commit_does_not_wait_for_background_processes_of_a_hook() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    tracked_folder.write("a.txt", "b\n");
    let hook = tracked_folder.folder.join(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nsleep 300 &\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, executable).unwrap();
    allow_code(&tracked_folder);
    let begun = std::time::Instant::now();
    operate(&tracked_folder, OperationKind::Commit, uncommitted(), None).unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn discard_also_resets_the_index() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("s.txt", "s\n")]);
    tracked_folder.write("u.txt", "new\n");
    tracked_folder.write("a.txt", "staged\n");
    fs::remove_file(tracked_folder.folder.join("s.txt")).unwrap();
    tracked_folder.git(&["add", "--all"]);
    operate(&tracked_folder, OperationKind::Undo, uncommitted(), None).unwrap();
    assert_eq!(tracked_folder.git(&["status", "--porcelain"]), "");
    let empty = TrackedFolder::repository();
    empty.write("u.txt", "new\n");
    empty.git(&["add", "--all"]);
    operate(&empty, OperationKind::Undo, uncommitted(), None).unwrap();
    assert_eq!(empty.git(&["status", "--porcelain"]), "");
}

#[test]
fn files_over_the_size_limit_are_listed_but_not_changed() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("t.bin", "small\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
    tracked_folder.write("a.txt", "b\n");
    for name in ["t.bin", "z.bin"] {
        let file = fs::File::create(tracked_folder.folder.join(name)).unwrap();
        file.set_len(20 * 1024 * 1024).unwrap();
    }
    let shown = ["a.txt +1 -1", "new t.bin binary", "new z.bin binary"];
    assert_eq!(tracked_folder.since_start(), shown);
    let compared = tracked_folder
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap();
    let large = compared.files.last().unwrap();
    assert_eq!(large.meta.as_ref().unwrap()["agenthost.notKept"], true);
    let done = operate(&tracked_folder, OperationKind::Restore, of_turn("t1"), None).unwrap();
    assert_eq!(
        done.message,
        "Restored 1 file. Files of more than 16 MiB were not changed."
    );
    assert_eq!(tracked_folder.text("a.txt").unwrap(), "a\n");
}

#[test]
fn a_patch_has_paths_relative_to_the_folder() {
    let mut tracked_folder = TrackedFolder::with(&[("sub/a.txt", "a\n")]);
    tracked_folder.folder.push("sub");
    tracked_folder.write("a.txt", "b\n");
    let shown = operate(
        &tracked_folder,
        OperationKind::ShowPatch,
        uncommitted(),
        None,
    )
    .unwrap();
    let content = shown.follow_up.unwrap().content;
    let patch =
        String::from_utf8(tracked_folder.changes.read_object(&content.uri).unwrap()).unwrap();
    assert!(patch.contains("--- a/a.txt\n+++ b/a.txt\n"), "{patch}");
}
