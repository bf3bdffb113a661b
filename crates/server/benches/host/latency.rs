//! Latency from an agent's event to its arrival at a client, and the share of the log in it.

use std::time::{Duration, Instant};

use agenthost_core::StoreWrite;
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire;
use agenthost_store::{Durability, Store};
use serde_json::json;

use crate::agent::{piece, start};
use crate::bare::Bare;
use crate::clients::{Client, chat, percentile};
use crate::{Budget, Scale};

/// Interval between pieces: a thousand per second.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let pieces = if scale.quick { 1_000 } else { 5_000 };
    println!("\n| at 1,000 actions/s | p50, µs | p99, µs |\n|---|---:|---:|");
    let row = |what: &str, values: &mut [u64]| {
        let (half, most) = (percentile(values, 50), percentile(values, 99));
        println!("| {what} | {:.0} | {:.0} |", half / 1e3, most / 1e3);
        most
    };
    row(
        "agent to client, host with its log",
        &mut host(pieces).await,
    );
    row("agent to client, bare tungstenite", &mut bare(pieces).await);
    let mut process = append(pieces, Durability::Process).await;
    let added = row(
        "of that, the log (`durability = \"process\"`)",
        &mut process,
    );
    let mut power = append(pieces / 5, Durability::Power).await;
    row("of that, the log (`durability = \"power\"`)", &mut power);
    vec![Budget {
        what: "latency that the log adds, p99 in ms".to_owned(),
        value: added / 1e6,
        most: 1.0,
    }]
}

async fn host(pieces: usize) -> Vec<u64> {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let url = format!("{}?tkn={}", server.url().unwrap(), server.token);
    let mut client = Client::connect(&url, "a").await;
    client.create().await;
    client.subscribe(&chat()).await;
    let pause = PAUSE.as_micros();
    client
        .start_turn("t", &format!("{pieces} 60 {pause}"))
        .await;
    let latencies = client.read_turn().await;
    assert!(latencies.len() >= pieces);
    server.stop().await.unwrap();
    latencies
}

async fn bare(pieces: usize) -> Vec<u64> {
    let mut bare = Bare::start().await;
    let (socket, _) = tokio_tungstenite::connect_async(&bare.url).await.unwrap();
    bare.peers(1).await;
    let saying = async {
        let mut clock = tokio::time::interval(PAUSE);
        for _ in 0..pieces {
            clock.tick().await;
            bare.broadcast(piece(200)).await;
        }
        bare.broadcast("chat/turnComplete".to_owned()).await;
    };
    let mut client = Client(socket);
    let ((), latencies) = tokio::join!(saying, client.read_turn());
    latencies
}

/// Measures the log alone: how long it takes to append an action.
async fn append(pieces: usize, durability: Durability) -> Vec<u64> {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), durability).unwrap();
    let mut clock = tokio::time::interval(PAUSE);
    let mut times = Vec::new();
    for seq in 1..=pieces {
        clock.tick().await;
        let action =
            json!({"type": "chat/delta", "turnId": "t", "partId": "p", "content": piece(60)});
        let envelope = json!({"channel": chat(), "action": action, "serverSeq": seq});
        let envelope: ActionEnvelope = wire::from_str(&envelope.to_string()).unwrap();
        let begun = Instant::now();
        let writes = [StoreWrite::Action(envelope.into())];
        store.append(&writes, Millis(0)).unwrap();
        times.push(u64::try_from(begun.elapsed().as_nanos()).unwrap());
    }
    times
}
