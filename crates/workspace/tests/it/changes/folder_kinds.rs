//! Folders of every kind.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use agenthost_core::{CheckpointId, DiffEndpoint};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ChangesError, uri_of};

use super::{TrackedFolder, all_files, git, turn};

#[test]
fn changes_are_tracked_outside_of_a_repository() {
    let tracked_folder = TrackedFolder::plain();
    tracked_folder.write("a.txt", "a\n");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("a.txt", "a\nb\n");
    tracked_folder.write("new.txt", "x\n");
    assert_eq!(
        tracked_folder.since_start(),
        ["a.txt +1 -0", "new new.txt +1 -0"]
    );
    let names: Vec<_> = all_files(&tracked_folder.folder).into_keys().collect();
    assert_eq!(
        names,
        [
            tracked_folder.folder.join("a.txt"),
            tracked_folder.folder.join("new.txt")
        ]
    );
    let none = tracked_folder.compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree);
    assert!(matches!(none, Err(ChangesError::Refused(_))), "{none:?}");
    let compared = tracked_folder.compare(
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        DiffEndpoint::WorkingTree,
    );
    assert_eq!(compared.unwrap().status.git, None);
}

#[test]
fn changes_are_tracked_in_a_repository_without_commits() {
    let tracked_folder = TrackedFolder::repository();
    tracked_folder.write("a.txt", "a\n");
    tracked_folder.git(&["add", "a.txt"]);
    tracked_folder.write("b.txt", "b\n");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    assert_eq!(
        tracked_folder.uncommitted(),
        ["new a.txt +1 -0", "new b.txt +1 -0"]
    );
    tracked_folder.write("b.txt", "B\n");
    assert_eq!(tracked_folder.since_start(), ["b.txt +1 -1"]);
    let branch = tracked_folder
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(branch.files.len(), 2);
    assert_eq!(branch.status.git.unwrap().branch.as_deref(), Some("main"));
}

#[test]
fn changes_are_tracked_during_a_merge() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    tracked_folder.git(&["checkout", "--quiet", "-b", "other"]);
    tracked_folder.write("a.txt", "other\n");
    tracked_folder.commit("other");
    tracked_folder.git(&["checkout", "--quiet", "main"]);
    tracked_folder.write("a.txt", "main\n");
    tracked_folder.commit("main");
    let merge = std::process::Command::new("git")
        .args(["merge", "--quiet", "other"])
        .current_dir(&tracked_folder.folder)
        .output();
    assert!(!merge.unwrap().status.success());
    let before = all_files(&tracked_folder.folder);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    let compared = tracked_folder
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(tracked_folder.lines(&compared.files), ["a.txt +4 -0"]);
    let git = compared.status.git.unwrap();
    assert_eq!(git.operation_in_progress.as_deref(), Some("a merge"));
    assert!(all_files(&tracked_folder.folder) == before);
    tracked_folder.write("b.txt", "x\n");
    assert_eq!(tracked_folder.since_start(), ["b.txt +1 -1"]);
}

#[test]
fn changes_are_tracked_with_a_detached_head() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    tracked_folder.git(&["checkout", "--quiet", "--detach"]);
    tracked_folder.write("a.txt", "x\n");
    let compared = tracked_folder
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    assert_eq!(tracked_folder.lines(&compared.files), ["a.txt +1 -1"]);
    assert_eq!(compared.status.git.unwrap().branch, None);
}

#[test]
fn bare_repositories_and_git_directories_are_plain_folders() {
    let tracked_folder = TrackedFolder::plain();
    tracked_folder.git(&["init", "--quiet", "--bare"]);
    // It is a folder like any other: what lies in a tree may look the same.
    let none = tracked_folder
        .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
        .unwrap_err();
    assert_eq!(none.to_string(), "the folder is not in a git repository");
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    let inside = TrackedFolder {
        folder: tracked_folder.folder.join(".git"),
        ..TrackedFolder::in_same_folder(&tracked_folder)
    };
    let none = inside.compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree);
    assert_eq!(none, Err(ChangesError::BareRepository));
}

#[test]
fn nested_repositories_and_submodules_are_tracked() {
    let other = TrackedFolder::with(&[("x.txt", "x\n")]);
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    let from = other.folder.display().to_string();
    tracked_folder.git(&["submodule", "--quiet", "add", &from, "sub"]);
    tracked_folder.commit("sub");
    // One that is not registered, and one without commits.
    git(
        &tracked_folder.folder,
        &["clone", "--quiet", &from, "loose"],
    );
    git(&tracked_folder.folder, &["init", "--quiet", "empty"]);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    let sub = tracked_folder.folder.join("sub");
    git(&sub, &["config", "user.name", "A"]);
    git(&sub, &["config", "user.email", "a@example.com"]);
    fs::write(sub.join("x.txt"), "y\n").unwrap();
    assert!(tracked_folder.since_start().is_empty());
    git(&sub, &["commit", "--quiet", "--all", "--message", "y"]);
    let compared = tracked_folder
        .compare(
            DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
            DiffEndpoint::WorkingTree,
        )
        .unwrap();
    assert_eq!(tracked_folder.lines(&compared.files), ["sub +1 -1"]);
    let after = compared.files[0].edit.after.as_ref().unwrap();
    let text = tracked_folder
        .changes
        .read_object(&after.content.uri)
        .unwrap();
    assert!(text.starts_with(b"Subproject commit "), "{text:?}");
}

