//! Folders of every kind.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use agenthost_core::{CheckpointId, DiffEndpoint};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ChangesError, uri_of};

use super::{Scene, all_files, git, turn};

#[test]
fn a_folder_in_no_repository() {
    let scene = Scene::plain();
    scene.write("a.txt", "a\n");
    scene.mark(&CheckpointId::SessionStart);
    scene.write("a.txt", "a\nb\n");
    scene.write("new.txt", "x\n");
    assert_eq!(scene.since_start(), ["a.txt +1 -0", "new new.txt +1 -0"]);
    let names: Vec<_> = all_files(&scene.folder).into_keys().collect();
    assert_eq!(
        names,
        [scene.folder.join("a.txt"), scene.folder.join("new.txt")]
    );
    let none = scene.compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree);
    assert!(matches!(none, Err(ChangesError::Refused(_))), "{none:?}");
    let compared = scene.compare(
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        DiffEndpoint::WorkingTree,
    );
    assert_eq!(compared.unwrap().status.git, None);
}

#[test]
fn a_repository_without_commits() {
    let scene = Scene::repository();
    scene.write("a.txt", "a\n");
    scene.git(&["add", "a.txt"]);
    scene.write("b.txt", "b\n");
    scene.mark(&CheckpointId::SessionStart);
    assert_eq!(scene.uncommitted(), ["new a.txt +1 -0", "new b.txt +1 -0"]);
    scene.write("b.txt", "B\n");
    assert_eq!(scene.since_start(), ["b.txt +1 -1"]);
    let branch = scene
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(branch.files.len(), 2);
    assert_eq!(branch.status.git.unwrap().branch.as_deref(), Some("main"));
}

#[test]
fn the_middle_of_a_merge() {
    let scene = Scene::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    scene.git(&["checkout", "--quiet", "-b", "other"]);
    scene.write("a.txt", "other\n");
    scene.commit("other");
    scene.git(&["checkout", "--quiet", "main"]);
    scene.write("a.txt", "main\n");
    scene.commit("main");
    let merge = std::process::Command::new("git")
        .args(["merge", "--quiet", "other"])
        .current_dir(&scene.folder)
        .output();
    assert!(!merge.unwrap().status.success());
    let before = all_files(&scene.folder);
    scene.mark(&CheckpointId::SessionStart);
    let compared = scene
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(scene.lines(&compared.files), ["a.txt +4 -0"]);
    let git = compared.status.git.unwrap();
    assert_eq!(git.operation_in_progress.as_deref(), Some("a merge"));
    assert!(all_files(&scene.folder) == before);
    scene.write("b.txt", "x\n");
    assert_eq!(scene.since_start(), ["b.txt +1 -1"]);
}

#[test]
fn no_branch_is_checked_out() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    scene.git(&["checkout", "--quiet", "--detach"]);
    scene.write("a.txt", "x\n");
    let compared = scene
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(scene.lines(&compared.files), ["a.txt +1 -1"]);
    assert_eq!(compared.status.git.unwrap().branch, None);
}

#[test]
fn a_repository_without_files() {
    let scene = Scene::plain();
    scene.git(&["init", "--quiet", "--bare"]);
    // It is a folder like any other: what lies in a tree may look the same.
    let none = scene
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap_err();
    assert_eq!(none.to_string(), "the folder is not in a git repository");
    let scene = Scene::with(&[("a.txt", "a\n")]);
    let inside = Scene {
        folder: scene.folder.join(".git"),
        ..Scene::beside(&scene)
    };
    let none = inside.compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree);
    assert_eq!(none, Err(ChangesError::BareRepository));
}

#[test]
fn a_repository_in_a_repository() {
    let other = Scene::with(&[("x.txt", "x\n")]);
    let scene = Scene::with(&[("a.txt", "a\n")]);
    let from = other.folder.display().to_string();
    scene.git(&["submodule", "--quiet", "add", &from, "sub"]);
    scene.commit("sub");
    // One that is not registered, and one without commits.
    git(&scene.folder, &["clone", "--quiet", &from, "loose"]);
    git(&scene.folder, &["init", "--quiet", "empty"]);
    scene.mark(&CheckpointId::SessionStart);
    let sub = scene.folder.join("sub");
    git(&sub, &["config", "user.name", "A"]);
    git(&sub, &["config", "user.email", "a@example.com"]);
    fs::write(sub.join("x.txt"), "y\n").unwrap();
    assert!(scene.since_start().is_empty());
    git(&sub, &["commit", "--quiet", "--all", "--message", "y"]);
    let compared = scene
        .compare(
            DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
            DiffEndpoint::WorkingTree,
        )
        .unwrap();
    assert_eq!(scene.lines(&compared.files), ["sub +1 -1"]);
    let after = compared.files[0].edit.after.as_ref().unwrap();
    let text = scene.changes.read_object(&after.content.uri).unwrap();
    assert!(text.starts_with(b"Subproject commit "), "{text:?}");
}

