//! Hosts that a client reconnects to: one with cursors, one without, and one that ignores them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_client::{Client, ClientOptions, ClientUpdate, HostAddress};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::codec::{Framed, LinesCodec};

const SESSIONS: [&str; 4] = [
    "ahp-session:/1",
    "ahp-session:/2",
    "ahp-session:/3",
    "ahp-session:/4",
];

/// A host that sends the messages of a test.
struct FakeHost(UnixListener);

/// A connection to the fake host.
struct FakeConnection(Framed<UnixStream, LinesCodec>);

impl FakeHost {
    fn listen(directory: &Path) -> (Self, PathBuf) {
        let path = directory.join("host.sock");
        (FakeHost(UnixListener::bind(&path).unwrap()), path)
    }

    async fn accept(&self) -> FakeConnection {
        let (stream, _) = self.0.accept().await.unwrap();
        FakeConnection(Framed::new(stream, LinesCodec::new()))
    }
}

impl FakeConnection {
    async fn receive(&mut self) -> Value {
        let line = self.0.next().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn send(&mut self, message: Value) {
        self.0.send(message.to_string()).await.unwrap();
    }

    /// Receives a request and answers it. Returns its parameters.
    async fn answer(&mut self, method: &str, outcome: &str, answer: Value) -> Value {
        let request = self.receive().await;
        assert_eq!(request["method"], method);
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], outcome: answer}))
            .await;
        request["params"].clone()
    }

    async fn send_action(&mut self, channel: &str, seq: u64, title: &str) {
        let params = envelope(channel, seq, title);
        self.send(json!({"jsonrpc": "2.0", "method": "action", "params": params}))
            .await;
    }

    async fn answer_initialize(&mut self) {
        let snapshots: Vec<_> = SESSIONS.iter().map(|one| snapshot(one, 1, "")).collect();
        let hello = json!({"protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": snapshots});
        let params = self.answer("initialize", "result", hello).await;
        assert_eq!(params["protocolVersions"], json!(["1.1.0", "1.0.0"]));
    }
}

fn snapshot(channel: &str, seq: u64, title: &str) -> Value {
    let state = json!({
        "provider": "p", "title": title, "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [],
    });
    json!({"resource": channel, "state": state, "fromSeq": seq})
}

fn envelope(channel: &str, seq: u64, title: &str) -> Value {
    let action = json!({"type": "session/titleChanged", "title": title});
    json!({"channel": channel, "serverSeq": seq, "action": action})
}

async fn connect(path: &Path) -> Client {
    let hello = ClientOptions {
        client_id: ClientId::from("a"),
        info: Implementation {
            name: "test".to_owned(),
            version: None,
            title: None,
        },
        subscriptions: SESSIONS.map(Uri::from).to_vec(),
        reconnect_timeout: Duration::from_secs(60),
    };
    let address = HostAddress::UnixSocket(path.to_owned());
    Client::connect(&address, hello).await.unwrap()
}

fn title(client: &Client, session: &str) -> Option<String> {
    match client.state(&Uri::from(session))? {
        ChannelState::Session(session) => Some(session.metadata.title.clone()),
        _ => None,
    }
}

fn titles(client: &Client) -> Vec<String> {
    let titles = SESSIONS.iter();
    let titles = titles.map(|session| title(client, session).unwrap_or("gone".to_owned()));
    titles.collect()
}

async fn dispatch(client: &mut Client, session: &str, title: &str) {
    let action = json!({"type": "session/titleChanged", "title": title});
    let action: Action = wire::from_str(&action.to_string()).unwrap();
    client.dispatch(&Uri::from(session), action).await.unwrap();
}

