//! Every kind of event in a chat, from a scripted agent to the official client.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_server::{Server, serve};
use agenthost_testkit::ScriptedAgent;
use ahp::Client;
use ahp_types::actions::StateAction;
use ahp_types::state::SnapshotState;
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{
    Mirror, SESSION, chat_uri, comparable_chat, config, create_session, dispatch, join, start_turn,
};

/// A session of the scripted agent, with an official client that is subscribed to its chat.
struct ScriptedSession {
    agent: ScriptedAgent,
    server: Server,
    client: Client,
    mirror: Mirror,
    _directory: tempfile::TempDir,
}

impl ScriptedSession {
    async fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let agent = ScriptedAgent::default();
        let server = start(directory.path(), &agent).await;
        let client = join(&server, "one").await;
        create_session(&client).await;
        let mirror = Mirror::open(&client).await;
        ScriptedSession {
            agent,
            server,
            client,
            mirror,
            _directory: directory,
        }
    }

    /// Runs a script as a turn and dispatches what `react` returns for each action. Asserts that
    /// the mirror equals the host's state at the end.
    async fn run_turn(
        &mut self,
        turn: &str,
        script: &str,
        react: impl FnMut(&StateAction) -> Option<Value>,
    ) -> Value {
        run_turn(&self.client, &mut self.mirror, turn, script, react).await
    }
}

async fn start(directory: &Path, agent: &ScriptedAgent) -> Server {
    let mut config = config(directory);
    config.agents = vec![Arc::new(agent.clone())];
    serve(config).await.unwrap()
}

