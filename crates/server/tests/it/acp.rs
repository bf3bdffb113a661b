//! An agent that speaks ACP, through the host to the official client.

use std::sync::Arc;

use agenthost_acp::{AcpAgent, AcpService, AgentLaunch};
use agenthost_server::serve;
use agenthost_testkit::acp_agent;
use ahp_types::actions::StateAction;
use serde_json::{Value, json};

use crate::test_server::{
    Mirror, SESSION, chat_uri, config, create_session, dispatch, folder, join, start_turn,
};

/// The process that is the agent; nothing to test.
#[test]
fn the_agent() {
    acp_agent::run_as_agent();
}

pub(crate) fn agent(how: &str) -> AcpAgent {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let launch = AgentLaunch {
        program,
        arguments,
        environment: vec![(acp_agent::AGENT_MODE_VARIABLE.to_owned(), how.to_owned())],
    };
    AcpAgent::new("scripted", "Scripted", launch)
}

/// The parts of the last turn, each in a word or two.
fn parts(chat: &Value) -> Vec<String> {
    let turn = chat["turns"].as_array().unwrap().last().unwrap();
    let parts = turn["responseParts"].as_array().unwrap().iter();
    let parts = parts.map(|part| match part["kind"].as_str().unwrap() {
        "toolCall" => {
            let call = &part["toolCall"];
            format!("{} {}", call["displayName"], call["status"]).replace('"', "")
        }
        "error" => format!("error: {}", part["error"]["message"].as_str().unwrap()),
        kind => format!("{kind}: {}", part["content"].as_str().unwrap()),
    });
    parts.collect()
}

const ASK: &str = r#"ask {"toolCall": {"toolCallId": "c1", "title": "Edit a", "rawInput": {"path": "a"},
    "content": [{"type": "diff", "path": "/tmp/a", "oldText": "one", "newText": "two"}]},
    "options": [{"optionId": "once", "name": "Once", "kind": "allow_once"}, {"optionId": "all", "name": "Always", "kind": "allow_always"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]}"#;

#[tokio::test]
async fn a_turn_of_an_acp_agent_reaches_a_client() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(
        agent("early modes").with_pid_dir(&config.pid_dir()),
    )];
    let server = serve(config).await.unwrap();
    let client = join(&server, "one").await;
    create_session(&client).await;
    let mut mirror = Mirror::open(&client).await;

    let ask = ASK.replace('\n', " ");
    let done =
        r#"update {"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}"#;
    let title = r#"after update {"sessionUpdate":"session_info_update","title":"About a"}"#;
    start_turn(
        &client,
        "t1",
        &format!("think hm\nsay I edit.\n{ask}\n{done}\nsay Done.\n{title}"),
    )
    .await;
    let ready = mirror
        .until(|action| matches!(action, StateAction::ChatToolCallReady(_)))
        .await;
    let ready = serde_json::to_value(&ready).unwrap();
    assert_eq!(ready["options"][1]["id"], "all");
    let uri = ready["edits"]["items"][0]["before"]["content"]["uri"].clone();
    let params = json!({"channel": "ahp-root://", "uri": uri});
    let read: Value = client.request("resourceRead", params).await.unwrap();
    assert_eq!(read["data"], "one");
    dispatch(
        &client,
        json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1",
        "approved": true, "confirmed": "user-action", "selectedOptionId": "all"}),
    )
    .await;
    mirror.until_end().await;
    let expected = [
        "reasoning: hm",
        "markdown: I edit.",
        "Edit a completed",
        "markdown: allDone.",
    ];
    assert_eq!(parts(&mirror.json()), expected);

    start_turn(&client, "t2", "say hm;; die no more memory").await;
    mirror.until_end().await;
    let expected = ["markdown: hm", "error: the agent ended: no more memory"];
    assert_eq!(parts(&mirror.json()), expected);

    // The options of the agent are values of the session, its name the title.
    let (result, _) = client.subscribe(SESSION.to_owned()).await.unwrap();
    let session = serde_json::to_value(result.snapshot.unwrap().state).unwrap();
    assert_eq!(session["config"]["values"]["mode"], "ask");
    assert_eq!(session["config"]["values"].get("model"), None);
    assert_eq!(session["title"], "About a");
    let params = json!({"channel": "ahp-root://", "provider": "scripted", "property": "mode"});
    let offered: Value = client
        .request("sessionConfigCompletions", params)
        .await
        .unwrap();
    assert_eq!(offered["items"][1]["value"], "do");
    let params = json!({"channel": chat_uri(), "kind": "userMessage", "text": "/f", "offset": 2});
    let commands: Value = client.request("completions", params).await.unwrap();
    assert_eq!(commands["items"][0]["insertText"], "/fix");
    server.stop().await.unwrap();
}

