//! `kill -9` under load: no action that a client has seen is lost, and the client resumes exactly
//! where it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::wire::{Document, Json, Limits, Wire};
use futures_util::{SinkExt, StreamExt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

pub(crate) const SESSION: &str = "ahp-session:/s1";
/// Default chat of that session. Every client derives it from the URI of the session.
pub(crate) const CHAT: &str = "ahp-chat://default/YWhwLXNlc3Npb246L3Mx";

/// Number of kills. `KILLS=1000` in the environment makes a long run.
const KILLS: u32 = 50;

/// After this many kills the test compares the log with the received actions and empties the queue:
/// both a replay and a queue are limited.
const KILLS_PER_CHECK: u32 = 50;

/// A host or message that is later than this is missing. Long, because campaigns share the
/// machine with other work.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

pub(crate) struct Host {
    child: Child,
    url: String,
    data: PathBuf,
}

impl Host {
    /// Starts a host and waits until it listens. Its log is in `host.log`.
    pub(crate) async fn start(directory: &Path) -> Self {
        let ready_file = directory.join("ready.json");
        // The ready file of the last host must not be taken for that of this one.
        drop(std::fs::remove_file(&ready_file));
        let command = Command::new(env!("CARGO_BIN_EXE_agenthost"))
            .args(["serve", "--data-dir"])
            .arg(directory.join("data"))
            .arg("--config")
            .arg(crate::commands::configuration(directory))
            .arg("--ready-file")
            .arg(&ready_file)
            .arg("--log-file")
            .arg(directory.join("host.log"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut host = Host {
            child: command.unwrap(),
            url: String::new(),
            data: directory.join("data"),
        };
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Ok(text) = std::fs::read_to_string(&ready_file) {
                let ready: Json = serde_json::from_str(&text).unwrap();
                let (url, token) = (ready["url"].as_str(), ready["token"].as_str());
                host.url = format!("{}?tkn={}", url.unwrap(), token.unwrap());
                return host;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the host did not start");
    }

    /// Returns the process id of the runner.
    pub(crate) fn runner(&self) -> Pid {
        let record = std::fs::read_to_string(self.data.join("runner.json")).unwrap();
        let record: Json = serde_json::from_str(&record).unwrap();
        let pid = record["process"]["pid"].as_i64().unwrap();
        Pid::from_raw(i32::try_from(pid).unwrap())
    }

    /// Kills the host with SIGKILL, so that it cannot flush or say goodbye. The runner goes on.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Kills host and runner.
    pub(crate) fn kill_with_runner(mut self) {
        // The host would start another runner.
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGSTOP).unwrap();
        kill(self.runner(), Signal::SIGKILL).unwrap();
        self.end();
    }

    /// Stops host and runner in an orderly way.
    pub(crate) fn stop(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        self.child.wait().unwrap();
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Ends host and runner of a test that has failed.
impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if kill(self.runner(), Signal::SIGTERM).is_err() {
                println!("the runner has ended already");
            }
            self.end();
        }
    }
}

/// A client that mirrors the chat and records all actions that it has received.
pub(crate) struct Client {
    socket: Socket,
    requests: u64,
    chat: Option<ChannelState>,
    pub(crate) seen: u64,
    told: BTreeMap<u64, Json>,
}

impl Client {
    pub(crate) async fn connect(host: &Host) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(&host.url).await.unwrap();
        Client {
            socket,
            requests: 0,
            chat: None,
            seen: 0,
            told: BTreeMap::new(),
        }
    }

    /// Connects to the next host and applies the actions that were missed.
    pub(crate) async fn reconnect(mut self, host: &Host, channels: &[&str]) -> Self {
        let mut again = Client::connect(host).await;
        let (chat, seen, told) = (self.chat.take(), self.seen, self.told);
        (again.chat, again.seen, again.told) = (chat, seen, told);
        let params = json!({"channel": "ahp-root://", "clientId": "a", "lastSeenServerSeq": seen, "subscriptions": channels});
        let missed = again.request("reconnect", params).await;
        assert_eq!(missed["type"], "replay");
        for envelope in missed["actions"].as_array().unwrap() {
            again.apply(envelope);
        }
        again
    }

    async fn send(&mut self, message: Json) {
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
    }

    /// Returns the next message, or `None` at the end of the connection. Applies actions.
    pub(crate) async fn receive(&mut self) -> Option<Json> {
        loop {
            let next = tokio::time::timeout(DEADLINE, self.socket.next());
            match next.await.unwrap()? {
                Ok(Message::Text(text)) => {
                    let json: Json = serde_json::from_str(&text).unwrap();
                    if json["method"] == "action" {
                        self.apply(&json["params"]);
                    }
                    return Some(json);
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    fn apply(&mut self, envelope: &Json) {
        let text = envelope.to_string();
        let document = Document::parse(&text, Limits::STATE).unwrap();
        let read = ReceivedEnvelope::decode(document.root()).unwrap();
        let seq = read.server_seq.0;
        assert!(seq > self.seen, "{seq} after {}", self.seen);
        self.seen = seq;
        assert_eq!(read.rejection_reason, None, "{text}");
        let ReceivedAction::Valid(action) = read.action else {
            panic!("not an action: {text}");
        };
        if envelope["channel"] != CHAT {
            return;
        }
        self.told.insert(seq, envelope.clone());
        let _outcome = self.chat.as_mut().unwrap().reduce(&action);
    }

    pub(crate) async fn request(&mut self, method: &str, params: Json) -> Json {
        self.requests += 1;
        let id = self.requests;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let message = self.receive().await.unwrap();
            if message["id"] == id {
                assert_eq!(message.get("error"), None, "{message}");
                return message["result"].clone();
            }
        }
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Json) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn initialize(&mut self, name: &str) {
        let params =
            json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": name});
        self.request("initialize", params).await;
    }

    /// Waits until the session is ready. It is no longer subscribed to after that.
    pub(crate) async fn until_ready(&mut self) {
        let channel = json!({"channel": SESSION});
        let found = self.request("subscribe", channel.clone()).await;
        if found["snapshot"]["state"]["lifecycle"] != "ready" {
            self.until("session/ready").await;
        }
        self.notify("unsubscribe", channel).await;
    }

    pub(crate) async fn subscribe(&mut self) {
        let result = self.request("subscribe", json!({"channel": CHAT})).await;
        let text = result["snapshot"].to_string();
        let document = Document::parse(&text, Limits::STATE).unwrap();
        let snapshot = Snapshot::decode(document.root()).unwrap();
        self.seen = snapshot.from_seq.0;
        self.chat = Some(snapshot.state);
    }

    pub(crate) async fn dispatch(&mut self, action: Json) {
        self.dispatch_to(CHAT, action).await;
    }

    pub(crate) async fn dispatch_to(&mut self, channel: &str, action: Json) {
        let params = json!({"channel": channel, "clientSeq": 1, "action": action});
        self.send(json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}))
            .await;
    }

    pub(crate) async fn until(&mut self, kind: &str) {
        loop {
            let message = self.receive().await.unwrap();
            if message["params"]["action"]["type"] == kind {
                return;
            }
        }
    }

    /// Returns the chat without `changes`. Actions of the chat do not report them: its session does
    /// (SYN-2).
    pub(crate) fn text(&self) -> Json {
        let mut chat = serde_json::to_value(self.chat.as_ref().unwrap()).unwrap();
        chat.as_object_mut().unwrap().remove("changes");
        chat
    }
}

#[tokio::test]
async fn no_published_action_is_lost_by_a_kill() {
    let kills = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut host = Host::start(directory.path()).await;
    let mut client = Client::connect(&host).await;
    client.initialize("a").await;
    let session = json!({"channel": SESSION, "workingDirectories": ["file:///tmp"]});
    client.request("createSession", session).await;
    client.until_ready().await;
    client.subscribe().await;
    let mut first = client.seen;

    for round in 0..kills {
        // The command in this turn writes output, and is still running when the host is killed.
        let turn = format!("turn-{round}");
        let message = json!({"text": format!("seq 2000; sleep 5"), "origin": {"kind": "user"}});
        let start = json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z", "message": message});
        let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": format!("m{round}"), "message": {"text": "help", "origin": {"kind": "user"}}});
        client.dispatch(start).await;
        client.dispatch(queued).await;
        client.until("chat/toolCallReady").await;
        client.dispatch(json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": "command", "approved": true})).await;
        client.until("chat/toolCallContentChanged").await;
        // Draft changes keep the chat busy, so that the kill happens among them.
        for n in 0..20 + round % 7 {
            let draft = json!({"text": format!("draft {round} {n}"), "origin": {"kind": "user"}});
            client
                .dispatch(json!({"type": "chat/draftChanged", "draft": draft}))
                .await;
            if n % 3 == 0 {
                client.until("chat/draftChanged").await;
            }
        }
        host.kill_with_runner();
        // Messages that the host sent before it was killed count as seen, too.
        while client.receive().await.is_some() {}

        host = Host::start(directory.path()).await;
        client = client.reconnect(&host, &[CHAT]).await;

        // A client that subscribes anew gets the same state as the mirror.
        let mut other = Client::connect(&host).await;
        other.initialize("b").await;
        other.subscribe().await;
        assert_eq!(client.text(), other.text(), "round {round}");
        let turns = client.text()["turns"].as_array().unwrap().clone();
        assert_eq!(turns.last().unwrap()["state"], "error");
        assert_eq!(turns.last().unwrap()["id"], turn.as_str());
        // The queue is kept, without duplicates.
        let queue = client.text()["queuedMessages"].clone();
        let expected = (round % KILLS_PER_CHECK) as usize + 1;
        assert_eq!(queue.as_array().unwrap().len(), expected);

        if round % KILLS_PER_CHECK == KILLS_PER_CHECK - 1 || round + 1 == kills {
            println!("kill {} of {kills}", round + 1);
            assert!(client.told.len() > 8 * expected);
            check_log(&host, first, &client.told).await;
            client.told.clear();
            first = client.seen;
            for message in queue.as_array().unwrap() {
                let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": message["id"]});
                client.dispatch(removed).await;
                client.until("chat/pendingMessageRemoved").await;
            }
        }
    }
    host.stop();
}

/// Asserts that the log has all received actions, unchanged.
async fn check_log(host: &Host, first: u64, told: &BTreeMap<u64, Json>) {
    let mut other = Client::connect(host).await;
    let params = json!({"channel": "ahp-root://", "clientId": "a", "lastSeenServerSeq": first, "subscriptions": [CHAT]});
    let all = other.request("reconnect", params).await;
    assert_eq!(all["type"], "replay");
    let logged: BTreeMap<_, _> = all["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|envelope| (envelope["serverSeq"].as_u64().unwrap(), envelope.clone()))
        .collect();
    for (seq, envelope) in told {
        assert_eq!(
            logged.get(seq),
            Some(envelope),
            "{seq} was seen and is lost"
        );
    }
}