#[test]
fn only_changes_in_the_folder_of_the_session_are_tracked() {
    let mut tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    let top = tracked_folder.folder.clone();
    tracked_folder.folder = top.join("sub");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    fs::write(top.join("a.txt"), "x\n").unwrap();
    fs::write(top.join("new.txt"), "x\n").unwrap();
    tracked_folder.write("b.txt", "x\n");
    tracked_folder.write("c.txt", "x\n");
    assert_eq!(
        tracked_folder.since_start(),
        ["b.txt +1 -1", "new c.txt +1 -0"]
    );
    assert_eq!(
        tracked_folder.uncommitted(),
        ["b.txt +1 -1", "new c.txt +1 -0"]
    );
}

#[test]
fn changes_in_several_folders_are_tracked() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    let other = TrackedFolder::plain();
    other.write("o.txt", "o\n");
    let mut directories = tracked_folder.directories();
    directories.extend(other.directories());
    tracked_folder.start_in(&directories);
    tracked_folder.write("a.txt", "x\n");
    other.write("o.txt", "o\np\n");
    let files = tracked_folder.since_start_in(&directories);
    let ids: Vec<_> = files
        .iter()
        .map(|file| file.id.as_str().to_owned())
        .collect();
    assert_eq!(
        ids,
        [
            tracked_folder.uri("a.txt").as_str(),
            other.uri("o.txt").as_str()
        ]
    );
    let again = tracked_folder.changes.take_checkpoint(
        &tracked_folder.session,
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
fn ignored_huge_and_special_files_are_handled() {
    let tracked_folder =
        TrackedFolder::with(&[("a.txt", "a\n"), (".gitignore", "ignored\nbuild/\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("ignored", "x\n");
    tracked_folder.write("build/x", "x\n");
    let huge = fs::File::create(tracked_folder.folder.join("huge")).unwrap();
    huge.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let pipe = tracked_folder.folder.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let raw = tracked_folder
        .folder
        .join(std::ffi::OsStr::from_bytes(b"not \xff text"));
    fs::write(raw, "x\n").unwrap();
    tracked_folder.write("line\nbreak", "x\n");
    tracked_folder.write(":(glob)*", "x\n");
    let mut lines = tracked_folder.since_start();
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
fn missing_and_remote_folders_are_errors() {
    let tracked_folder = TrackedFolder::plain();
    let nowhere = [uri_of(&tracked_folder.folder.join("nowhere")).unwrap()];
    let span = agenthost_core::DiffRange {
        from: DiffEndpoint::Head,
        to: DiffEndpoint::WorkingTree,
    };
    let missing = tracked_folder
        .changes
        .diff(&tracked_folder.session, &nowhere, &span);
    assert_eq!(missing, Err(ChangesError::NoFolder));
    let elsewhere = [Uri::from("https://example.com/")];
    let missing = tracked_folder
        .changes
        .diff(&tracked_folder.session, &elsewhere, &span);
    assert_eq!(missing, Err(ChangesError::NoFolder));
}

#[test]
fn a_large_folder_in_no_repository_is_not_tracked() {
    let tracked_folder = TrackedFolder::plain();
    for number in 0..25_000 {
        let folder = tracked_folder.folder.join(format!("d{}", number / 1_000));
        fs::create_dir_all(&folder).unwrap();
        fs::File::create(folder.join(number.to_string())).unwrap();
    }
    let directories = tracked_folder.directories();
    let mark = |mark: &CheckpointId| {
        tracked_folder
            .changes
            .take_checkpoint(&tracked_folder.session, &directories, mark, None)
    };
    let refused = mark(&CheckpointId::SessionStart).unwrap_err();
    assert!(
        matches!(refused, ChangesError::LimitExceeded(_)),
        "{refused}"
    );
    // Turns are not kept waiting for it, and the reason is not forgotten.
    let again = mark(&CheckpointId::BeforeTurn(turn("t1"))).unwrap_err();
    assert_eq!(again, ChangesError::Untracked(refused.to_string()));
    let compared = tracked_folder.compare(
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
    );
    assert_eq!(compared, Err(again));
}

#[test]
fn tracked_files_are_compared_even_if_ignored() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), (".gitignore", "dist/\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("dist/x", "x\n");
    tracked_folder.git(&["add", "--force", "dist/x"]);
    tracked_folder.git(&["commit", "--quiet", "--message", "dist"]);
    assert!(tracked_folder.uncommitted().is_empty());
    tracked_folder.write("dist/x", "y\n");
    assert_eq!(tracked_folder.uncommitted(), ["dist/x +1 -1"]);
}

#[test]
fn a_stale_index_lock_is_ignored() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    for path in all_files(&tracked_folder.folder.with_file_name("kept")).into_keys() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("index-") && !name.contains('.') {
            fs::write(path.with_extension("lock"), "").unwrap();
        }
    }
    tracked_folder.write("a.txt", "b\n");
    assert_eq!(tracked_folder.since_start(), ["a.txt +1 -1"]);
}

#[test]
fn changes_in_a_symlinked_folder_are_tracked() {
    let mut tracked_folder = TrackedFolder::with(&[("sub/a.txt", "a\n")]);
    let link = tracked_folder.folder.with_file_name("link");
    std::os::unix::fs::symlink(tracked_folder.folder.join("sub"), &link).unwrap();
    tracked_folder.folder = link;
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("a.txt", "b\n");
    // Named as the session names it, and nowhere else.
    assert_eq!(tracked_folder.since_start(), ["a.txt +1 -1"]);
}

#[test]
fn a_nested_session_folder_is_counted_once() {
    let tracked_folder = TrackedFolder::with(&[("sub/a.txt", "a\n")]);
    let sub = uri_of(&tracked_folder.folder.join("sub")).unwrap();
    let directories = [sub, uri_of(&tracked_folder.folder).unwrap()];
    tracked_folder.start_in(&directories);
    tracked_folder.write("sub/a.txt", "b\n");
    assert_eq!(tracked_folder.since_start_in(&directories).len(), 1);
}