/// TER-8, TOO-24, TOO-25: what an agent has the host run is watched while it
/// runs, typed into, and read when it is over.
#[tokio::test]
async fn a_client_uses_the_terminal_of_an_agent_command() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    let agent = agent("").with_pid_dir(&config.pid_dir());
    config.agents = vec![Arc::new(agent.with_service(AcpService::Terminals))];
    let server = serve(config).await.unwrap();
    let client = join(&server, "one").await;
    create_session(&client).await;
    let mut mirror = Mirror::open(&client).await;

    let call = |kind: &str, more: &str| {
        format!(r#"update {{"sessionUpdate":"{kind}","toolCallId":"c1","title":"Ask"{more}}}"#)
    };
    let shown =
        r#","status":"in_progress","content":[{"type":"terminal","terminalId":"terminal-1"}]"#;
    let script = [
        call("tool_call", ""),
        r#"call terminal/create {"command":"echo who?; read name; echo hello $name; exit 3"}"#
            .to_owned(),
        call("tool_call_update", shown),
        r#"call terminal/wait_for_exit {"terminalId":"$1"}"#.to_owned(),
        call("tool_call_update", r#","status":"failed""#),
    ];
    start_turn(&client, "t1", &script.join("\n")).await;
    let changed = mirror
        .until(|action| matches!(action, StateAction::ChatToolCallContentChanged(_)))
        .await;
    let changed = serde_json::to_value(&changed).unwrap();
    let terminal = changed["content"][0]["resource"]
        .as_str()
        .unwrap()
        .to_owned();
    let (result, _watching) = client.subscribe(terminal.clone()).await.unwrap();
    let state = serde_json::to_value(result.snapshot.unwrap().state).unwrap();
    assert_eq!(state["isPty"], true);
    assert_eq!(state["cwd"], json!(folder()));
    assert_eq!(state["claim"]["turnId"], "t1");
    let typed = json!({"type": "terminal/input", "data": "you\n"});
    let typed: StateAction = serde_json::from_value(typed).unwrap();
    client.dispatch(terminal.clone(), typed).await.unwrap();
    mirror.until_end().await;
    let chat = mirror.json();
    let parts = chat["turns"][0]["responseParts"].as_array().unwrap();
    let call = parts
        .iter()
        .find(|part| part["kind"] == "toolCall")
        .unwrap();
    let result = &call["toolCall"]["content"][1]["result"];
    assert_eq!(result["exitCode"], 3, "{call}");
    let preview = result["preview"].as_str().unwrap();
    assert!(preview.ends_with("hello you\n"), "{preview}");

    // It stays when the agent has let go of it.
    let release = r#"call terminal/release {"terminalId":"$1"}"#;
    start_turn(&client, "t2", release).await;
    mirror.until_end().await;
    let (result, _) = client.subscribe(terminal).await.unwrap();
    let state = serde_json::to_value(result.snapshot.unwrap().state).unwrap();
    assert_eq!(state["lifecycle"]["exitCode"], 3);
    assert_eq!(state["claim"]["toolCallId"], "c1");
    assert!(
        state["content"].to_string().contains("hello you"),
        "{state}"
    );
    server.stop().await.unwrap();
}
