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

use super::{Scene, all_files, turn};

pub(super) fn operate(
    scene: &Scene,
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
    scene
        .changes
        .run_operation(&scene.session, &scene.directories(), &wanted)
}

/// Trusts the hooks and filters that the repository has now.
pub(super) fn allow_code(scene: &Scene) {
    let code = RepositoryCode::inspect(&scene.folder).unwrap();
    scene
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
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("run.sh", "x\n")]);
    scene.write("a.txt", "by hand\n");
    let index = fs::read(scene.folder.join(".git/index")).unwrap();
    let before = all_files(&scene.folder);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    scene.write("a.txt", "by the agent\n");
    fs::rename(scene.folder.join("b.txt"), scene.folder.join("c.txt")).unwrap();
    scene.write("new/deep/file.txt", "new\n");
    fs::remove_file(scene.folder.join("run.sh")).unwrap();
    std::os::unix::fs::symlink("a.txt", scene.folder.join("run.sh")).unwrap();
    scene.mark(&CheckpointId::AfterTurn(turn("t1")));
    let undone = operate(&scene, OperationKind::Undo, of_turn("t1"), None).unwrap();
    assert_eq!(undone.message, "Restored 4 files.");
    assert!(all_files(&scene.folder) == before);
    assert_eq!(fs::read(scene.folder.join(".git/index")).unwrap(), index);
    // A second undo changes nothing: the files no longer have the content that the turn left.
    let again = operate(&scene, OperationKind::Undo, of_turn("t1"), None);
    assert!(
        matches!(again, Err(ChangesError::FileChanged(_))),
        "{again:?}"
    );
    assert!(all_files(&scene.folder) == before);
}

#[test]
fn what_changed_since_is_not_undone() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    scene.write("a.txt", "agent\n");
    scene.write("b.txt", "agent\n");
    scene.mark(&CheckpointId::AfterTurn(turn("t1")));
    scene.write("a.txt", "by hand since\n");
    let refused = operate(&scene, OperationKind::Undo, of_turn("t1"), None);
    assert_eq!(refused, Err(ChangesError::FileChanged(scene.uri("a.txt"))));
    assert_eq!(scene.text("b.txt").unwrap(), "agent\n");
    // A single file can be undone.
    let file = Some(scene.uri("b.txt"));
    operate(&scene, OperationKind::Undo, of_turn("t1"), file).unwrap();
    assert_eq!(scene.text("b.txt").unwrap(), "b\n");
    assert_eq!(scene.text("a.txt").unwrap(), "by hand since\n");
    // `Restore` applies to all files, even if they have changed since.
    operate(&scene, OperationKind::Restore, of_turn("t1"), None).unwrap();
    assert_eq!(scene.text("a.txt").unwrap(), "a\n");
}

#[test]
fn one_file_is_discarded_and_then_all() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("w.txt", "1\r\n")]);
    scene.write("a.txt", "x\n");
    scene.write("b.txt", "x\n");
    scene.write("w.txt", "1\r\n2\r\n");
    scene.write("new.txt", "x\n");
    let file = Some(scene.uri("a.txt"));
    operate(&scene, OperationKind::Undo, uncommitted(), file).unwrap();
    assert_eq!(
        scene.uncommitted(),
        ["b.txt +1 -1", "new new.txt +1 -0", "w.txt +1 -0"]
    );
    operate(&scene, OperationKind::Undo, uncommitted(), None).unwrap();
    assert!(scene.uncommitted().is_empty());
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert_eq!(scene.text("w.txt").unwrap(), "1\r\n");
}

#[test]
fn changes_are_staged_and_committed() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    scene.write("a.txt", "x\n");
    scene.write("b.txt", "x\n");
    let file = Some(scene.uri("a.txt"));
    operate(&scene, OperationKind::Stage, uncommitted(), file).unwrap();
    let status = scene.git(&["status", "--porcelain"]);
    assert_eq!(status, "M  a.txt\n M b.txt\n");
    let done = operate(&scene, OperationKind::Commit, uncommitted(), None).unwrap();
    assert!(done.message.ends_with("What was done"), "{}", done.message);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    assert_eq!(scene.git(&["log", "--format=%s"]), "What was done\nfirst\n");
    let nothing = operate(&scene, OperationKind::Commit, uncommitted(), None);
    let reason = "there is nothing to commit".to_owned();
    assert_eq!(nothing, Err(ChangesError::Refused(reason)));
    let outside = Some(Uri::from("file:///etc/passwd"));
    let refused = operate(&scene, OperationKind::Stage, uncommitted(), outside);
    assert!(
        matches!(refused, Err(ChangesError::Refused(_))),
        "{refused:?}"
    );
}

#[test]
fn a_commit_that_a_hook_refuses_changes_nothing() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("b.txt", "x\n");
    let hook = scene.folder.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, executable).unwrap();
    allow_code(&scene);
    let status = scene.git(&["status", "--porcelain"]);
    let refused = operate(&scene, OperationKind::Commit, uncommitted(), None);
    assert_eq!(refused, Err(ChangesError::Git("not today".to_owned())));
    assert_eq!(scene.git(&["status", "--porcelain"]), status);
}

#[test]
fn differences_as_a_patch() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    scene.write("a.txt", "b\n");
    let shown = operate(&scene, OperationKind::ShowPatch, uncommitted(), None).unwrap();
    let content = shown.follow_up.unwrap().content;
    let patch = String::from_utf8(scene.changes.read_object(&content.uri).unwrap()).unwrap();
    assert!(
        patch.contains("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"),
        "{patch}"
    );
    scene.write("a.txt", "a\n");
    let none = operate(&scene, OperationKind::ShowPatch, uncommitted(), None).unwrap();
    assert_eq!(none.follow_up, None);
}

