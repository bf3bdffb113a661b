//! Operations on a short chat and on a long one.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agenthost_core::StoreWrite;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_store::{Durability, Store};
use serde_json::{Value, json};

use crate::agent::start;
use crate::clients::{Client, SESSION, chat};
use crate::{Budget, Scale};

const SHORT: usize = 20;
const LONG: usize = 2_000;

/// Measured operations, in this order.
const STEPS: [&str; 6] = [
    "subscribe to the latest 20 turns, read from the disk",
    "subscribe to the latest 20 turns",
    "fetch 50 older turns",
    "subscribe to all turns",
    "fork at the last turn",
    "truncate to the last but one",
];

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    println!("\n| operation, in ms | {SHORT} turns | {LONG} turns | long / short |");
    println!("|---|---:|---:|---:|");
    let mut best = [[f64::MAX; 2]; STEPS.len()];
    for _ in 0..if scale.quick { 2 } else { 7 } {
        for (column, turns) in [SHORT, LONG].into_iter().enumerate() {
            for (row, time) in measure(turns).await.into_iter().enumerate() {
                best[row][column] = best[row][column].min(time);
            }
        }
    }
    for (what, [short, long]) in STEPS.iter().zip(best) {
        println!("| {what} | {short:.2} | {long:.2} | {:.1} |", long / short);
    }
    let [short, long] = best[1];
    vec![Budget {
        what: format!("subscribing to 20 of {LONG} turns over 20 of {SHORT}"),
        value: long / short,
        most: 1.5,
    }]
}

/// Measures each step, in milliseconds.
async fn measure(turns: usize) -> [f64; STEPS.len()] {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path(), turns);
    let server = start(directory.path()).await;
    let url = format!("{}?tkn={}", server.url().unwrap(), server.token);
    let mut clients = Vec::new();
    for name in ["a", "b", "c", "d"] {
        clients.push(Client::connect(&url, name).await);
    }
    let part = json!({"channel": chat(), "view": {"turns": 20}});
    let all = json!({"channel": chat()});
    let last = json!({"kind": "fork", "chat": chat(), "turnId": format!("t{}", turns - 1)});
    let fork = json!({"channel": SESSION, "chat": "ahp-chat:/fork", "source": last});
    let cold = timed(&mut clients[0], "subscribe", &part).await;
    let mut warm = f64::MAX;
    for _ in 0..20 {
        warm = warm.min(timed(&mut clients[1], "subscribe", &part).await);
    }
    let fetch = timed(&mut clients[1], "fetchTurns", &all).await;
    let whole = timed(&mut clients[2], "subscribe", &all).await;
    let fork = timed(&mut clients[3], "createChat", &fork).await;
    let action = json!({"type": "chat/truncated", "turnId": format!("t{}", turns - 2)});
    let begun = Instant::now();
    clients[2].dispatch(&action).await;
    while !clients[2].hear().await.contains("chat/truncated") {}
    let truncate = millis(begun);
    server.stop().await.unwrap();
    [cold, warm, fetch, whole, fork, truncate]
}

async fn timed(client: &mut Client, method: &str, params: &Value) -> f64 {
    let begun = Instant::now();
    client.ask(method, params.clone()).await;
    millis(begun)
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Writes a data directory with a session whose chat has `turns` turns.
fn prepare(directory: &Path, turns: usize) {
    let at = "2026-01-05T09:00:00.000Z";
    let entry = json!({"resource": chat(), "title": "", "status": 1, "modifiedAt": at});
    let answer = "An answer of a few sentences, as models give them. ".repeat(20);
    let turn = |number: usize| {
        json!({
            "id": format!("t{number}"), "state": "complete",
            "message": {"text": "A question", "origin": {"kind": "user"}},
            "responseParts": [{"kind": "markdown", "id": "p", "content": answer}],
        })
    };
    let session = json!({
        "provider": "speaker", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [entry], "defaultChat": chat(),
    });
    let summary = json!({
        "resource": SESSION, "provider": "speaker", "title": "", "status": 1, "createdAt": at,
        "modifiedAt": at, "defaultChat": chat(), "chats": [entry],
    });
    let state = json!({
        "resource": chat(), "title": "", "status": 1, "modifiedAt": at,
        "turns": (0..turns).map(turn).collect::<Vec<_>>(),
    });
    let created = |channel: String, state: &Value| {
        let state: ChannelState = wire::from_str(&state.to_string()).unwrap();
        StoreWrite::ChannelCreated {
            channel: Uri::from(channel),
            session: Some(Uri::from(SESSION)),
            state,
            seq: ServerSeq(0),
        }
    };
    let summary: SessionSummary = wire::from_str(&summary.to_string()).unwrap();
    let writes = [
        created(SESSION.to_owned(), &session),
        created(chat(), &state),
        StoreWrite::Session(Arc::new(summary)),
    ];
    let mut store = Store::open(directory, Durability::Process).unwrap();
    store.append(&writes, Millis(0)).unwrap();
}
