//! Overhead of the bridge to an ACP agent.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agenthost_acp::{AcpAgent, AgentLaunch};
use agenthost_testkit::acp_agent::AGENT_MODE_VARIABLE;
use serde_json::json;

use crate::clients::{Client, SESSION, chat};
use crate::memory::Child;
use crate::{Budget, Scale};

/// Text of each chunk: a few words, as a model streams them.
const WORDS: &str = "a few words, as a model says them, one after the other, ";

/// Returns an agent whose process is this program, which does what prompts say.
pub(crate) fn agent() -> AcpAgent {
    let this = std::env::current_exe().unwrap();
    let launch = AgentLaunch {
        program: this.to_string_lossy().into_owned(),
        arguments: Vec::new(),
        environment: vec![(AGENT_MODE_VARIABLE.to_owned(), String::new())],
    };
    AcpAgent::new("scripted", "Scripted", launch)
}

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let (pieces, rounds) = if scale.quick {
        (20_000, 3)
    } else {
        (100_000, 5)
    };
    let directory = tempfile::tempdir().unwrap();
    let child = Child::start(directory.path()).await;
    let mut client = open(&child).await;
    let (mut host, mut pipe) = (Duration::MAX, Duration::MAX);
    let script = format!("many {pieces} {WORDS}");
    for round in 0..rounds {
        let begun = Instant::now();
        client.start_turn(&format!("t{round}"), &script).await;
        client.read_turn().await;
        host = host.min(begun.elapsed());
        pipe = pipe.min(read_pipe(&script, pieces));
    }
    let rate = |time: Duration| f64::from(pieces) / time.as_secs_f64();
    let ratio = host.as_secs_f64() / pipe.as_secs_f64();
    println!("\n| {pieces} chunks of an ACP agent | chunks/s |");
    println!("|---|---:|");
    println!(
        "| through bridge and host to a client | {:.0} |",
        rate(host)
    );
    println!("| read from its pipe | {:.0} |", rate(pipe));
    println!("| time of the host / time of the pipe | {ratio:.1} |");
    let (early, late, turns) = grow(scale).await;
    println!("\n| turns of an ACP agent | memory of the host, MB |");
    println!("|---:|---:|");
    println!("| {} | {early:.1} |", turns / 5);
    println!("| {turns} | {late:.1} |");
    vec![
        Budget {
            what: "pieces through bridge and host over pieces from a pipe".to_owned(),
            value: ratio,
            most: MOST,
        },
        Budget {
            what: format!("memory that {turns} turns leave behind, MB"),
            value: late - early,
            most: 8.0,
        },
    ]
}

/// Budget: the time through bridge and host, as a multiple of the time to read the same lines from
/// the agent's pipe without parsing them.
const MOST: f64 = 30.0;

/// Creates a session of the agent, and subscribes to its chat.
async fn open(child: &Child) -> Client {
    let mut client = Client::connect(&child.url, "reader").await;
    let params =
        json!({"channel": SESSION, "provider": "scripted", "workingDirectories": ["file:///tmp"]});
    client.create_with(params).await;
    client.subscribe(&chat()).await;
    client
}

/// Measures how long it takes to read the same lines from the agent's pipe without parsing them.
fn read_pipe(script: &str, pieces: u32) -> Duration {
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .env(AGENT_MODE_VARIABLE, "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut lines = BufReader::with_capacity(64 * 1024, agent.stdout.take().unwrap()).lines();
    let mut ask = |method: &str, params: serde_json::Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
    };
    // Starts the agent before the clock: the agent of the host has been started by then, too.
    ask("session/new", json!({}));
    lines.next().unwrap().unwrap();
    let begun = Instant::now();
    let prompt = json!([{"type": "text", "text": script}]);
    ask(
        "session/prompt",
        json!({"sessionId": "session-1", "prompt": prompt}),
    );
    let mut read = 0;
    for line in &mut lines {
        if line.unwrap().contains("stopReason") {
            break;
        }
        read += 1;
    }
    let time = begun.elapsed();
    assert_eq!(read, pieces);
    drop(input);
    agent.wait().unwrap();
    time
}

/// Returns the memory of a host after a fifth of the turns and after all of them, and the number of
/// turns.
async fn grow(scale: &Scale) -> (f64, f64, u32) {
    let turns = if scale.quick { 200 } else { 1_000 };
    let directory = tempfile::tempdir().unwrap();
    let child = Child::start(directory.path()).await;
    let mut client = open(&child).await;
    let mut early = 0.0;
    for turn in 1..=turns {
        let script = format!("many 20 {WORDS}");
        client.start_turn(&format!("t{turn}"), &script).await;
        client.read_turn().await;
        if turn == turns / 5 {
            early = child.memory("VmRSS");
        }
    }
    (early, child.memory("VmRSS"), turns)
}
