//! Cost of checkpoints and diffs, compared to `git status`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agenthost_core::{CheckpointId, DiffEndpoint, DiffRange, TurnRef};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ChangeTracker, uri_of};

use crate::{Budget, Scale};

pub(crate) fn run(scale: &Scale) -> Vec<Budget> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("\nskipped: git is not installed");
        return Vec::new();
    }
    let (files, rounds) = if scale.quick {
        (1_000, 5)
    } else {
        (20_000, 20)
    };
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().canonicalize().unwrap().join("project");
    make(&project, files);
    let changes = ChangeTracker::new(directory.path().join("kept"));
    let session = Uri::from("ahp-session:/s1");
    let folders = [uri_of(&project).unwrap()];
    let begun = Instant::now();
    changes
        .take_checkpoint(&session, &folders, &CheckpointId::SessionStart, None)
        .unwrap();
    let first = begun.elapsed();
    for number in 0..10 {
        std::fs::write(project.join(format!("d0/f{number}.txt")), "changed\n").unwrap();
    }
    let before = CheckpointId::BeforeTurn(TurnRef {
        chat: Uri::from("ahp-chat:/c1"),
        turn: "t1".into(),
    });
    let span = DiffRange {
        from: DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        to: DiffEndpoint::WorkingTree,
    };
    let (mut status, mut mark, mut compare) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        status = status.min(time(|| {
            git(&project, &["status", "--porcelain"]);
        }));
        mark = mark.min(time(|| {
            changes
                .take_checkpoint(&session, &folders, &before, None)
                .unwrap();
        }));
        compare = compare.min(time(|| {
            let compared = changes.diff(&session, &folders, &span).unwrap();
            assert_eq!(compared.files.len(), 10);
        }));
    }
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let ratio = |time: Duration| time.as_secs_f64() / status.as_secs_f64();
    println!("\n| {files} files, 10 changed | ms | over `git status` |\n|---|---:|---:|");
    println!("| `git status` | {:.1} | 1.0 |", millis(status));
    println!(
        "| the first checkpoint of a session | {:.1} | {:.1} |",
        millis(first),
        ratio(first)
    );
    println!(
        "| take a checkpoint | {:.1} | {:.1} |",
        millis(mark),
        ratio(mark)
    );
    println!(
        "| diff with the working tree | {:.1} | {:.1} |",
        millis(compare),
        ratio(compare)
    );
    vec![Budget {
        what: "a checkpoint over git status".to_owned(),
        value: ratio(mark),
        // In a small folder the start-up time of git dominates.
        most: if scale.quick { 10.0 } else { 3.0 },
    }]
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn make(project: &Path, files: usize) {
    for number in 0..files {
        let folder = project.join(format!("d{}", number / 100));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("file {number}\n").repeat(20);
        std::fs::write(folder.join(format!("f{}.txt", number % 100)), text).unwrap();
    }
    git(project, &["init", "--quiet"]);
    git(project, &["add", "."]);
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let commit = ["commit", "--quiet", "--message", "first"];
    git(project, &[identity, commit].concat());
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output();
    assert!(output.unwrap().status.success(), "git {arguments:?}");
}