#[test]
fn only_the_folder_of_the_session() {
    let mut scene = Scene::with(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    let top = scene.folder.clone();
    scene.folder = top.join("sub");
    scene.mark(&CheckpointId::SessionStart);
    fs::write(top.join("a.txt"), "x\n").unwrap();
    fs::write(top.join("new.txt"), "x\n").unwrap();
    scene.write("b.txt", "x\n");
    scene.write("c.txt", "x\n");
    assert_eq!(scene.since_start(), ["b.txt +1 -1", "new c.txt +1 -0"]);
    assert_eq!(scene.uncommitted(), ["b.txt +1 -1", "new c.txt +1 -0"]);
}

#[test]
fn several_folders() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    let other = Scene::plain();
    other.write("o.txt", "o\n");
    let mut directories = scene.directories();
    directories.extend(other.directories());
    scene.start_in(&directories);
    scene.write("a.txt", "x\n");
    other.write("o.txt", "o\np\n");
    let files = scene.since_start_in(&directories);
    let ids: Vec<_> = files
        .iter()
        .map(|file| file.id.as_str().to_owned())
        .collect();
    assert_eq!(
        ids,
        [scene.uri("a.txt").as_str(), other.uri("o.txt").as_str()]
    );
    let again = scene.changes.take_checkpoint(
        &scene.session,
        &directories,
        &CheckpointId::AfterTurn(turn("t")),
        None,
    );
    let total = again.unwrap().session_total.unwrap();
    assert_eq!(
        (total.additions, total.deletions, total.files),
        (Some(2), Some(1), Some(2))
    );
}

#[test]
fn files_of_every_kind() {
    let scene = Scene::with(&[("a.txt", "a\n"), (".gitignore", "ignored\nbuild/\n")]);
    scene.mark(&CheckpointId::SessionStart);
    scene.write("ignored", "x\n");
    scene.write("build/x", "x\n");
    let huge = fs::File::create(scene.folder.join("huge")).unwrap();
    huge.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let pipe = scene.folder.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let raw = scene
        .folder
        .join(std::ffi::OsStr::from_bytes(b"not \xff text"));
    fs::write(raw, "x\n").unwrap();
    scene.write("line\nbreak", "x\n");
    scene.write(":(glob)*", "x\n");
    let mut lines = scene.since_start();
    lines.sort();
    assert_eq!(
        lines,
        [
            "new %3A%28glob%29%2A +1 -0",
            "new huge binary",
            "new line%0Abreak +1 -0",
            "new not%20%FF%20text +1 -0"
        ]
    );
}

#[test]
fn places_that_are_none() {
    let scene = Scene::plain();
    let nowhere = [uri_of(&scene.folder.join("nowhere")).unwrap()];
    let span = agenthost_core::DiffRange {
        from: DiffEndpoint::Head,
        to: DiffEndpoint::WorkingTree,
    };
    let missing = scene.changes.diff(&scene.session, &nowhere, &span);
    assert_eq!(missing, Err(ChangesError::NoFolder));
    let elsewhere = [Uri::from("https://example.com/")];
    let missing = scene.changes.diff(&scene.session, &elsewhere, &span);
    assert_eq!(missing, Err(ChangesError::NoFolder));
}

#[test]
fn a_large_folder_in_no_repository_is_not_tracked() {
    let scene = Scene::plain();
    for number in 0..25_000 {
        let folder = scene.folder.join(format!("d{}", number / 1_000));
        fs::create_dir_all(&folder).unwrap();
        fs::File::create(folder.join(number.to_string())).unwrap();
    }
    let directories = scene.directories();
    let mark = |mark: &CheckpointId| {
        scene
            .changes
            .take_checkpoint(&scene.session, &directories, mark, None)
    };
    let refused = mark(&CheckpointId::SessionStart).unwrap_err();
    assert!(
        matches!(refused, ChangesError::LimitExceeded(_)),
        "{refused}"
    );
    // Turns are not kept waiting for it, and the reason is not forgotten.
    let again = mark(&CheckpointId::BeforeTurn(turn("t1"))).unwrap_err();
    assert_eq!(again, ChangesError::Untracked(refused.to_string()));
    let compared = scene.compare(
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
    );
    assert_eq!(compared, Err(again));
}

#[test]
fn what_is_tracked_although_it_is_ignored() {
    let scene = Scene::with(&[("a.txt", "a\n"), (".gitignore", "dist/\n")]);
    scene.mark(&CheckpointId::SessionStart);
    scene.write("dist/x", "x\n");
    scene.git(&["add", "--force", "dist/x"]);
    scene.git(&["commit", "--quiet", "--message", "dist"]);
    assert!(scene.uncommitted().is_empty());
    scene.write("dist/x", "y\n");
    assert_eq!(scene.uncommitted(), ["dist/x +1 -1"]);
}

#[test]
fn a_lock_that_was_left_behind_is_in_nobodys_way() {
    let scene = Scene::with(&[("a.txt", "a\n")]);
    scene.mark(&CheckpointId::SessionStart);
    for path in all_files(&scene.folder.with_file_name("kept")).into_keys() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("index-") && !name.contains('.') {
            fs::write(path.with_extension("lock"), "").unwrap();
        }
    }
    scene.write("a.txt", "b\n");
    assert_eq!(scene.since_start(), ["a.txt +1 -1"]);
}

#[test]
fn a_folder_behind_a_link() {
    let mut scene = Scene::with(&[("sub/a.txt", "a\n")]);
    let link = scene.folder.with_file_name("link");
    std::os::unix::fs::symlink(scene.folder.join("sub"), &link).unwrap();
    scene.folder = link;
    scene.mark(&CheckpointId::SessionStart);
    scene.write("a.txt", "b\n");
    // Named as the session names it, and nowhere else.
    assert_eq!(scene.since_start(), ["a.txt +1 -1"]);
}

#[test]
fn a_folder_in_another_counts_once() {
    let scene = Scene::with(&[("sub/a.txt", "a\n")]);
    let sub = uri_of(&scene.folder.join("sub")).unwrap();
    let directories = [sub, uri_of(&scene.folder).unwrap()];
    scene.start_in(&directories);
    scene.write("sub/a.txt", "b\n");
    assert_eq!(scene.since_start_in(&directories).len(), 1);
}
