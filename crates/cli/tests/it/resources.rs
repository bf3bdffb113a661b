//! Content that the host reads from a client of ours, and content that the host stores.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_client::{Client, ClientError, ClientUpdate, ResourceProvider};
use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceReadParams, ResourceReadResult, ResourceRequestParams,
    ResourceResolveParams, ResourceWriteParams,
};
use agenthost_protocol::rpc::{Empty, ErrorCode, RpcError};
use agenthost_protocol::session::{CreateSessionParams, DisposeSessionParams};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Wire};
use agenthost_server::{Server, ServerConfig, serve};
use agenthost_testkit::ScriptedAgent;
use serde_json::json;

use crate::reconnect::connect;

const SESSION: &str = "ahp-session:/s1";

/// A client with unsaved text, which can be read only after a permission request.
struct Editor {
    granted: bool,
}

impl ResourceProvider for Editor {
    fn read(&mut self, params: ResourceReadParams) -> Result<ResourceReadResult, RpcError> {
        match params.uri.as_str() {
            "editor:/1" if self.granted => Ok(ResourceReadResult {
                data: "unsaved".to_owned(),
                encoding: ContentEncoding::Utf8,
                content_type: None,
            }),
            "editor:/1" => Err(RpcError::new(ErrorCode::PermissionDenied, "ask first")),
            _ => Err(RpcError::new(ErrorCode::NotFound, "no such editor")),
        }
    }

    fn request(&mut self, params: ResourceRequestParams) -> Result<Empty, RpcError> {
        assert_eq!((params.read, params.write), (Some(true), None));
        self.granted = true;
        Ok(Empty {})
    }
}

fn read<T: Wire>(json: Json) -> T {
    wire::from_str(&json.to_string()).unwrap()
}

async fn start(directory: &Path, agent: &ScriptedAgent) -> Server {
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(agent.clone())];
    serve(config).await.unwrap()
}

/// Creates a session, waits until it is ready, and subscribes to it and to its chat. Returns the
/// chat.
async fn open(client: &mut Client) -> Uri {
    let session = Uri::from(SESSION);
    let create: CreateSessionParams = read(json!({"channel": SESSION}));
    client.request(create).await.unwrap();
    client.subscribe(&session).await.unwrap();
    let ready = |client: &Client| match client.confirmed_state(&session) {
        Some(ChannelState::Session(state)) => {
            state.lifecycle == agenthost_protocol::session::SessionLifecycle::Ready
        }
        _ => false,
    };
    while !ready(client) {
        next(client).await;
    }
    let Some(ChannelState::Session(state)) = client.confirmed_state(&session) else {
        panic!("the session is not followed");
    };
    let chat = state.default_chat.clone().unwrap();
    client.subscribe(&chat).await.unwrap();
    chat
}

async fn next(client: &mut Client) -> ClientUpdate {
    let next = tokio::time::timeout(Duration::from_secs(20), client.next_update());
    next.await.unwrap().unwrap()
}

async fn run_turn(client: &mut Client, chat: &Uri, id: &str, text: &str, attachments: Json) {
    let message = json!({"text": text, "origin": {"kind": "user"}, "attachments": attachments});
    let turn: Action = read(json!({
        "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z",
        "message": message,
    }));
    client.dispatch(chat, turn).await.unwrap();
    until_over(client).await;
}

async fn until_over(client: &mut Client) {
    loop {
        match next(client).await {
            ClientUpdate::Action(envelope) => {
                if let ReceivedAction::Valid(Action::Chat(ChatAction::TurnComplete(_))) =
                    &envelope.action
                {
                    return;
                }
            }
            ClientUpdate::Rejected { reason, .. } => panic!("{reason}"),
            _ => {}
        }
    }
}

/// Returns the attachments that the agent received.
fn attached(agent: &ScriptedAgent) -> Vec<String> {
    let heard = agent.received_commands();
    let attached = heard
        .into_iter()
        .filter(|line| line.starts_with("AddAttachment"));
    attached.collect()
}

/// RES-1, RES-17, RES-18: content that only a client has reaches the agent. A client serves nothing
/// by default, and the turn proceeds without the content.
#[tokio::test]
async fn a_client_serves_the_resources_that_it_attaches() {
    let directory = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::default();
    let server = start(directory.path(), &agent).await;
    let mut client = connect(directory.path(), "editor").await;
    let chat = open(&mut client).await;
    let attachments = json!([
        {"type": "resource", "label": "one", "uri": "editor:/1"},
        {"type": "resource", "label": "two", "uri": "editor:/2"},
    ]);
    run_turn(&mut client, &chat, "t1", "say hi", attachments.clone()).await;
    client.serve_resources(Editor { granted: false });
    run_turn(&mut client, &chat, "t2", "say hi", attachments).await;
    let heard = attached(&agent);
    assert_eq!(heard.len(), 4, "{heard:?}");
    for unserved in &heard[..2] {
        assert!(unserved.contains("does not serve"), "{unserved}");
    }
    assert!(heard[2].contains("bytes: 7"), "{}", heard[2]);
    assert!(heard[3].contains("no such editor"), "{}", heard[3]);
    let prompts = agent.received_commands();
    let last = prompts.iter().rposition(|line| line.starts_with("Prompt"));
    let attached = prompts
        .iter()
        .rposition(|line| line.starts_with("AddAttachment"));
    assert!(last > attached, "the agent gets all of it first");
    server.stop().await.unwrap();
}