#[test]
fn a_folder_that_can_not_be_written_is_left_alone() {
    if nix::unistd::geteuid().is_root() {
        eprintln!("skipped: root may write everywhere");
        return;
    }
    let scene = Scene::with(&[("d/a.txt", "a\n")]);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    scene.write("d/a.txt", "x\n");
    scene.mark(&CheckpointId::AfterTurn(turn("t1")));
    let set = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(scene.folder.join("d"), mode).unwrap();
    };
    set(0o555);
    let refused = operate(&scene, OperationKind::Undo, of_turn("t1"), None);
    set(0o755);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(scene.text("d/a.txt").unwrap(), "x\n");
}

#[test]
fn files_and_folders_change_places() {
    let scene = Scene::with(&[
        ("d", "a file\n"),
        ("e/x", "in a folder\n"),
        (".gitignore", "secret\n"),
    ]);
    let before = all_files(&scene.folder);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    fs::remove_file(scene.folder.join("d")).unwrap();
    scene.write("d/x", "x\n");
    fs::remove_dir_all(scene.folder.join("e")).unwrap();
    scene.write("e", "now a file\n");
    scene.mark(&CheckpointId::AfterTurn(turn("t1")));
    operate(&scene, OperationKind::Undo, of_turn("t1"), None).unwrap();
    assert!(all_files(&scene.folder) == before);

    // A file that is in no checkpoint is not deleted.
    scene.mark(&CheckpointId::BeforeTurn(turn("t2")));
    fs::remove_file(scene.folder.join("d")).unwrap();
    scene.write("d/x", "x\n");
    scene.write("d/secret", "mine\n");
    scene.mark(&CheckpointId::AfterTurn(turn("t2")));
    let refused = operate(&scene, OperationKind::Undo, of_turn("t2"), None);
    assert_eq!(refused, Err(ChangesError::FileChanged(scene.uri("d"))));
    assert_eq!(scene.text("d/secret").unwrap(), "mine\n");
    assert_eq!(scene.text("d/x").unwrap(), "x\n");
}

#[test]
fn what_became_too_large_is_not_undone() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    scene.write("out.bin", "small\n");
    scene.mark(&CheckpointId::AfterTurn(turn("t1")));
    let file = fs::File::create(scene.folder.join("out.bin")).unwrap();
    file.set_len(20 * 1024 * 1024).unwrap();
    let refused = operate(&scene, OperationKind::Undo, of_turn("t1"), None);
    assert_eq!(
        refused,
        Err(ChangesError::FileChanged(scene.uri("out.bin")))
    );
    assert!(scene.folder.join("out.bin").exists());
}

#[test]
fn a_hook_that_leaves_something_running_is_not_waited_for() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    scene.write("a.txt", "b\n");
    let hook = scene.folder.join(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nsleep 300 &\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, executable).unwrap();
    allow_code(&scene);
    let begun = std::time::Instant::now();
    operate(&scene, OperationKind::Commit, uncommitted(), None).unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn what_is_discarded_is_not_committed_either() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("s.txt", "s\n")]);
    scene.write("u.txt", "new\n");
    scene.write("a.txt", "staged\n");
    fs::remove_file(scene.folder.join("s.txt")).unwrap();
    scene.git(&["add", "--all"]);
    operate(&scene, OperationKind::Undo, uncommitted(), None).unwrap();
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    let empty = Scene::repository();
    empty.write("u.txt", "new\n");
    empty.git(&["add", "--all"]);
    operate(&empty, OperationKind::Undo, uncommitted(), None).unwrap();
    assert_eq!(empty.git(&["status", "--porcelain"]), "");
}

#[test]
fn files_that_are_too_large_are_shown_and_left_alone() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("t.bin", "small\n")]);
    scene.mark(&CheckpointId::BeforeTurn(turn("t1")));
    scene.write("a.txt", "b\n");
    for name in ["t.bin", "z.bin"] {
        let file = fs::File::create(scene.folder.join(name)).unwrap();
        file.set_len(20 * 1024 * 1024).unwrap();
    }
    let shown = ["a.txt +1 -1", "new t.bin binary", "new z.bin binary"];
    assert_eq!(scene.since_start(), shown);
    let compared = scene
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap();
    let large = compared.files.last().unwrap();
    assert_eq!(large.meta.as_ref().unwrap()["agenthost.notKept"], true);
    let done = operate(&scene, OperationKind::Restore, of_turn("t1"), None).unwrap();
    assert_eq!(
        done.message,
        "Restored 1 file. Files of more than 16 MiB were not changed."
    );
    assert_eq!(scene.text("a.txt").unwrap(), "a\n");
}

#[test]
fn a_patch_is_seen_from_the_folder() {
    let mut scene = Scene::with(&[("sub/a.txt", "a\n")]);
    scene.folder.push("sub");
    scene.write("a.txt", "b\n");
    let shown = operate(&scene, OperationKind::ShowPatch, uncommitted(), None).unwrap();
    let content = shown.follow_up.unwrap().content;
    let patch = String::from_utf8(scene.changes.read_object(&content.uri).unwrap()).unwrap();
    assert!(patch.contains("--- a/a.txt\n+++ b/a.txt\n"), "{patch}");
}
