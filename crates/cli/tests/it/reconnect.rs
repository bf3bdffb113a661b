//! A client that cancels every wait after a moment, while its host stops and starts again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_client::{Client, ClientOptions, ClientUpdate, HostAddress};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{CreateSessionParams, DisposeSessionParams};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_server::{HOST_FILE, Server, ServerConfig, serve};
use agenthost_testkit::ScriptedAgent;
use serde_json::json;

pub(crate) async fn start(directory: &Path) -> Server {
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    serve(config).await.unwrap()
}

/// Connects to the host that runs on a directory.
pub(crate) async fn connect(directory: &Path, name: &str) -> Client {
    let hello = ClientOptions {
        client_id: ClientId::from(name),
        info: Implementation {
            name: name.to_owned(),
            version: None,
            title: None,
        },
        subscriptions: Vec::new(),
        reconnect_timeout: Duration::from_secs(60),
    };
    let address = HostAddress::ReadyFile(directory.join(HOST_FILE));
    Client::connect(&address, hello).await.unwrap()
}

fn turn(id: &str, text: &str) -> Action {
    let message = json!({"text": text, "origin": {"kind": "user"}});
    let turn = json!({
        "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z",
        "message": message,
    });
    wire::from_str(&turn.to_string()).unwrap()
}

fn turns(client: &Client, chat: &Uri) -> Vec<String> {
    let Some(ChannelState::Chat(state)) = client.confirmed_state(chat) else {
        panic!("the chat is not followed");
    };
    state
        .turns
        .items()
        .map(|turn| turn.id.to_string())
        .collect()
}

#[tokio::test]
async fn cancelled_waits_lose_no_actions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path).await;
    let mut client = connect(path, "one").await;
    let session = Uri::from("ahp-session:/s");
    let create: CreateSessionParams =
        wire::from_str(&json!({"channel": session}).to_string()).unwrap();
    client.request(create).await.unwrap();
    let chat = Uri::from("ahp-chat://default/YWhwLXNlc3Npb246L3M");
    client.subscribe(&chat).await.unwrap();
    let mut expected = Vec::new();
    let mut server = Some(server);
    let (mut lost, mut back) = (0, 0);
    for round in 0..5 {
        server.take().unwrap().stop().await.unwrap();
        // Once the client has lost its connection, it dispatches an action nevertheless.
        loop {
            let waited = tokio::time::timeout(Duration::from_millis(1), client.next_update()).await;
            if let Ok(update) = waited
                && matches!(update.unwrap(), ClientUpdate::Disconnected)
            {
                break;
            }
        }
        lost += 1;
        let own = format!("own-{round}");
        let sent = client.dispatch(&chat, turn(&own, "say hello")).await;
        sent.unwrap();
        assert!(client.is_disconnected() && client.unconfirmed_count() == 1);
        // The client keeps cancelling its waits while the host starts.
        let (next, ()) = tokio::join!(start(path), async {
            for _ in 0..100 {
                let waited =
                    tokio::time::timeout(Duration::from_millis(1), client.next_update()).await;
                back += usize::from(matches!(waited, Ok(Ok(ClientUpdate::Reconnected))));
            }
        });
        server = Some(next);
        expected.push(own.clone());
        let mut tries = 0;
        while turns(&client, &chat) != expected {
            let waited = tokio::time::timeout(Duration::from_millis(1), client.next_update()).await;
            back += usize::from(matches!(waited, Ok(Ok(ClientUpdate::Reconnected))));
            tries += 1;
            assert!(
                tries < 20_000,
                "{:?} and not {expected:?}",
                turns(&client, &chat)
            );
        }
    }
    assert_eq!((lost, back), (5, 5));
    let mut other = connect(path, "two").await;
    other.subscribe(&chat).await.unwrap();
    assert_eq!(client.confirmed_state(&chat), other.confirmed_state(&chat));
    assert_eq!(client.unconfirmed_count(), 0);
    server.unwrap().stop().await.unwrap();
}

fn title(client: &Client, session: &Uri) -> String {
    let Some(ChannelState::Session(state)) = client.confirmed_state(session) else {
        panic!("the session is not followed");
    };
    state.metadata.title.clone()
}

/// A session that was recreated at the same URI is resynced, and actions in another session are
/// replayed.
#[tokio::test]
async fn each_session_resumes_independently() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path).await;
    let mut client = connect(path, "one").await;
    let (again, other) = (
        Uri::from("ahp-session:/again"),
        Uri::from("ahp-session:/other"),
    );
    let create = |session: &Uri| -> CreateSessionParams {
        wire::from_str(&json!({"channel": session}).to_string()).unwrap()
    };
    for session in [&again, &other] {
        client.request(create(session)).await.unwrap();
        client.subscribe(session).await.unwrap();
    }
    server.stop().await.unwrap();
    let server = start(path).await;
    // The first client makes no progress unless it is polled, so it misses all of this.
    let mut second = connect(path, "two").await;
    let dispose = json!({"channel": again});
    let dispose: DisposeSessionParams = wire::from_str(&dispose.to_string()).unwrap();
    second.request(dispose).await.unwrap();
    second.request(create(&again)).await.unwrap();
    second.subscribe(&other).await.unwrap();
    let renamed = json!({"type": "session/titleChanged", "title": "renamed"});
    let renamed: Action = wire::from_str(&renamed.to_string()).unwrap();
    second.dispatch(&other, renamed).await.unwrap();
    while title(&second, &other) != "renamed" {
        second.next_update().await.unwrap();
    }
    let mut told = Vec::new();
    let channels = loop {
        match client.next_update().await.unwrap() {
            ClientUpdate::Action(envelope) => told.push(envelope.channel.clone()),
            ClientUpdate::Resynced { channels, .. } => break channels,
            _ => {}
        }
    };
    assert_eq!(channels, [again]);
    assert!(told.contains(&other));
    assert_eq!(title(&client, &other), "renamed");
    server.stop().await.unwrap();
}
