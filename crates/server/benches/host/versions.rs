//! Throughput of one chat that streams to many subscribers of several protocol versions.

use std::time::{Duration, Instant};

use agenthost_core::resource::uris;
use agenthost_protocol::uri::Uri;
use serde_json::json;
use tokio::task::JoinSet;

use crate::agent::start;
use crate::clients::{Client, SESSION, chat};
use crate::{Budget, Scale};

const CLIENTS: usize = 100;

/// Groups of subscribers: name, and protocol versions in round-robin order.
const ROOMS: [(&str, &[&str]); 4] = [
    ("all 1.0", &["1.0.0"]),
    ("all 0.9", &["0.9.0"]),
    ("all 0.4", &["0.4.0"]),
    ("mixed", &["1.0.0", "0.9.0", "0.5.2", "0.4.0"]),
];

/// Workloads: name, prefix of the script, number of items. Text deltas are the same in most
/// versions; tool calls differ, and consist of four actions each.
const TALKS: [(&str, &str, usize); 2] = [("text deltas", "", 1_000), ("tool calls", "calls ", 250)];

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    println!(
        "\n| 100 subscribers | {} |",
        ROOMS.map(|(name, _)| name).join(" | ")
    );
    println!("|---|---:|---:|---:|---:|");
    let (part, rounds) = if scale.quick { (5, 3) } else { (1, 15) };
    let mut budgets = Vec::new();
    for (what, talk, count) in TALKS {
        let times = compare(&format!("{talk}{} 60 0", count / part), rounds).await;
        let ratios = times.map(|time| times[0].as_secs_f64() / time.as_secs_f64());
        let cells = ratios.map(|ratio| format!("{ratio:.2}"));
        println!("| {what}, as fast as all 1.0 | {} |", cells.join(" | "));
        budgets.push(Budget {
            what: format!("100 subscribers of 1.0 over as many of 0.4, {what}"),
            value: 1.0 / ratios[2],
            most: 1.0 / 0.7,
        });
    }
    budgets
}

/// Returns the best round of each group. The groups alternate.
async fn compare(talk: &str, rounds: usize) -> [Duration; 4] {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let url = format!("{}?tkn={}", server.url().unwrap(), server.token);
    let mut first = Client::connect(&url, "first").await;
    first.create().await;
    assert_eq!(chat(), uris::default_chat_uri(&Uri::from(SESSION)).as_str());
    let mut best = [Duration::MAX; 4];
    for round in 0..rounds {
        for (room, (name, versions)) in ROOMS.iter().enumerate() {
            // Truncates the chat, so that earlier turns are not in the snapshots of new
            // subscribers.
            first.dispatch(&json!({"type": "chat/truncated"})).await;
            let mut clients = Vec::new();
            for (number, version) in (0..CLIENTS).zip(versions.iter().cycle()) {
                let client = format!("{name}-{round}-{number}");
                let mut client = Client::of(&url, &client, version).await;
                client.subscribe(&chat()).await;
                clients.push(client);
            }
            let begun = Instant::now();
            first.start_turn(&format!("t{round}-{room}"), talk).await;
            read_all(clients).await;
            best[room] = best[room].min(begun.elapsed());
        }
    }
    server.stop().await.unwrap();
    best
}

async fn read_all(clients: Vec<Client>) {
    let mut reading = JoinSet::new();
    for mut client in clients {
        reading.spawn(async move {
            client.read_turn().await;
        });
    }
    reading.join_all().await;
}
