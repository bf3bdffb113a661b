//! Worktrees: made, used, merged back, removed.

use std::fs;
use std::path::PathBuf;

use agenthost_core::{
    CheckpointId, CommandLine, DiffEndpoint, DiffRange, OperationKind, Worktree, WorktreeDisposal,
    WorktreeRequest,
};
use agenthost_workspace::{ChangesError, UnmergedWork, WorktreeRemoval, path_of, uri_of};

use super::operations::operate;
use super::{TrackedFolder, all_files, git};

fn make(tracked_folder: &TrackedFolder, wish: &WorktreeRequest) -> Result<Worktree, ChangesError> {
    let folder = uri_of(&tracked_folder.folder).unwrap();
    tracked_folder
        .changes
        .create_worktree(&tracked_folder.session, &folder, wish)
}

fn branch() -> DiffRange {
    DiffRange {
        from: DiffEndpoint::MergeBase,
        to: DiffEndpoint::WorkingTree,
    }
}

/// A scene, and the same session in a worktree of it.
fn isolated(wish: &WorktreeRequest) -> (TrackedFolder, PathBuf) {
    let mut tracked_folder = TrackedFolder::with(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    let origin = tracked_folder.folder.clone();
    let made = make(&tracked_folder, wish).unwrap();
    tracked_folder.folder = path_of(&made.directory).unwrap();
    (tracked_folder, origin)
}

#[test]
fn a_session_works_in_its_own_worktree() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest::default());
    let before = all_files(&origin);
    assert_eq!(tracked_folder.text("a.txt").unwrap(), "a\n");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
    tracked_folder.write("a.txt", "agent\n");
    assert_eq!(tracked_folder.since_start(), ["a.txt +1 -1"]);
    let compared = tracked_folder
        .compare(DiffEndpoint::MergeBase, DiffEndpoint::WorkingTree)
        .unwrap();
    let standing = compared.status.git.unwrap();
    assert!(standing.branch.unwrap().starts_with("agenthost/session-"));
    assert_eq!(standing.base.as_deref(), Some("main"));
    assert_eq!(standing.worktree_of, uri_of(&origin));
    assert!(all_files(&origin) == before);

    // It is not thrown away while there is something in it.
    let kept = tracked_folder
        .changes
        .remove_worktree(&tracked_folder.session, WorktreeDisposal::KeepWork)
        .unwrap();
    assert!(
        matches!(&kept, WorktreeRemoval::Kept(what) if what.contains("not committed")),
        "{kept:?}"
    );
    assert!(tracked_folder.folder.join("a.txt").exists());

    // The changes without the commit.
    operate(&tracked_folder, OperationKind::Apply, branch(), None).unwrap();
    assert_eq!(fs::read_to_string(origin.join("a.txt")).unwrap(), "agent\n");
    assert_eq!(git(&origin, &["status", "--porcelain"]), " M a.txt\n");
    git(&origin, &["checkout", "--quiet", "--", "a.txt"]);

    // And with it.
    let early = operate(&tracked_folder, OperationKind::Merge, branch(), None);
    assert!(matches!(early, Err(ChangesError::Refused(_))), "{early:?}");
    operate(&tracked_folder, OperationKind::Commit, branch(), None).unwrap();
    operate(&tracked_folder, OperationKind::Merge, branch(), None).unwrap();
    assert_eq!(
        git(&origin, &["log", "--format=%s"]),
        "What was done\nfirst\n"
    );
    assert_eq!(git(&origin, &["status", "--porcelain"]), "");
    let gone = tracked_folder
        .changes
        .remove_worktree(&tracked_folder.session, WorktreeDisposal::KeepWork)
        .unwrap();
    assert_eq!(gone, WorktreeRemoval::Removed);
    assert!(!tracked_folder.folder.exists());
    assert_eq!(
        git(&origin, &["branch", "--format=%(refname:short)"]),
        "main\n"
    );
    assert_eq!(git(&origin, &["worktree", "list"]).lines().count(), 1);
    let again = tracked_folder
        .changes
        .remove_worktree(&tracked_folder.session, WorktreeDisposal::KeepWork)
        .unwrap();
    assert_eq!(again, WorktreeRemoval::Removed);
}

