//! Costs of the runner: throughput, latency, memory, and the time until a new host has taken it over.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_agents::Agent;
use agenthost_server::{
    RunnerConfig, RunnerLaunch, Server, ServerConfig, end_runner, find_runner, run_runner, serve,
};
use serde_json::json;

use crate::clients::{Client, SESSION, chat, percentile};
use crate::memory::memory_of;
use crate::{Budget, Scale, acp};

/// Text of each chunk: a few words, as a model streams them.
const WORDS: &str = "a few words, as a model says them, one after the other, ";

/// Runs a runner for a directory, as the process of its own that a host starts.
pub(crate) async fn process(directory: PathBuf) {
    let runner = RunnerConfig {
        server: config(&directory),
        reload: Box::new(|| None),
    };
    let ready = || println!("ready");
    let ended = run_runner(runner, ready, std::future::pending()).await;
    ended.unwrap();
}

fn config(directory: &Path) -> ServerConfig {
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(acp::agent()) as Arc<dyn Agent>];
    config
}

/// Starts a host with or without a runner.
async fn start(directory: &Path, has_runner: bool) -> Server {
    let mut config = config(directory);
    config.runner = has_runner.then(|| RunnerLaunch {
        program: std::env::current_exe().unwrap(),
        arguments: vec!["runner".into(), directory.into()],
    });
    serve(config).await.unwrap()
}

async fn connect(server: &Server, session: &str) -> Client {
    let url = format!("{}?tkn={}", server.url().unwrap(), server.token);
    let mut client = Client::connect(&url, "reader").await;
    let params = json!({"channel": session, "provider": "scripted"});
    client.create_with(params).await;
    client
}

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let (chunks, turns, rounds) = if scale.quick {
        (20_000, 200, 3)
    } else {
        (100_000, 2_000, 5)
    };
    let mut times = [Duration::MAX; 2];
    let mut latencies = [f64::MAX; 2];
    for round in 0..rounds {
        for (index, has_runner) in [false, true].into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            let server = start(directory.path(), has_runner).await;
            let mut client = connect(&server, SESSION).await;
            client.subscribe(&chat()).await;
            times[index] = times[index].min(time_turn(&mut client, chunks).await);
            if round == 0 {
                latencies[index] = time_words(&mut client, turns).await;
            }
            drop(client);
            server.stop().await.unwrap();
        }
    }
    let [alone, with_runner] = times.map(|time| f64::from(chunks) / time.as_secs_f64());
    let throughput = with_runner / alone;
    let added = latencies[1] - latencies[0];
    println!("\n| agents | chunks/s | p99 of a turn with one word, ms |");
    println!("|---|---:|---:|");
    println!("| in the host | {alone:.0} | {:.2} |", latencies[0]);
    println!("| in the runner | {with_runner:.0} | {:.2} |", latencies[1]);
    let (takeover, memory, sessions) = take_over(scale).await;
    println!("\n| runner | |");
    println!("|---|---:|");
    println!("| throughput with it / without it | {throughput:.2} |");
    println!("| new host with {sessions} working agents, ms until it listens | {takeover:.0} |");
    println!("| private memory of the runner with {sessions} agents, MB | {memory:.1} |");
    vec![
        Budget {
            what: "throughput without the runner over that with it".to_owned(),
            value: 1.0 / throughput,
            most: 1.0 / 0.9,
        },
        Budget {
            what: "latency of a turn that the runner adds, p99, ms".to_owned(),
            value: added,
            // A turn crosses the socket twice, and each way may add 0.3 ms.
            most: 0.6,
        },
        Budget {
            what: "take-over, s".to_owned(),
            value: takeover / 1_000.0,
            most: 1.0,
        },
    ]
}

async fn time_turn(client: &mut Client, chunks: u32) -> Duration {
    let begun = Instant::now();
    client
        .start_turn("flood", &format!("many {chunks} {WORDS}"))
        .await;
    client.read_turn().await;
    begun.elapsed()
}

/// Returns the p99 of the time of turns that say one word, in milliseconds.
async fn time_words(client: &mut Client, turns: u32) -> f64 {
    let mut times = Vec::new();
    for turn in 0..turns {
        let begun = Instant::now();
        client.start_turn(&format!("t{turn}"), "say word").await;
        client.read_turn().await;
        times.push(u64::try_from(begun.elapsed().as_nanos()).unwrap());
    }
    percentile(&mut times, 99) / 1e6
}

/// Returns the time in milliseconds until a host listens whose runner has many working agents, the
/// private memory of that runner in megabytes, and the number of agents.
async fn take_over(scale: &Scale) -> (f64, f64, u32) {
    let sessions = if scale.quick { 20 } else { 100 };
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), true).await;
    for number in 0..sessions {
        let session = format!("ahp-session:/bench-{number}");
        let mut client = connect(&server, &session).await;
        let chat = agenthost_protocol::uri::default_chat_uri(&session.into());
        client.subscribe(chat.as_str()).await;
        let message = json!({"text": "say word;; wait", "origin": {"kind": "user"}});
        let start = json!({"type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-05T09:00:00Z", "message": message});
        client.dispatch_to(chat.as_str(), &start).await;
        while !client.hear().await.contains("chat/delta") {}
    }
    server.stop_and_keep_runner().await.unwrap();
    let memory = memory_of(find_runner(directory.path()).unwrap(), "RssAnon");
    let begun = Instant::now();
    let server = start(directory.path(), true).await;
    let time = begun.elapsed().as_secs_f64() * 1_000.0;
    server.stop_and_keep_runner().await.unwrap();
    end_runner(directory.path()).await.unwrap();
    (time, memory, sessions)
}
