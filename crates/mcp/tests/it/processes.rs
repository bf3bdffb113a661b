//! No process is left, whatever happens.

use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_core::tools::mcp::driver::McpCommand;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::harness::{DEADLINE, McpHarness, program, recorded_processes, session};

/// Processes of a run: those with its mark in their environment.
fn processes_with_marker(mark: &str) -> Vec<i32> {
    let line = format!("AGENTHOST_RUN={mark}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &i32| {
            let environment = std::fs::read(format!("/proc/{number}/environ"));
            let environment = environment.unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|one| one == line.as_bytes())
        })
        .collect()
}

fn marker_of(notes: &Path, process: u32) -> String {
    let note = std::fs::read_to_string(notes.join(process.to_string())).unwrap();
    note.split(' ').next_back().unwrap().to_owned()
}

async fn until_gone(mark: &str) {
    let begun = Instant::now();
    while !processes_with_marker(mark).is_empty() {
        assert!(
            begun.elapsed() < DEADLINE,
            "{:?} stay",
            processes_with_marker(mark)
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_server_that_ignores_signals_is_killed_with_its_children() {
    let mut harness = McpHarness::new();
    harness.start("a", program("stubborn"));
    harness.ready().await;
    let process = recorded_processes(harness.notes.path())[0];
    let mark = marker_of(harness.notes.path(), process);
    assert_eq!(processes_with_marker(&mark).len(), 2);
    harness.stop_server("a");
    harness.stopped().await;
    until_gone(&mark).await;
    harness.end().await;
}

#[tokio::test]
async fn servers_end_with_their_session() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let mark = marker_of(
        harness.notes.path(),
        recorded_processes(harness.notes.path())[0],
    );
    harness.execute(McpCommand::EndSession { session: session() });
    until_gone(&mark).await;
    harness.end().await;
}

#[tokio::test]
async fn a_killed_server_is_reported_as_failed() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let process = recorded_processes(harness.notes.path())[0];
    kill(
        Pid::from_raw(i32::try_from(process).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    harness.tools(<[_]>::is_empty).await;
    assert_eq!(harness.failed().await, "the server closed the connection");
    harness.end().await;
}

#[tokio::test]
async fn processes_of_a_killed_host_are_ended() {
    let mut harness = McpHarness::new();
    harness.start("a", program("stubborn"));
    harness.ready().await;
    let mark = marker_of(
        harness.notes.path(),
        recorded_processes(harness.notes.path())[0],
    );
    // As another host would, that finds the notes of one that is gone.
    assert_eq!(agenthost_process::kill_leftovers(harness.notes.path()), 1);
    until_gone(&mark).await;
    harness.failed().await;
    harness.end().await;
}
