//! Memory of a host that sends 200 MB while one of the subscribers never reads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::agent::{TERMINAL, start};
use crate::clients::{Client, chat, percentile};
use crate::{Budget, Scale};

/// Bytes per piece, as much as a pipe returns at once.
const SIZE: usize = 16 * 1024;

/// Runs a host until the process is killed.
pub(crate) async fn host(directory: PathBuf) {
    let mut server = start(&directory).await;
    server
        .write_ready_file(&directory.join("ready.json"))
        .unwrap();
    server.wait().await.unwrap();
}

/// A host in a separate process, killed on drop.
pub(crate) struct Child {
    process: std::process::Child,
    pub(crate) url: String,
}

impl Child {
    pub(crate) async fn start(directory: &Path) -> Self {
        let ready_file = directory.join("ready.json");
        // The ready file of an earlier host must not be mistaken for that of this one.
        drop(std::fs::remove_file(&ready_file));
        let process = Command::new(std::env::current_exe().unwrap())
            .arg("host")
            .arg(directory)
            .stdin(Stdio::null())
            .spawn();
        let mut child = Child {
            process: process.unwrap(),
            url: String::new(),
        };
        loop {
            if let Ok(text) = std::fs::read_to_string(&ready_file) {
                let ready: serde_json::Value = serde_json::from_str(&text).unwrap();
                let (url, token) = (ready["url"].as_str(), ready["token"].as_str());
                child.url = format!("{}?tkn={}", url.unwrap(), token.unwrap());
                return child;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns a value of `/proc/PID/status`, in megabytes.
    pub(crate) fn memory(&self, what: &str) -> f64 {
        let path = format!("/proc/{}/status", self.process.id());
        let Ok(status) = std::fs::read_to_string(path) else {
            return 0.0;
        };
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        let kilobytes = line.split_whitespace().nth(1).unwrap();
        kilobytes.parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let megabytes = if scale.quick { 60 } else { 200 };
    println!("\n| {megabytes} MB to two readers | peak memory, MB | p99 of a reader, ms |");
    println!("|---|---:|---:|");
    let mut all_read = (f64::MAX, f64::MAX);
    let mut one_stalls = (f64::MAX, f64::MAX);
    for _ in 0..if scale.quick { 2 } else { 3 } {
        let (memory, latency) = flood(megabytes, false).await;
        all_read = (all_read.0.min(memory), all_read.1.min(latency));
        let (memory, latency) = flood(megabytes, true).await;
        one_stalls = (one_stalls.0.min(memory), one_stalls.1.min(latency));
    }
    println!("| two readers | {:.1} | {:.1} |", all_read.0, all_read.1);
    println!(
        "| and one that never reads | {:.1} | {:.1} |",
        one_stalls.0, one_stalls.1
    );
    vec![
        Budget {
            what: "memory for one that never reads, MB".to_owned(),
            value: one_stalls.0 - all_read.0,
            most: 16.0,
        },
        Budget {
            what: "p99 of the others, with one that never reads".to_owned(),
            value: one_stalls.1 / all_read.1,
            // In a short run, the one full pause for the stalled client dominates the p99.
            most: if scale.quick { 5.0 } else { 1.5 },
        },
    ]
}

/// Returns the host's peak memory in megabytes, and the p99 latency of the readers in milliseconds.
async fn flood(megabytes: usize, stalled: bool) -> (f64, f64) {
    let directory = tempfile::tempdir().unwrap();
    let child = Child::start(directory.path()).await;
    let mut first = Client::connect(&child.url, "first").await;
    first.create().await;
    let mut readers = Vec::new();
    for name in ["a", "b"] {
        let mut reader = Client::connect(&child.url, name).await;
        reader.subscribe(TERMINAL).await;
        reader.subscribe(&chat()).await;
        readers.push(reader);
    }
    // This client subscribes like the others, and then neither reads nor writes.
    let mut silent = Client::connect(&child.url, "silent").await;
    if stalled {
        silent.ask("subscribe", json!({"channel": TERMINAL})).await;
    }
    let pieces = megabytes * 1024 * 1024 / SIZE;
    // Slow enough for a machine with two cores to read all of it twice.
    first
        .start_turn("t", &format!("terminal {pieces} {SIZE} 400"))
        .await;
    let mut reading = tokio::task::JoinSet::new();
    for mut reader in readers {
        reading.spawn(async move { reader.read_turn().await });
    }
    let mut latencies: Vec<u64> = reading.join_all().await.into_iter().flatten().collect();
    let memory = child.memory("VmHWM");
    drop(silent);
    (memory, percentile(&mut latencies, 99) / 1e6)
}