/// Returns a new snapshot of a channel.
async fn snapshot(client: &Client, channel: &str) -> Value {
    let (result, _) = client.subscribe(channel.to_owned()).await.unwrap();
    match result.snapshot.unwrap().state {
        SnapshotState::Chat(chat) => comparable_chat(&chat),
        SnapshotState::Session(session) => serde_json::to_value(&session).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn run_turn(
    client: &Client,
    mirror: &mut Mirror,
    turn: &str,
    script: &str,
    mut react: impl FnMut(&StateAction) -> Option<Value>,
) -> Value {
    start_turn(client, turn, script).await;
    loop {
        let action = mirror.next().await;
        if let Some(answer) = react(&action) {
            dispatch(client, answer).await;
        }
        if matches!(
            action,
            StateAction::ChatTurnComplete(_)
                | StateAction::ChatTurnCancelled(_)
                | StateAction::ChatError(_)
        ) {
            break;
        }
    }
    // Actions that follow the end of the turn are part of the state, too.
    tokio::time::sleep(Duration::from_millis(50)).await;
    while let Ok(action) = tokio::time::timeout(Duration::from_millis(20), mirror.next()).await {
        assert!(react(&action).is_none());
    }
    let host = snapshot(client, &chat_uri()).await;
    assert_eq!(mirror.json(), host, "{script}");
    host["turns"].as_array().unwrap().last().unwrap().clone()
}

/// Returns the states of a turn's tool calls, by id.
fn calls(turn: &Value) -> Value {
    let parts = turn["responseParts"].as_array().unwrap();
    let calls = parts.iter().filter(|part| part["kind"] == "toolCall");
    let states = calls.map(|part| {
        let call = &part["toolCall"];
        let name = call["toolCallId"].as_str().unwrap().to_owned();
        (name, call["status"].clone())
    });
    Value::Object(states.collect())
}

#[tokio::test]
async fn tool_calls_reach_every_final_status() {
    let mut stage = ScriptedSession::set().await;
    let confirm = |id: &str, more: Value| {
        let mut action = json!({"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": id});
        let fields = action.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        action
    };
    let script = r#"
        think hm
        say hello
        call yes read ask
        wait
        + done yes
        call no write ask
        wait
        - say as you wish
        call edited write ask
        wait
        + done edited
        call again write run
        chat/toolCallContentChanged {"toolCallId": "again", "content": [{"type": "text", "text": "half"}]}
        chat/toolCallReady {"toolCallId": "again", "invocationMessage": "really?", "riskAssessment": {"kind": "judge", "status": "complete", "reason": "bold", "safety": 0.2}}
        wait
        + failed again
        call held read run
        chat/toolCallComplete {"toolCallId": "held", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Read"}}
        wait
        - say never mind
        call open read ask
    "#;
    let mut asked = 0;
    let turn = stage.run_turn("t", script, |action| match action {
        StateAction::ChatToolCallReady(ready) if ready.confirmed.is_none() => {
            asked += 1;
            match ready.tool_call_id.as_str() {
                "yes" => Some(confirm(
                    "yes",
                    json!({"approved": true, "confirmed": "user-action", "selectedOptionId": "once"}),
                )),
                "no" => Some(confirm(
                    "no",
                    json!({"approved": false, "reason": "denied", "userSuggestion": {"text": "rather not", "origin": {"kind": "user"}}}),
                )),
                "edited" => Some(confirm(
                    "edited",
                    json!({"approved": true, "confirmed": "user-action", "editedToolInput": "other"}),
                )),
                "again" => Some(confirm(
                    "again",
                    json!({"approved": true, "confirmed": "user-action"}),
                )),
                // The call `open` is not answered before the turn ends.
                _ => None,
            }
        }
        StateAction::ChatToolCallComplete(complete) if complete.tool_call_id == "held" => {
            Some(json!({"type": "chat/toolCallResultConfirmed", "turnId": "t", "toolCallId": "held", "approved": false}))
        }
        _ => None,
    })
    .await;
    assert_eq!(asked, 5);
    assert_eq!(
        calls(&turn),
        json!({"yes": "completed", "no": "cancelled", "edited": "completed", "again": "completed", "held": "cancelled", "open": "cancelled"})
    );
    let heard = stage.agent.received_commands().join("\n");
    for wanted in [
        "rather not",
        "Some(\"other\")",
        "ResultDenied",
        "option: Some(\"once\")",
    ] {
        assert!(heard.contains(wanted), "{wanted} in {heard}");
    }
    let session = snapshot(&stage.client, SESSION).await;
    assert_eq!(session.get("inputNeeded"), None, "nothing is waited for");
    stage.server.stop().await.unwrap();
}

#[tokio::test]
async fn input_requests_and_client_tools_are_answered() {
    let mut stage = ScriptedSession::set().await;
    let offer: StateAction = serde_json::from_value(
        json!({"type": "session/activeClientSet", "activeClient": {"clientId": "one", "tools": [{"name": "look"}]}}),
    )
    .unwrap();
    stage
        .client
        .dispatch(SESSION.to_owned(), offer)
        .await
        .unwrap();
    let script = r#"
        form q {"message": "Who?", "questions": [{"kind": "text", "id": "name", "message": "Name?", "required": true}]}
        wait
        + say thank you
        call c look for one
        wait
        + say it is there
        chat/usage {"usage": {"inputTokens": 7, "outputTokens": 3}}
        steered nothing
        resumable
        say and on it goes
    "#;
    let turn = stage.run_turn("t", script, |action| match action {
        StateAction::ChatInputRequested(_) => Some(json!({"type": "chat/inputCompleted", "requestId": "q", "response": "accept", "answers": {"name": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}}})),
        StateAction::ChatToolCallReady(_) => Some(json!({"type": "chat/toolCallComplete", "turnId": "t", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Looked"}})),
        _ => None,
    })
    .await;
    assert_eq!(turn["state"], "error");
    assert_eq!(calls(&turn), json!({"c": "completed"}));
    let heard = stage.agent.received_commands().join("\n");
    assert!(
        heard.contains("\"Ada\"") && heard.contains("CompleteToolCall"),
        "{heard}"
    );
    let session = snapshot(&stage.client, SESSION).await;
    let totals = &session["_meta"]["agenthost.usage"];
    assert_eq!(totals["inputTokens"], 7);
    assert_eq!(totals["chats"][chat_uri()]["outputTokens"], 3);
    // The resumed turn continues after its error, under the same id.
    dispatch(
        &stage.client,
        json!({"type": "chat/turnResume", "turnId": "t"}),
    )
    .await;
    stage
        .mirror
        .until(|action| matches!(action, StateAction::ChatTurnResume(_)))
        .await;
    stage.mirror.until_end().await;
    let turns = stage.mirror.json()["turns"].clone();
    let parts = turns[0]["responseParts"].as_array().unwrap();
    let last = parts.last().unwrap();
    assert_eq!(
        (&turns[0]["state"], &last["content"]),
        (&json!("complete"), &json!("and on it goes\n"))
    );
    stage.server.stop().await.unwrap();
}

#[tokio::test]
async fn clients_can_subscribe_to_worker_chats() {
    let mut stage = ScriptedSession::set().await;
    let script = r#"
        call c task run
        worker ahp-chat:/w c read-only
        in ahp-chat:/w begin w {"text": "find it", "origin": {"kind": "tool"}}
        in ahp-chat:/w chat/responsePart {"turnId": "w", "part": {"kind": "markdown", "id": "p", "content": "found"}}
        in ahp-chat:/w end w
        done c
    "#;
    let turn = stage.run_turn("t", script, |_| None).await;
    let content = &turn["responseParts"][0]["toolCall"]["content"];
    assert_eq!(content[0]["resource"], "ahp-chat:/w", "{turn}");
    let worker = snapshot(&stage.client, "ahp-chat:/w").await;
    assert_eq!(worker["origin"]["toolCallId"], "c");
    assert_eq!(worker["interactivity"], "read-only");
    assert_eq!(worker["turns"][0]["responseParts"][0]["content"], "found");
    stage.server.stop().await.unwrap();
}

/// A script that can't be parsed and an agent that crashes end the turn, but not the host.
#[tokio::test]
async fn a_crashed_agent_ends_only_its_turn() {
    let mut stage = ScriptedSession::set().await;
    for (turn, script) in [("t1", "chat/nonsense {}"), ("t2", "say a\nbreak")] {
        let turn = stage.run_turn(turn, script, |_| None).await;
        assert_eq!(turn["state"], "error", "{turn}");
    }
    let turn = stage.run_turn("t3", "say again", |_| None).await;
    assert_eq!(turn["state"], "complete");
    stage.server.stop().await.unwrap();
}

/// CMP-1 to CMP-3 with a real folder: every completion request is answered, however many are sent
/// at once.
#[tokio::test]
async fn file_names_are_completed_in_messages() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.rs"), "").unwrap();
    std::fs::write(folder.path().join(".gitignore"), "maintenance\n").unwrap();
    std::fs::write(folder.path().join("maintenance"), "").unwrap();
    let server = start(directory.path(), &ScriptedAgent::default()).await;
    let mut raw = Raw::connect(&server).await;
    let initialized = raw
        .request(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","clientId":"a","protocolVersions":["1.0.0"]}}"#)
        .await;
    assert_eq!(
        initialized["result"]["completionTriggerCharacters"],
        json!(["@", "/"])
    );
    let place = format!("file://{}", folder.path().display());
    let create = json!({"jsonrpc": "2.0", "id": 1, "method": "createSession", "params": {"channel": SESSION, "workingDirectories": [place]}});
    raw.request(&create.to_string()).await;
    let ask = |id: u64| {
        let params =
            json!({"channel": chat_uri(), "kind": "userMessage", "text": "see @mai", "offset": 8});
        json!({"jsonrpc": "2.0", "id": id, "method": "completions", "params": params}).to_string()
    };
    let answer = raw.request(&ask(2)).await;
    let items = answer["result"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{answer}");
    assert_eq!(items[0]["insertText"], "@main.rs");
    assert_eq!(
        (&items[0]["rangeStart"], &items[0]["rangeEnd"]),
        (&json!(4), &json!(8))
    );
    assert_eq!(items[0]["attachment"]["uri"], format!("{place}/main.rs"));
    for id in 10..60 {
        raw.send(&ask(id)).await;
    }
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < 50 {
        let answer = raw.receive().await.unwrap();
        let id = answer["id"].as_u64().unwrap();
        assert!(
            answered.insert(id) && answer["result"]["items"].is_array(),
            "{answer}"
        );
    }
    server.stop().await.unwrap();
}
