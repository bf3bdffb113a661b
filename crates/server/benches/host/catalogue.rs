//! A host that remembers ten thousand sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_core::StoreWrite;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_store::{Durability, Store};
use serde_json::json;

use crate::clients::Client;
use crate::memory::Child;
use crate::{Budget, Scale};

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    println!("\n| sessions | ready after, ms | first page of the list, ms | memory, MB |");
    println!("|---:|---:|---:|---:|");
    let mut budgets = Vec::new();
    for sessions in [0, 10_000] {
        let directory = tempfile::tempdir().unwrap();
        prepare(directory.path(), sessions);
        let mut best = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..if scale.quick { 1 } else { 5 } {
            let begun = Instant::now();
            let child = Child::start(directory.path()).await;
            let ready = millis(begun.elapsed());
            let mut client = Client::connect(&child.url, "a").await;
            let begun = Instant::now();
            let page = client
                .ask("listSessions", json!({"channel": "ahp-root://"}))
                .await;
            let listed = millis(begun.elapsed());
            assert_eq!(page["items"].as_array().unwrap().len(), sessions.min(200));
            let memory = child.memory("VmRSS");
            best = (best.0.min(ready), best.1.min(listed), best.2.min(memory));
        }
        println!(
            "| {sessions} | {:.0} | {:.1} | {:.1} |",
            best.0, best.1, best.2
        );
        let (ready, memory) = if sessions == 0 {
            (300.0, 15.0)
        } else {
            (300.0, 60.0)
        };
        budgets.push(Budget {
            what: format!("ready with {sessions} sessions, ms"),
            value: best.0,
            most: ready,
        });
        budgets.push(Budget {
            what: format!("memory with {sessions} sessions, MB"),
            value: best.2,
            most: memory,
        });
    }
    budgets
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A store as a host leaves it behind after so many sessions.
fn prepare(directory: &Path, sessions: usize) {
    let mut store = Store::open(directory, Durability::Process).unwrap();
    for number in 0..sessions {
        let session = Uri::from(format!("ahp-session:/{number:08}"));
        let chat = agenthost_core::resource::uris::default_chat_uri(&session);
        let at = "2026-01-05T09:00:00.000Z";
        let entry = json!({"resource": chat, "title": "", "status": 1, "modifiedAt": at});
        let state = json!({
            "provider": "speaker", "title": format!("Session number {number}"), "status": 1,
            "lifecycle": "ready", "activeClients": [], "chats": [entry], "defaultChat": chat,
            "workingDirectories": ["file:///home/someone/project"],
        });
        let summary = json!({
            "resource": session, "provider": "speaker", "title": format!("Session number {number}"),
            "status": 1, "createdAt": at, "modifiedAt": at, "defaultChat": chat, "chats": [entry],
            "workingDirectories": ["file:///home/someone/project"],
        });
        let empty =
            json!({"resource": chat, "title": "", "status": 1, "modifiedAt": at, "turns": []});
        let summary: SessionSummary = wire::from_str(&summary.to_string()).unwrap();
        let created = |channel: &Uri, state: &serde_json::Value| {
            let state: ChannelState = wire::from_str(&state.to_string()).unwrap();
            StoreWrite::ChannelCreated {
                channel: channel.clone(),
                session: Some(session.clone()),
                state,
                seq: ServerSeq(0),
            }
        };
        let writes = [
            created(&session, &state),
            created(&chat, &empty),
            StoreWrite::Session(Arc::new(summary)),
        ];
        store.append(&writes, Millis(0)).unwrap();
    }
}