#[test]
fn unmerged_work_is_found_and_discarded_on_request() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest::default());
    let session = &tracked_folder.session;
    let work = || tracked_folder.changes.unmerged_work(session).unwrap();
    assert_eq!(work(), None);
    tracked_folder.write("a.txt", "agent\n");
    let expected = |is_changed, commits| UnmergedWork {
        directory: tracked_folder.folder.clone(),
        is_changed,
        commits,
    };
    assert_eq!(work(), Some(expected(true, 0)));
    operate(&tracked_folder, OperationKind::Commit, branch(), None).unwrap();
    assert_eq!(work(), Some(expected(false, 1)));
    tracked_folder.write("a.txt", "again\n");
    assert_eq!(work(), Some(expected(true, 1)));

    let discarded = tracked_folder
        .changes
        .remove_worktree(session, WorktreeDisposal::Discard)
        .unwrap();
    assert_eq!(discarded, WorktreeRemoval::Removed);
    assert!(!tracked_folder.folder.exists());
    assert_eq!(
        git(&origin, &["branch", "--format=%(refname:short)"]),
        "main\n"
    );
    assert_eq!(work(), None);
}

#[test]
fn unmerged_commits_are_kept_when_a_worktree_is_removed() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest {
        name: Some("mine".to_owned()),
        ..WorktreeRequest::default()
    });
    tracked_folder.write("a.txt", "agent\n");
    operate(&tracked_folder, OperationKind::Commit, branch(), None).unwrap();
    let kept = tracked_folder
        .changes
        .remove_worktree(&tracked_folder.session, WorktreeDisposal::KeepWork)
        .unwrap();
    assert!(
        matches!(&kept, WorktreeRemoval::Kept(what) if what.contains("agenthost/mine")),
        "{kept:?}"
    );
    assert!(!tracked_folder.folder.exists());
    let shown = git(&origin, &["show", "agenthost/mine:a.txt"]);
    assert_eq!(shown, "agent\n");
}

#[test]
fn a_merge_that_conflicts_changes_nothing() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest::default());
    tracked_folder.write("a.txt", "agent\n");
    operate(&tracked_folder, OperationKind::Commit, branch(), None).unwrap();
    fs::write(origin.join("a.txt"), "user\n").unwrap();
    git(
        &origin,
        &["commit", "--quiet", "--all", "--message", "user"],
    );
    let before = git(&origin, &["log", "--format=%H"]);
    let refused = operate(&tracked_folder, OperationKind::Merge, branch(), None);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(git(&origin, &["status", "--porcelain"]), "");
    assert_eq!(git(&origin, &["log", "--format=%H"]), before);
    let refused = operate(&tracked_folder, OperationKind::Apply, branch(), None);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(fs::read_to_string(origin.join("a.txt")).unwrap(), "user\n");
}

#[test]
fn a_new_worktree_has_copied_files_and_runs_its_setup() {
    let mut tracked_folder = TrackedFolder::with(&[(".gitignore", ".env\n"), ("sub/b.txt", "b\n")]);
    tracked_folder.write("sub/.env", "SECRET=1\n");
    tracked_folder.folder.push("sub");
    let made = make(
        &tracked_folder,
        &WorktreeRequest {
            name: Some("one".to_owned()),
            base: Some("main".to_owned()),
            files: vec![".env".to_owned(), "missing".to_owned()],
            setup: Some(CommandLine(
                "cp .env copy.env; cat b.txt > c.txt".to_owned(),
            )),
        },
    );
    let place = path_of(&made.unwrap().directory).unwrap();
    assert!(place.ends_with("project/sub"), "{}", place.display());
    assert_eq!(
        fs::read_to_string(place.join("copy.env")).unwrap(),
        "SECRET=1\n"
    );
    assert_eq!(fs::read_to_string(place.join("c.txt")).unwrap(), "b\n");
    assert_eq!(
        git(&place, &["branch", "--show-current"]),
        "agenthost/one\n"
    );
}