/// Each channel resumes from its own cursor, and only the pending actions of a replayed channel are
/// sent again.
#[tokio::test]
async fn each_channel_resumes_from_its_own_cursor() {
    let directory = tempfile::tempdir().unwrap();
    let (host, path) = FakeHost::listen(directory.path());
    let [one, two, three, four] = SESSIONS;
    let play = async {
        let mut connection = host.accept().await;
        connection.answer_initialize().await;
        connection.send_action(two, 5, "fast").await;
        // The host does not answer the actions on the first and third channel.
        connection.receive().await;
        connection.receive().await;
        drop(connection);

        let mut connection = host.accept().await;
        let result = json!({"channels": [
            {"kind": "snapshot", "channel": three, "snapshot": snapshot(three, 9, "shown")},
            {"kind": "missing", "channel": four},
            {"kind": "replay", "channel": two, "actions": [envelope(two, 8, "second")]},
            {"kind": "replay", "channel": one, "actions": [envelope(one, 7, "first")]},
        ]});
        let params = connection.answer("reconnect", "result", result).await;
        let cursor =
            |channel: &str, seq: u64| json!({"channel": channel, "lastSeenServerSeq": seq});
        let expected = json!({
            "channel": "ahp-root://", "clientId": "a",
            "subscriptions": [cursor(one, 1), cursor(two, 5), cursor(three, 1), cursor(four, 1)],
        });
        assert_eq!(params, expected);
        // The replay lacks this action, so it is sent again. The other one is not: the snapshot
        // does not tell whether the host has applied it.
        let again = connection.receive().await;
        assert_eq!(again["method"], "dispatchAction");
        assert_eq!(again["params"]["channel"], one);
        drop(connection);

        // Each cursor was advanced by the outcome of its own channel.
        let mut connection = host.accept().await;
        let request = connection.receive().await;
        let expected = json!([cursor(one, 7), cursor(two, 8), cursor(three, 9)]);
        assert_eq!(request["params"]["subscriptions"], expected);
    };
    let use_it = async {
        let mut client = connect(&path).await;
        assert!(matches!(
            client.next_update().await.unwrap(),
            ClientUpdate::Action(_)
        ));
        dispatch(&mut client, one, "mine").await;
        dispatch(&mut client, three, "lost").await;
        assert_eq!(titles(&client), ["mine", "fast", "lost", ""]);
        assert!(matches!(
            client.next_update().await.unwrap(),
            ClientUpdate::Disconnected
        ));
        assert!(matches!(
            client.next_update().await.unwrap(),
            ClientUpdate::Reconnected
        ));
        // Replayed actions arrive in the order of their sequence numbers, across channels.
        for expected in [7, 8] {
            let ClientUpdate::Action(envelope) = client.next_update().await.unwrap() else {
                panic!("expected an action");
            };
            assert_eq!(envelope.server_seq.0, expected);
        }
        let ClientUpdate::Resynced {
            channels,
            unconfirmed: open,
        } = client.next_update().await.unwrap()
        else {
            panic!("expected what starts again");
        };
        assert_eq!(channels, [Uri::from(three)]);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].0, Uri::from(three));
        assert_eq!(titles(&client), ["mine", "second", "shown", "gone"]);
        assert!(matches!(
            client.next_update().await.unwrap(),
            ClientUpdate::Disconnected
        ));
        // The host does not answer the second reconnect, so this never returns.
        client.next_update().await
    };
    tokio::select! {
        () = play => {}
        _ = use_it => panic!("nothing more should come"),
    }
}

/// One host agrees on 1.1.0 but rejects cursors, as 1.0 does; another one ignores them, and its
/// answer is useless. The client repeats the request to both without cursors.
#[tokio::test]
async fn reconnect_falls_back_to_a_request_without_cursors() {
    let invalid = json!({"code": -32602, "message": "subscriptions[0]: expected a string"});
    let blind = json!({"type": "replay", "actions": [], "missing": []});
    for (outcome, answer) in [("error", invalid), ("result", blind)] {
        let directory = tempfile::tempdir().unwrap();
        let (host, path) = FakeHost::listen(directory.path());
        let play = async {
            let mut connection = host.accept().await;
            connection.answer_initialize().await;
            drop(connection);
            let mut connection = host.accept().await;
            let params = connection.answer("reconnect", outcome, answer).await;
            assert!(params["subscriptions"][0].is_object());
            let mut connection = host.accept().await;
            let actions = json!([envelope(SESSIONS[0], 7, "told")]);
            let replay = json!({"type": "replay", "actions": actions, "missing": [SESSIONS[3]]});
            let params = connection.answer("reconnect", "result", replay).await;
            assert_eq!(params["subscriptions"], json!(SESSIONS));
            assert_eq!(params["lastSeenServerSeq"], 1);
            drop(connection);
            // Cursors are not tried again.
            let mut connection = host.accept().await;
            let request = connection.receive().await;
            assert_eq!(request["params"]["subscriptions"], json!(SESSIONS[..3]));
            assert_eq!(request["params"]["lastSeenServerSeq"], 7);
        };
        let use_it = async {
            let mut client = connect(&path).await;
            assert!(matches!(
                client.next_update().await.unwrap(),
                ClientUpdate::Disconnected
            ));
            assert!(matches!(
                client.next_update().await.unwrap(),
                ClientUpdate::Reconnected
            ));
            assert!(matches!(
                client.next_update().await.unwrap(),
                ClientUpdate::Action(_)
            ));
            assert_eq!(titles(&client), ["told", "", "", "gone"]);
            assert!(matches!(
                client.next_update().await.unwrap(),
                ClientUpdate::Disconnected
            ));
            client.next_update().await
        };
        tokio::select! {
            () = play => {}
            _ = use_it => panic!("nothing more should come"),
        }
    }
}
