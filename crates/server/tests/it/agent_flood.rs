//! Agents that never stop producing output: the host ends the turn, and memory, log and disk usage
//! stay bounded.

use std::path::Path;
use std::sync::Arc;

use agenthost_agents::{Agent, SessionContext, SessionFuture, TurnEvent, TurnMapper};
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::root::AgentInfo;
use agenthost_server::serve;
use ahp_types::state::SnapshotState;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::test_server::{chat_uri, config, create_session, join, start_turn};

const MIB: usize = 1024 * 1024;

/// Maximum size of a response in bytes.
const RESPONSE: usize = 8 * MIB;

/// An agent that produces far more than the limit unless the host stops it.
struct FloodingAgent {
    flood: Flood,
    /// Receives the number of bytes produced, and whether the host cancelled the turn.
    ended: mpsc::Sender<(usize, bool)>,
}

/// Kind of output that an agent floods with.
#[derive(Debug, Clone, Copy)]
enum Flood {
    Text,
    Thoughts,
    /// One response part per event.
    Parts,
}

impl Flood {
    fn next(self) -> (TurnEvent, usize) {
        let chunk = || "y".repeat(64 * 1024);
        match self {
            Flood::Text => (TurnEvent::Text(chunk()), 64 * 1024),
            Flood::Thoughts => (TurnEvent::Thought(chunk()), 64 * 1024),
            Flood::Parts => (TurnEvent::Notice("y".into()), 1),
        }
    }

    /// Number of events until the agent stops by itself: a multiple of the limit.
    fn events(self) -> usize {
        match self {
            Flood::Text | Flood::Thoughts => 16 * RESPONSE / (64 * 1024),
            Flood::Parts => 30_000,
        }
    }
}

impl Agent for FloodingAgent {
    fn info(&self) -> AgentInfo {
        AgentInfo::new("flooding", "Flooding", "Never stops talking.")
    }

    fn run_session(&self, session: SessionContext) -> SessionFuture {
        Box::pin(work(session, self.flood, self.ended.clone()))
    }
}

async fn work(
    mut session: SessionContext,
    flood: Flood,
    ended: mpsc::Sender<(usize, bool)>,
) -> Result<(), String> {
    while let Some(command) = session.commands.recv().await {
        match command {
            AgentCommand::Open { .. } => {
                let opened = AgentEvent::Opened { tools: Vec::new() };
                session.events.send(opened).await?;
            }
            AgentCommand::Prompt { chat, turn, .. } => {
                let mut mapper = TurnMapper::new(turn.clone());
                let (mut said, mut cancelled) = (0, false);
                for _ in 0..flood.events() {
                    if let Ok(AgentCommand::Cancel { .. }) = session.commands.try_recv() {
                        cancelled = true;
                        break;
                    }
                    let (event, bytes) = flood.next();
                    session
                        .events
                        .send_turn_event(&chat, &mut mapper, event)
                        .await?;
                    said += bytes;
                }
                session.events.end_turn(&chat, &turn, None).await?;
                ended.send((said, cancelled)).await.unwrap();
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the total size of a directory tree in bytes.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => bytes_in(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    sizes.sum()
}

/// Runs a turn of a flooding agent and returns the turn's response parts.
async fn flooded(flood: Flood) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let (sender, mut ended) = mpsc::channel(1);
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(FloodingAgent {
        flood,
        ended: sender,
    })];
    let server = serve(config).await.unwrap();
    let client = join(&server, "one").await;
    create_session(&client).await;
    start_turn(&client, "t1", "go").await;
    let (said, cancelled) = ended.recv().await.unwrap();
    assert!(cancelled, "{flood:?}: it said {said} bytes and was let");
    let (result, _) = client.subscribe(chat_uri()).await.unwrap();
    let SnapshotState::Chat(chat) = result.snapshot.unwrap().state else {
        panic!("a chat");
    };
    let chat = serde_json::to_value(&chat).unwrap();
    let turn = &chat["turns"][0];
    assert_eq!(turn["state"], "error", "{flood:?}");
    let parts = turn["responseParts"].as_array().unwrap().clone();
    drop(client);
    server.stop().await.unwrap();
    // Both the log and the stored state contain the response, as may data that is not yet
    // checkpointed.
    let bytes = bytes_in(directory.path());
    assert!(bytes < 8 * RESPONSE as u64, "{flood:?}: {bytes} on disk");
    parts
}

fn error_of(parts: &[Value]) -> &str {
    let error = &parts.last().unwrap()["error"];
    assert_eq!(error["errorType"], "responseTooLarge");
    error["message"].as_str().unwrap()
}

#[tokio::test]
async fn a_turn_flooded_with_text_fails_and_keeps_its_response() {
    for (flood, kind) in [(Flood::Text, "markdown"), (Flood::Thoughts, "reasoning")] {
        let parts = flooded(flood).await;
        let [said, _] = &parts[..] else {
            panic!("{} parts", parts.len());
        };
        assert_eq!(said["kind"], kind);
        let said = said["content"].as_str().unwrap().len();
        assert!(said <= RESPONSE && said > RESPONSE - MIB, "{said}");
        assert_eq!(
            error_of(&parts),
            "the response of a turn may have at most 8388608 bytes: the host has stopped the agent"
        );
    }
}

#[tokio::test]
async fn a_turn_flooded_with_parts_fails() {
    let parts = flooded(Flood::Parts).await;
    assert_eq!(parts.len(), 10_001);
    assert_eq!(
        error_of(&parts),
        "the response of a turn may have at most 10000 parts: the host has stopped the agent"
    );
}

/// The number of sessions is limited by the configuration, and a disposed session frees its slot.
#[tokio::test]
async fn sessions_past_the_limit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.limits.sessions = 2;
    let server = serve(config).await.unwrap();
    let client = join(&server, "one").await;
    let create = |name: &str| {
        let params = json!({"channel": format!("ahp-session:/{name}")});
        client.request::<_, Value>("createSession", params)
    };
    create("a").await.unwrap();
    create("b").await.unwrap();
    let refused = create("c").await.unwrap_err().to_string();
    assert!(
        refused.contains("there are 2 sessions, and `limits.sessions` allows no more"),
        "{refused}"
    );
    let gone = json!({"channel": "ahp-session:/a"});
    let _: Value = client.request("disposeSession", gone).await.unwrap();
    create("c").await.unwrap();
    server.stop().await.unwrap();
}
