//! Throughput of one chat that streams to many subscribers.

use std::time::{Duration, Instant};

use agenthost_protocol::rpc::encode;
use serde_json::json;
use tokio::task::JoinSet;

use crate::agent::{piece, start};
use crate::bare::Bare;
use crate::clients::{Client, chat};
use crate::{Budget, Scale};

/// Bytes per piece: a few words, as a model streams them.
const SIZE: usize = 60;

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    println!("\n| subscribers | host, messages/s | bare tungstenite, messages/s | host / bare |");
    println!("|---:|---:|---:|---:|");
    let (counts, rounds): (&[usize], _) = match scale.quick {
        true => (&[1, 100], 3),
        false => (&[1, 10, 100, 1_000], 7),
    };
    let mut budgets = Vec::new();
    for &subscribers in counts {
        // About the same number of messages for every row.
        let total = if scale.quick { 40_000 } else { 200_000 };
        let pieces = (total / subscribers).clamp(100, 10_000);
        let (host, bare) = compare(subscribers, pieces, rounds).await;
        let rate = |time: Duration| (pieces * subscribers) as f64 / time.as_secs_f64();
        let ratio = rate(host) / rate(bare);
        println!(
            "| {subscribers} | {:.0} | {:.0} | {ratio:.2} |",
            rate(host),
            rate(bare)
        );
        if subscribers == 100 {
            budgets.push(Budget {
                what: "bare tungstenite over the host, 100 subscribers".to_owned(),
                value: 1.0 / ratio,
                most: 1.0 / 0.9,
            });
        }
    }
    budgets
}

/// Returns the best round of the host and of bare tungstenite.
async fn compare(subscribers: usize, pieces: usize, rounds: usize) -> (Duration, Duration) {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let url = format!("{}?tkn={}", server.url().unwrap(), server.token);
    let mut first = Client::connect(&url, "first").await;
    first.create().await;
    let mut clients = Vec::new();
    for number in 0..subscribers {
        let mut client = Client::connect(&url, &format!("client-{number}")).await;
        client.subscribe(&chat()).await;
        clients.push(client);
    }
    let mut bare = Bare::start().await;
    let mut readers = Vec::new();
    for _ in 0..subscribers {
        let (socket, _) = tokio_tungstenite::connect_async(&bare.url).await.unwrap();
        readers.push(Client(socket));
    }
    bare.peers(subscribers).await;

    let (mut host_best, mut bare_best) = (Duration::MAX, Duration::MAX);
    for round in 0..rounds {
        let begun = Instant::now();
        let turn = format!("t{round}");
        first.start_turn(&turn, &format!("{pieces} {SIZE} 0")).await;
        clients = read_all(clients).await;
        host_best = host_best.min(begun.elapsed());

        let begun = Instant::now();
        let broadcast = async {
            for _ in 0..pieces {
                bare.broadcast(envelope(&turn)).await;
            }
            bare.broadcast("chat/turnComplete".to_owned()).await;
        };
        let ((), read) = tokio::join!(broadcast, read_all(readers));
        readers = read;
        bare_best = bare_best.min(begun.elapsed());
    }
    server.stop().await.unwrap();
    (host_best, bare_best)
}

async fn read_all(clients: Vec<Client>) -> Vec<Client> {
    let mut reading = JoinSet::new();
    for mut client in clients {
        reading.spawn(async move {
            client.read_turn().await;
            client
        });
    }
    reading.join_all().await
}

/// Returns a message of the same length as the one that the host sends for a piece.
fn envelope(turn: &str) -> String {
    let action =
        json!({"type": "chat/delta", "turnId": turn, "partId": "text-1", "content": piece(SIZE)});
    let params =
        json!({"channel": chat(), "action": action, "serverSeq": 1_790_000_000_000_000_u64});
    encode::notification("action", &params).unwrap()
}
