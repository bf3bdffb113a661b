use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::environment::inherited_environment;
use crate::pid_file::kill_leftovers;

const SCOPES: [SignalScope; 2] = [SignalScope::Group, SignalScope::Tree];

fn spawn(
    script: &str,
    signal_scope: SignalScope,
    pid_dir: Option<&Path>,
) -> Result<(ManagedChild, ChildPipes), ChildSpawnError> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir("/");
    command.env_clear().envs(inherited_environment());
    let config = ChildConfig {
        pid_dir,
        signal_scope,
        signal_failure: "signal a child of a test",
    };
    ManagedChild::spawn(command, &config)
}

fn start(script: &str, signal_scope: SignalScope) -> (ManagedChild, ChildPipes) {
    spawn(script, signal_scope, None).unwrap()
}

async fn numbers(pipes: &mut ChildPipes, count: usize) -> Vec<i32> {
    let mut lines = BufReader::new(&mut pipes.stdout).lines();
    let mut numbers = Vec::new();
    for _ in 0..count {
        let line = lines.next_line().await.unwrap().unwrap();
        numbers.push(line.trim().parse().unwrap());
    }
    numbers
}

/// Returns `false` for a process that has ended, also if it was not waited for.
fn runs(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

async fn are_gone(ids: &[i32]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while ids.iter().copied().any(runs) {
        assert!(Instant::now() < deadline, "still there: {ids:?}");
        tokio::task::yield_now().await;
    }
}

/// Goose and codex do not notice that their input is closed; other agents leave processes behind,
/// some of them in a group of their own.
#[tokio::test]
async fn shutdown_ends_all_descendants() {
    let stubborn = "trap '' TERM; sleep 1000 & echo $!; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & \
        echo $$; while :; do sleep 1000; done";
    let polite = "sleep 1000 & echo $!; echo $$; read line; exit 0";
    for scope in SCOPES {
        let (process, mut pipes) = start(stubborn, scope);
        let ids = numbers(&mut pipes, 3).await;
        drop(pipes);
        assert!(ids.iter().copied().all(runs));
        process.shutdown().await;
        are_gone(&ids).await;

        let (process, mut pipes) = start(polite, scope);
        let ids = numbers(&mut pipes, 2).await;
        drop(pipes);
        let began = Instant::now();
        process.shutdown().await;
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "no process had to be killed"
        );
        are_gone(&ids).await;
    }
}

#[tokio::test]
async fn dropping_a_child_kills_its_descendants() {
    for scope in SCOPES {
        let (process, mut pipes) = start("sleep 1000 & echo $!; echo $$; wait", scope);
        let ids = numbers(&mut pipes, 2).await;
        drop(process);
        are_gone(&ids).await;
    }
}

/// Processes that left their group, their session and their parents are gone, too.
#[tokio::test]
async fn shutdown_ends_daemonized_descendants() {
    let daemons = "(setsid sh -c 'echo $$; exec sleep 1000' 2>/dev/null &); \
        (setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 1000\" 2>/dev/null &)'); echo $$; read line";
    for scope in SCOPES {
        let (process, mut pipes) = start(daemons, scope);
        let ids = numbers(&mut pipes, 3).await;
        drop(pipes);
        process.shutdown().await;
        are_gone(&ids).await;
    }

    let notes = tempfile::tempdir().unwrap();
    let (process, mut pipes) = spawn(daemons, SignalScope::Tree, Some(notes.path())).unwrap();
    let ids = numbers(&mut pipes, 3).await;
    // As if the host was killed.
    std::mem::forget(process);
    kill_leftovers(notes.path());
    are_gone(&ids).await;
}

#[tokio::test]
async fn a_child_without_pid_file_is_killed() {
    let notes = tempfile::tempdir().unwrap();
    let file = notes.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mark = notes.path().join("late");
    let script = format!("sleep 0.2; touch '{}'", mark.display());
    let refused = spawn(&script, SignalScope::Group, Some(&file));
    assert!(matches!(refused.unwrap_err(), ChildSpawnError::PidFile(_)));
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(!mark.exists());
}

#[tokio::test]
async fn the_tail_of_stderr_is_recorded() {
    let script = "echo complaint >&2; echo 'last \u{1b}[1mone' >&2";
    let (process, pipes) = start(script, SignalScope::Group);
    let tail = process.stderr_tail();
    drop(pipes);
    let shown = process.shutdown().await;
    assert!(Arc::ptr_eq(&tail, &shown));
    assert_eq!(shown.last_lines(2, &[]), ["complaint", "last [1mone"]);
}