#[test]
fn a_failed_worktree_creation_leaves_nothing() {
    let plain = TrackedFolder::plain();
    assert!(matches!(
        make(&plain, &WorktreeRequest::default()),
        Err(ChangesError::Refused(_))
    ));
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    let before = all_files(&tracked_folder.folder);
    let wishes = [
        (Some("bad name"), None, None, None),
        (Some("../up"), None, None, None),
        (None, Some("nothing"), None, None),
        (None, Some("--help"), None, None),
        (None, None, Some("../../etc/passwd"), None),
        (None, None, Some("/etc/passwd"), None),
        (None, None, None, Some("echo it broke; exit 3")),
    ];
    for (name, base, file, setup) in wishes {
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        let wish = WorktreeRequest {
            name: text(name),
            base: text(base),
            files: file.into_iter().map(ToOwned::to_owned).collect(),
            setup: text(setup).map(CommandLine),
        };
        let refused = make(&tracked_folder, &wish);
        assert!(
            matches!(refused, Err(ChangesError::Refused(_))),
            "{wish:?}: {refused:?}"
        );
        if setup.is_some() {
            let words = refused.unwrap_err().to_string();
            assert_eq!(words, "the setup command failed: it broke");
        }
        assert_eq!(
            git(
                &tracked_folder.folder,
                &["branch", "--format=%(refname:short)"]
            ),
            "main\n"
        );
        assert_eq!(
            git(&tracked_folder.folder, &["worktree", "list"])
                .lines()
                .count(),
            1
        );
    }
    let names = |files: &std::collections::BTreeMap<PathBuf, Vec<u8>>| {
        let tracked = files
            .keys()
            .filter(|path| !path.starts_with(tracked_folder.folder.join(".git")));
        tracked.cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&all_files(&tracked_folder.folder)), names(&before));
}

#[test]
fn an_unfinished_merge_of_the_user_is_not_aborted() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest::default());
    tracked_folder.write("agent.txt", "agent\n");
    operate(&tracked_folder, OperationKind::Commit, branch(), None).unwrap();
    git(&origin, &["checkout", "--quiet", "-b", "other"]);
    fs::write(origin.join("a.txt"), "other\n").unwrap();
    git(
        &origin,
        &["commit", "--quiet", "--all", "--message", "other"],
    );
    git(&origin, &["checkout", "--quiet", "main"]);
    fs::write(origin.join("a.txt"), "main\n").unwrap();
    git(
        &origin,
        &["commit", "--quiet", "--all", "--message", "main"],
    );
    let merge = std::process::Command::new("git")
        .args(["merge", "--quiet", "other"])
        .current_dir(&origin)
        .output();
    assert!(!merge.unwrap().status.success());
    fs::write(origin.join("a.txt"), "resolved by hand\n").unwrap();
    let refused = operate(&tracked_folder, OperationKind::Merge, branch(), None).unwrap_err();
    assert!(
        refused.to_string().contains("a merge is in progress"),
        "{refused}"
    );
    assert_eq!(
        fs::read_to_string(origin.join("a.txt")).unwrap(),
        "resolved by hand\n"
    );
    assert!(origin.join(".git/MERGE_HEAD").exists());
}

#[test]
fn only_the_branch_of_the_worktree_is_removed() {
    let (tracked_folder, origin) = isolated(&WorktreeRequest::default());
    git(&origin, &["branch", "release"]);
    git(&tracked_folder.folder, &["switch", "--quiet", "release"]);
    let kept = tracked_folder
        .changes
        .remove_worktree(&tracked_folder.session, WorktreeDisposal::KeepWork)
        .unwrap();
    assert!(
        matches!(&kept, WorktreeRemoval::Kept(what) if what.contains("another branch")),
        "{kept:?}"
    );
    assert!(git(&origin, &["branch", "--list", "release"]).contains("release"));
}

#[test]
fn a_cancelled_setup_is_killed() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    let wish = WorktreeRequest {
        setup: Some(CommandLine("sleep 300".to_owned())),
        ..WorktreeRequest::default()
    };
    let begun = std::time::Instant::now();
    let refused = std::thread::scope(|scope| {
        let made = scope.spawn(|| make(&tracked_folder, &wish));
        while !made.is_finished() {
            tracked_folder.changes.cancel_setup(&tracked_folder.session);
            std::thread::yield_now();
        }
        made.join().unwrap()
    });
    assert!(refused.is_err() && begun.elapsed() < std::time::Duration::from_secs(100));
    assert_eq!(
        git(&tracked_folder.folder, &["worktree", "list"])
            .lines()
            .count(),
        1
    );
}
