//! An agent that speaks ACP, through the host to the official client.

use std::sync::Arc;

use agenthost_agents::{AcpAgent, AcpLaunch};
use agenthost_server::serve;
use agenthost_testkit::acp_agent;
use ahp_types::actions::StateAction;
use serde_json::{Value, json};

use crate::room::{Mirror, SESSION, chat_uri, config, create_session, dispatch, join, start_turn};

/// The process that is the agent; nothing to test.
#[test]
fn the_agent() {
    acp_agent::play();
}

fn agent(how: &str) -> AcpAgent {
    let (program, arguments) = acp_agent::command("acp::the_agent");
    let launch = AcpLaunch {
        program,
        arguments,
        environment: vec![(acp_agent::AS_AGENT.to_owned(), how.to_owned())],
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
    "options": [{"optionId": "all", "name": "Always", "kind": "allow_always"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]}"#;

#[tokio::test]
async fn a_turn_from_an_agent_to_a_client() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(agent("early modes").with_notes(&config.notes()))];
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
    assert_eq!(ready["options"][0]["id"], "all");
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
    assert_eq!(session["config"]["values"]["model"], "small");
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
