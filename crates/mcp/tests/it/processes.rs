//! No process is left, whatever happens.

use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_core::tools::mcp::driver::McpCommand;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::stage::{DEADLINE, Stage, noted, program, session};

/// Processes of a run: those with its mark in their environment.
fn marked(mark: &str) -> Vec<i32> {
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

fn mark_of(notes: &Path, process: u32) -> String {
    let note = std::fs::read_to_string(notes.join(process.to_string())).unwrap();
    note.split(' ').next_back().unwrap().to_owned()
}

async fn until_gone(mark: &str) {
    let begun = Instant::now();
    while !marked(mark).is_empty() {
        assert!(begun.elapsed() < DEADLINE, "{:?} stay", marked(mark));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_stubborn_server_goes_with_all_that_it_started() {
    let mut stage = Stage::new();
    stage.start("a", program("stubborn"));
    stage.ready().await;
    let process = noted(stage.notes.path())[0];
    let mark = mark_of(stage.notes.path(), process);
    assert_eq!(marked(&mark).len(), 2);
    stage.stop_server("a");
    stage.stopped().await;
    until_gone(&mark).await;
    stage.end().await;
}

#[tokio::test]
async fn servers_go_with_their_session() {
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
    let mark = mark_of(stage.notes.path(), noted(stage.notes.path())[0]);
    stage.errand(McpCommand::EndSession { session: session() });
    until_gone(&mark).await;
    stage.end().await;
}

#[tokio::test]
async fn a_server_that_is_killed_fails() {
    let mut stage = Stage::new();
    stage.start("a", program("plain"));
    stage.ready().await;
    let process = noted(stage.notes.path())[0];
    kill(
        Pid::from_raw(i32::try_from(process).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    stage.tools(<[_]>::is_empty).await;
    assert_eq!(stage.failed().await, "the server closed the connection");
    stage.end().await;
}

#[tokio::test]
async fn the_next_host_ends_what_a_killed_one_left() {
    let mut stage = Stage::new();
    stage.start("a", program("stubborn"));
    stage.ready().await;
    let mark = mark_of(stage.notes.path(), noted(stage.notes.path())[0]);
    // As another host would, that finds the notes of one that is gone.
    assert_eq!(agenthost_process::kill_leftovers(stage.notes.path()), 1);
    until_gone(&mark).await;
    stage.failed().await;
    stage.end().await;
}
