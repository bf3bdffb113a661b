//! A host whose disk is full for a while. Each test runs itself again in a mount namespace, with its
//! data on a small file system in memory. It is skipped with a message where that is not permitted.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agenthost_agents::{Agent, SessionContext, SessionFuture, TurnEvent, TurnMapper};
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::root::AgentInfo;
use agenthost_server::{Server, serve};
use agenthost_store::check_database;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::Peer;
use crate::test_server::{chat_uri, config};

/// The directory of the small file system, in the process that runs inside of the namespace.
const MOUNT_VARIABLE: &str = "AGENTHOST_TEST_MOUNT";

/// Number of pieces of text in a turn: more than fit into all queues together.
const PIECES: usize = 5_000;

/// Number of pieces after which the agent waits for the test.
const FIRST_PIECES: usize = 100;

/// An agent that counts.
#[derive(Clone, Default)]
struct CountingAgent {
    said: Arc<AtomicUsize>,
    go_on: Arc<Notify>,
}

impl Agent for CountingAgent {
    fn info(&self) -> AgentInfo {
        AgentInfo::new("counting", "Counting", "Counts.")
    }

    fn run_session(&self, session: SessionContext) -> SessionFuture {
        Box::pin(count(session, self.clone()))
    }
}

async fn count(mut session: SessionContext, agent: CountingAgent) -> Result<(), String> {
    while let Some(command) = session.commands.recv().await {
        match command {
            AgentCommand::Open { .. } => {
                let opened = AgentEvent::Opened { tools: Vec::new() };
                session.events.send(opened).await?;
            }
            AgentCommand::Prompt { chat, turn, .. } => {
                let mut mapper = TurnMapper::new(turn.clone());
                for number in 0..PIECES {
                    if number == FIRST_PIECES {
                        agent.go_on.notified().await;
                    }
                    let text = TurnEvent::Text(format!("{number} "));
                    let sent = session.events.send_turn_event(&chat, &mut mapper, text);
                    sent.await?;
                    agent.said.fetch_add(1, Ordering::Relaxed);
                }
                session.events.end_turn(&chat, &turn, None).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn counted() -> String {
    (0..PIECES).map(|number| format!("{number} ")).collect()
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn report_skip() {
    println!("skipped: mount namespaces are not permitted here");
}

/// Returns the directory of the small file system. Outside of the namespace, runs the test inside
/// and returns `None`.
fn enter(test: &str) -> Option<PathBuf> {
    if let Some(mount) = std::env::var_os(MOUNT_VARIABLE) {
        return Some(PathBuf::from(mount));
    }
    let directory = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=24m tmpfs \"$0\" || exit 77; exec \"$@\"";
    let status = Command::new("unshare")
        .args(["--mount", "--", "sh", "-c", mount])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MOUNT_VARIABLE, directory.path())
        .status();
    match status.map(|status| status.code()) {
        Ok(Some(0)) => {}
        Ok(Some(1 | 77)) | Err(_) if !can_mount() => {
            report_skip();
        }
        failed => panic!("the test failed in its namespace: {failed:?}"),
    }
    None
}

fn can_mount() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let mount = Command::new("unshare")
        .args(["--mount", "--", "mount", "-t", "tmpfs", "tmpfs"])
        .arg(directory.path())
        .output();
    mount.is_ok_and(|mount| mount.status.success())
}

/// Fills the file system.
fn fill(mount: &Path) {
    let mut file = std::fs::File::create(mount.join("filler")).unwrap();
    let mut size = 1024 * 1024;
    while size > 0 {
        if file.write_all(&vec![1; size]).is_err() {
            size /= 2;
        }
    }
}

fn free(mount: &Path) {
    std::fs::remove_file(mount.join("filler")).unwrap();
}

async fn start(data: &Path, agent: &CountingAgent) -> Server {
    let mut config = config(data);
    config.agents = vec![Arc::new(agent.clone())];
    serve(config).await.unwrap()
}

/// Starts a host with a session whose agent has counted to 99, and a peer that follows the session
/// and the settings.
async fn start_counting(data: &Path, agent: &CountingAgent) -> (Server, Peer) {
    let server = start(data, agent).await;
    let mut peer = Peer::join(&server, "one").await;
    peer.open(Path::new(env!("CARGO_TARGET_TMPDIR"))).await;
    let root = json!({"channel": "ahp-root://"});
    peer.request("subscribe", root).await.unwrap();
    peer.start_turn("t1", "count").await;
    let last = format!(" {} ", FIRST_PIECES - 1);
    peer.until("the first pieces", |peer| {
        peer.chat().to_string().contains(&last)
    })
    .await;
    (server, peer)
}

async fn problem(peer: &mut Peer) -> Value {
    let changed = peer.action("root/configChanged").await;
    changed["config"]["storageProblem"].clone()
}

async fn check_stored(data: &Path, server: Server) {
    server.stop().await.unwrap();
    let report = check_database(data, &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
    let server = start(data, &CountingAgent::default()).await;
    let mut fresh = Peer::join(&server, "fresh").await;
    fresh.subscribe_session().await;
    assert_eq!(fresh.end("t1").await, counted());
    server.stop().await.unwrap();
}

/// The host says that the disk is full, refuses changes and serves reads. The agent waits. Once
/// there is space, everything that it has written arrives, once.
#[tokio::test]
async fn a_full_disk_delays_agents_and_refuses_clients() {
    let Some(mount) = enter("full_disk::a_full_disk_delays_agents_and_refuses_clients") else {
        return;
    };
    let data = mount.join("data");
    let agent = CountingAgent::default();
    let (server, mut peer) = start_counting(&data, &agent).await;
    fill(&mount);
    agent.go_on.notify_one();
    assert_eq!(problem(&mut peer).await, "the disk is full");
    let create = json!({"channel": "ahp-session:/s2"});
    let refused = peer
        .request("createSession", create.clone())
        .await
        .unwrap_err();
    assert_eq!(
        refused["message"],
        "the host can't store changes: the disk is full; nothing was changed"
    );
    // A client that has not been here before can read.
    let mut second = Peer::join(&server, "two").await;
    second.subscribe_session().await;
    let (here, there) = (peer.chat(), second.chat());
    assert_eq!(here["activeTurn"], there["activeTurn"]);
    let said = agent.said.load(Ordering::Relaxed);
    assert!(said < PIECES, "the agent has not waited");
    free(&mount);
    assert_eq!(problem(&mut peer).await, Value::Null);
    assert_eq!(peer.end("t1").await, counted());
    assert_eq!(second.end("t1").await, counted());
    peer.request("createSession", create).await.unwrap();
    drop((peer, second));
    check_stored(&data, server).await;
}

/// Without the reserve, the host pauses: it answers nothing until there is space, and then
/// everything.
#[tokio::test]
async fn a_host_without_a_reserve_waits_for_space() {
    let Some(mount) = enter("full_disk::a_host_without_a_reserve_waits_for_space") else {
        return;
    };
    let data = mount.join("data");
    let agent = CountingAgent::default();
    let (server, mut peer) = start_counting(&data, &agent).await;
    std::fs::remove_file(data.join("reserve")).unwrap();
    fill(&mount);
    agent.go_on.notify_one();
    let create = json!({"channel": "ahp-session:/s2"});
    let answer = tokio::time::timeout(
        Duration::from_millis(500),
        peer.request("createSession", create.clone()),
    );
    assert!(answer.await.is_err(), "it was answered");
    assert!(agent.said.load(Ordering::Relaxed) < PIECES);
    free(&mount);
    assert_eq!(peer.end("t1").await, counted());
    let params = json!({"channel": chat_uri()});
    peer.request("subscribe", params).await.unwrap();
    drop(peer);
    check_stored(&data, server).await;
}