async fn resource(client: &mut Client, uri: &Uri) -> Result<ResourceReadResult, ClientError> {
    let params: ResourceReadParams = read(json!({"channel": "ahp-root://", "uri": uri}));
    client.request(params).await
}

/// PRT-4, RES-15: a large result is not part of the state. Any client can read it, even after a
/// restart, until its session is disposed.
#[tokio::test]
async fn a_large_result_can_be_read_by_any_client() {
    let directory = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::default();
    let server = start(directory.path(), &agent).await;
    let mut client = connect(directory.path(), "one").await;
    let chat = open(&mut client).await;
    let long = "0123456789".repeat(10_000);
    let result = json!({
        "success": true, "pastTenseMessage": "Looked",
        "content": [{"type": "text", "text": long}],
    });
    let complete = json!({"toolCallId": "c", "result": result});
    let script = format!("call c look run\nchat/toolCallComplete {complete}");
    run_turn(&mut client, &chat, "t1", &script, json!([])).await;
    let Some(ChannelState::Chat(state)) = client.confirmed_state(&chat) else {
        panic!("the chat is not followed");
    };
    let turn = wire::to_json(state.turns.last_item().unwrap());
    let content = &turn["responseParts"][0]["toolCall"]["content"];
    assert_eq!(content[0]["text"], long[..4_096]);
    assert_eq!(content[1]["type"], "resource");
    assert_eq!(content[1]["sizeHint"], 100_000);
    assert_eq!(content.as_array().unwrap().len(), 2);
    let uri = Uri::from(content[1]["uri"].as_str().unwrap());
    drop(client);
    server.stop().await.unwrap();

    let server = start(directory.path(), &agent).await;
    let mut other = connect(directory.path(), "two").await;
    let found = resource(&mut other, &uri).await.unwrap();
    assert_eq!(found.data, long);
    assert_eq!(found.content_type.as_deref(), Some("text/plain"));
    let resolve: ResourceResolveParams = read(json!({"channel": "ahp-root://", "uri": uri}));
    let resolved = other.request(resolve).await.unwrap();
    assert_eq!(resolved.size, Some(100_000));
    let write = json!({"channel": "ahp-root://", "uri": uri, "data": "", "encoding": "utf-8"});
    let write = other.request(read::<ResourceWriteParams>(write)).await;
    assert_eq!(write.unwrap_err().code(), Some(ErrorCode::PermissionDenied));
    let up = Uri::from(format!("{uri}/../../.."));
    let up = resource(&mut other, &up).await.unwrap_err();
    assert_eq!(up.code(), Some(ErrorCode::InvalidParams));
    let dispose: DisposeSessionParams = read(json!({"channel": SESSION}));
    other.request(dispose).await.unwrap();
    let gone = resource(&mut other, &uri).await.unwrap_err();
    assert_eq!(gone.code(), Some(ErrorCode::NotFound));
    server.stop().await.unwrap();
}

/// TOO-10, TOO-11: a client that receives edited arguments can read them at once.
#[tokio::test]
async fn edited_arguments_are_readable_when_they_are_published() {
    let directory = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::default();
    let server = start(directory.path(), &agent).await;
    let mut client = connect(directory.path(), "one").await;
    let chat = open(&mut client).await;
    let old = format!(
        "agenthost-content:/{}/{}/args.json",
        "0".repeat(32),
        "0".repeat(64)
    );
    let begin = json!({"toolCallId": "c", "toolName": "look", "displayName": "Look"});
    let ready = json!({
        "toolCallId": "c", "invocationMessage": "Look", "editable": true,
        "toolInput": {"uri": old, "nonce": "0"},
    });
    let script = format!("chat/toolCallStart {begin}\nchat/toolCallReady {ready}\nwait\n+ done c");
    let message = json!({"text": script, "origin": {"kind": "user"}});
    let turn: Action = read(json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-05T09:00:00Z",
        "message": message,
    }));
    client.dispatch(&chat, turn).await.unwrap();
    let mut asked = false;
    let edited = loop {
        let ClientUpdate::Action(envelope) = next(&mut client).await else {
            continue;
        };
        match &envelope.action {
            ReceivedAction::Valid(Action::Chat(ChatAction::ToolCallReady(ready))) if asked => {
                let input = wire::to_json(ready.tool_input.as_ref().unwrap());
                break input["uri"].as_str().unwrap().to_owned();
            }
            ReceivedAction::Valid(Action::Chat(ChatAction::ToolCallReady(_))) => {
                asked = true;
                let confirm: Action = read(json!({
                    "type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c",
                    "approved": true, "editedToolInput": "{\"deep\": true}",
                }));
                client.dispatch(&chat, confirm).await.unwrap();
            }
            _ => {}
        }
    };
    assert_ne!(edited, old);
    let found = resource(&mut client, &Uri::from(edited)).await.unwrap();
    assert_eq!(found.data, "{\"deep\": true}");
    until_over(&mut client).await;
    let heard = agent.received_commands();
    let decided = heard
        .iter()
        .find(|line| line.starts_with("DecideToolCall"))
        .unwrap();
    assert!(decided.contains("deep"), "{decided}");
    server.stop().await.unwrap();
}
