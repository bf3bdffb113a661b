//! Output of `cat` on a large file, through a terminal to eight clients.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_protocol::rpc::encode;
use futures_util::{SinkExt, StreamExt};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use crate::bare::Bare;
use crate::clients::{Client, chat};
use crate::memory::Child;
use crate::{Budget, Scale};

const READERS: usize = 8;

/// Number and hash of the bytes that a reader received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    bytes: usize,
    hash: u64,
}

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let (megabytes, rounds) = if scale.quick { (10, 2) } else { (200, 3) };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large");
    write(&file, megabytes);
    let (mut host, mut bare, mut memory) = (Duration::MAX, Duration::MAX, f64::MAX);
    for _ in 0..rounds {
        let (time, most, sum) = through_host(&file).await;
        host = host.min(time);
        memory = memory.min(most);
        let (time, expected) = through_bare(&file).await;
        bare = bare.min(time);
        assert_eq!(sum, expected, "what the file is and what clients saw");
    }
    let rate = |time: Duration| megabytes as f64 / time.as_secs_f64();
    let ratio = rate(host) / rate(bare);
    println!("\n| `cat` of {megabytes} MB to {READERS} | MB/s | peak memory, MB |");
    println!("|---|---:|---:|");
    println!(
        "| a terminal of the host | {:.1} | {memory:.1} |",
        rate(host)
    );
    println!(
        "| a bare terminal and bare tungstenite | {:.1} | |",
        rate(bare)
    );
    println!("| host / bare | {ratio:.2} | |");
    vec![
        Budget {
            what: "a bare terminal over one of the host".to_owned(),
            value: 1.0 / ratio,
            most: 1.0 / 0.5,
        },
        Budget {
            what: "memory for a flood in a terminal, MB".to_owned(),
            value: memory,
            most: 120.0,
        },
    ]
}

/// Writes a file of distinct lines, so that a lost or repeated line changes the hash.
fn write(file: &Path, megabytes: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
    for line in 0..megabytes * 10_000 {
        writeln!(file, "{line:>99}").unwrap();
    }
    file.flush().unwrap();
}

/// Measures the time from the input that starts `cat` until all readers have received the end of
/// the terminal.
async fn through_host(file: &Path) -> (Duration, f64, Sum) {
    let directory = tempfile::tempdir().unwrap();
    let child = Child::start(directory.path()).await;
    let mut first = Client::connect(&child.url, "first").await;
    first.create().await;
    first.subscribe(&chat()).await;
    let line = format!("!stty -echo; echo ready; read go; cat '{}'", file.display());
    first.start_turn("t", &line).await;
    let terminal = loop {
        let text = first.hear().await;
        if text.contains("chat/toolCallContentChanged") {
            let action: serde_json::Value = serde_json::from_str(&text).unwrap();
            let content = &action["params"]["action"]["content"][0];
            break content["resource"].as_str().unwrap().to_owned();
        }
    };
    // From here on `ready` is in the snapshot of every new subscriber.
    let result = first.ask("subscribe", json!({"channel": terminal})).await;
    let content = &result["snapshot"]["state"]["content"];
    if !content.to_string().contains("ready") {
        while !first.hear().await.contains("ready") {}
    }
    let mut first = leave(first, &terminal).await;
    let mut reading = JoinSet::new();
    for number in 0..READERS {
        let mut reader = Client::connect(&child.url, &format!("reader-{number}")).await;
        reader.subscribe(&terminal).await;
        reading.spawn(async move { read(reader).await });
    }
    let begun = Instant::now();
    let typed = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
        "channel": terminal, "clientSeq": 2, "action": {"type": "terminal/input", "data": "\n"},
    }});
    let typed = Message::text(typed.to_string());
    first.0.send(typed).await.unwrap();
    let sum = same(reading.join_all().await);
    (begun.elapsed(), child.memory("VmHWM"), sum)
}

/// Unsubscribes a client from a terminal.
async fn leave(mut client: Client, terminal: &str) -> Client {
    let params = json!({"channel": terminal});
    let unsubscribe = json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": params});
    let unsubscribe = Message::text(unsubscribe.to_string());
    client.0.send(unsubscribe).await.unwrap();
    client
}

/// Measures the same without a host: terminal output is broadcast to all readers as it arrives.
async fn through_bare(file: &Path) -> (Duration, Sum) {
    let mut bare = Bare::start().await;
    let mut reading = JoinSet::new();
    for _ in 0..READERS {
        let (socket, _) = tokio_tungstenite::connect_async(&bare.url).await.unwrap();
        reading.spawn(async move { read(Client(socket)).await });
    }
    bare.peers(READERS).await;
    let begun = Instant::now();
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new("cat");
    command.arg(file);
    let mut cat = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().unwrap();
    let (pieces, mut to_send) = mpsc::channel(64);
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            pieces.blocking_send(text).unwrap();
        }
    });
    while let Some(data) = to_send.recv().await {
        let action = json!({"type": "terminal/data", "data": data});
        let params = json!({"channel": "ahp-terminal:/bench", "action": action, "serverSeq": 1_790_000_000_000_000_u64});
        bare.broadcast(encode::notification("action", &params).unwrap())
            .await;
    }
    let exited = json!({"params": {"action": {"type": "terminal/exited"}}});
    bare.broadcast(exited.to_string()).await;
    let sum = same(reading.join_all().await);
    reader.join().unwrap();
    cat.wait().unwrap();
    (begun.elapsed(), sum)
}

fn same(sums: Vec<Sum>) -> Sum {
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    sums[0]
}

#[derive(Deserialize)]
struct Heard<'m> {
    #[serde(borrow)]
    params: Params<'m>,
}

#[derive(Deserialize)]
struct Params<'m> {
    #[serde(borrow)]
    action: Heading<'m>,
}

#[derive(Deserialize)]
struct Heading<'m> {
    r#type: &'m str,
    #[serde(borrow)]
    data: Option<&'m RawValue>,
}

/// Reads a terminal to its end. After `terminal/cleared` the host repeats the retained output,
/// which is not counted twice.
async fn read(mut client: Client) -> Sum {
    let mut sum = Sum {
        bytes: 0,
        hash: 0xcbf2_9ce4_8422_2325,
    };
    let mut repeats = false;
    loop {
        let text = match client.0.next().await.unwrap().unwrap() {
            Message::Text(text) => text,
            Message::Close(frame) => panic!("closed: {frame:?}"),
            _ => continue,
        };
        let heard: Heard<'_> = serde_json::from_str(text.as_str()).unwrap();
        match (heard.params.action.r#type, heard.params.action.data) {
            ("terminal/data", Some(_)) if repeats => repeats = false,
            ("terminal/data", Some(data)) => {
                // The raw JSON string, without its quotes.
                let data = data.get().trim_matches('"').as_bytes();
                sum.bytes += data.len();
                for byte in data {
                    sum.hash = (sum.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
            ("terminal/cleared", _) => repeats = true,
            ("terminal/exited", _) => return sum,
            _ => {}
        }
    }
}
