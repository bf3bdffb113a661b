//! Agents that speak ACP, in a process that runs the script in each prompt.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_acp::{AcpAgent, AgentLaunch};
use agenthost_agents::Agent;
use agenthost_core::agent::{
    AgentCommand, AgentEvent, AgentNotes, AttachmentContent, ToolCallDecision,
};
use agenthost_protocol::chat::{Answers, ChatAction, InputResponseKind, Message};
use agenthost_protocol::ids::{InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_workspace::ContentStore;
use serde_json::{Value, json};

use crate::acp_agent;
use crate::bench::{Bench, chat};

/// Runs the scripted agent if this process was started as one; otherwise there is nothing to test.
#[test]
fn the_agent() {
    acp_agent::run_as_agent();
}

pub(crate) fn agent(mode: &str) -> AcpAgent {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let launch = AgentLaunch {
        program,
        arguments,
        environment: vec![(acp_agent::AGENT_MODE_VARIABLE.to_owned(), mode.to_owned())],
    };
    AcpAgent::new("scripted", "Scripted", launch)
}

pub(crate) fn open_agent(
    agent: AcpAgent,
    contents: Option<Arc<ContentStore>>,
    config: Option<Value>,
) -> Bench {
    let mut bench = Bench::of(Arc::new(agent), contents);
    bench.command(AgentCommand::Open {
        directories: vec![Uri::from("file:///usr")],
        config: config.and_then(|config| config.as_object().cloned()),
        notes: AgentNotes::new(),
    });
    bench
}

async fn open(mode: &str) -> Bench {
    let mut bench = open_agent(agent(mode), None, None);
    assert_eq!(bench.next().await, "opened");
    bench
}

async fn stop_reason(mode: &str) -> String {
    let mut bench = open_agent(agent(mode), None, None);
    let event = bench.until("stopped").await.pop().unwrap();
    event.strip_prefix("stopped: ").unwrap().to_owned()
}

/// Runs a turn, and returns its events up to its end.
pub(crate) async fn run_turn(bench: &mut Bench, turn: &str, script: &str) -> Vec<String> {
    bench.prompt(turn, script);
    finish_turn(bench, turn).await
}

pub(crate) async fn finish_turn(bench: &mut Bench, turn: &str) -> Vec<String> {
    let mut events = Vec::new();
    loop {
        let event = bench.next().await;
        let is_over = event.starts_with(&format!("end {turn}"))
            || event.starts_with(&format!("error {turn}"));
        if event != "part" {
            events.push(event);
        }
        if is_over {
            return events;
        }
    }
}

fn decide(bench: &mut Bench, turn: &str, decision: ToolCallDecision) {
    bench.command(AgentCommand::DecideToolCall {
        chat: chat(),
        turn: TurnId::from(turn),
        call: ToolCallId::from("c1"),
        decision,
    });
}

const PERMISSION_REQUEST: &str = r#"ask {"toolCall": {"toolCallId": "c1", "title": "rm x"}, "options": [
    {"optionId": "a", "name": "Always", "kind": "allow_always"}, {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"}, {"optionId": "z", "name": "Never", "kind": "reject_always"}]}"#;

fn permission_script() -> String {
    PERMISSION_REQUEST.replace('\n', " ")
}

#[tokio::test]
async fn turns_work_despite_noise_on_stdout() {
    let mut bench = open_agent(agent("early"), None, None);
    // The agent announces its commands before it has answered `session/new`.
    assert_eq!(bench.next().await, "1 commands");
    assert_eq!(bench.next().await, "opened");
    let script = "say Hel;; raw Loading model...;; bytes;; say lo;; raw {\"level\":\"info\"};; update {\"sessionUpdate\":\"new\"};; \
        after update {\"sessionUpdate\":\"session_info_update\",\"title\":\"About x\"}";
    let events = run_turn(&mut bench, "t1", script).await;
    assert_eq!(events, ["text \"Hel\"", "text \"lo\"", "end t1"]);
    assert_eq!(bench.next().await, "title About x");
    let events = run_turn(&mut bench, "t2", "stop max_tokens").await;
    assert!(events[0].contains("cut off"), "{events:?}");
    let events = run_turn(&mut bench, "t3", "error -32603 the model is gone").await;
    assert_eq!(events, ["error t3: the model is gone"]);
}

#[tokio::test]
async fn permission_requests_get_the_selected_option() {
    let mut bench = open("").await;
    let approved = |option: Option<&str>| ToolCallDecision::Approved {
        option: option.map(Into::into),
        edited_input: None,
    };
    let denied = |option: Option<&str>| ToolCallDecision::Denied {
        option: option.map(Into::into),
        reason: agenthost_protocol::chat::CancellationReason::Denied,
        suggestion: None,
    };
    let cases = [
        (approved(Some("a")), "a"),
        (approved(None), "y"),
        (denied(Some("z")), "z"),
        (denied(None), "n"),
        (denied(Some("nobody offered this")), "n"),
    ];
    for (number, (decision, picked)) in cases.into_iter().enumerate() {
        let name = format!("t{number}");
        bench.prompt(&name, &permission_script());
        assert_eq!(bench.next().await, "start other");
        assert_eq!(bench.next().await, "ready rm x and asks");
        decide(&mut bench, &name, decision);
        let events = finish_turn(&mut bench, &name).await;
        assert_eq!(events, [format!("text {picked:?}"), format!("end {name}")]);
    }
}

/// Cancelling a turn answers its open permission request. Three of the ten agents that were tried
/// would wait for the answer forever.
#[tokio::test]
async fn cancelling_a_turn_answers_open_permission_requests() {
    let mut bench = open("").await;
    bench.prompt("t1", &permission_script());
    bench.until("ready").await;
    bench.cancel("t1");
    // An agent runs one turn of a session at a time, so this one shows that the first has ended.
    let events = run_turn(&mut bench, "t2", "say again").await;
    assert_eq!(events, ["text \"again\"", "end t2"]);
    bench.prompt("t3", "say waiting;; wait");
    bench.until("text").await;
    bench.cancel("t3");
    let events = run_turn(&mut bench, "t4", "say once more").await;
    assert_eq!(events, ["text \"once more\"", "end t4"]);
}

#[tokio::test]
async fn an_agent_that_ignores_cancellation_is_killed() {
    let timeout = Duration::from_millis(300);
    let mut bench = open_agent(agent("").with_cancel_timeout(timeout), None, None);
    assert_eq!(bench.next().await, "opened");
    bench.prompt("t1", "spawn;; hang");
    let number = bench.until("text").await.pop().unwrap();
    let began = Instant::now();
    bench.cancel("t1");
    let events = run_turn(&mut bench, "t2", "say back").await;
    assert!(began.elapsed() >= timeout);
    assert_eq!(events, ["text \"back\"", "end t2"]);
    wait_until_gone(&number).await;
}

#[tokio::test]
async fn a_crashed_agent_is_reported_and_restarted() {
    let mut bench = open("").await;
    let events = run_turn(&mut bench, "t1", "say hm;; die out of memory").await;
    assert_eq!(
        events,
        ["text \"hm\"", "error t1: the agent ended: out of memory"]
    );
    let events = run_turn(&mut bench, "t2", "say back").await;
    assert_eq!(events, ["text \"back\"", "end t2"]);
    let events = run_turn(&mut bench, "t3", "endless").await;
    let end =
        "error t3: the agent ended: its standard output has a line of more than 8388608 bytes";
    assert!(events[0].starts_with(end), "{events:?}");
}

#[tokio::test]
async fn a_failed_start_is_reported_with_its_reason() {
    let reason = stop_reason("auth").await;
    assert!(
        reason.contains("requires you to sign in") && reason.contains("API key"),
        "{reason}"
    );
    let reason = stop_reason("old").await;
    assert!(
        reason.starts_with("start the agent: ") && reason.contains("version"),
        "{reason}"
    );
    let missing = AgentLaunch {
        program: "no-such-agent".to_owned(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let mut bench = open_agent(AcpAgent::new("a", "A", missing), None, None);
    assert_eq!(
        bench.next().await,
        "stopped: start `no-such-agent`: program not found"
    );
    let broken = AgentLaunch {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), "echo need a key >&2; exit 1".to_owned()],
        environment: Vec::new(),
    };
    let mut bench = open_agent(AcpAgent::new("a", "A", broken), None, None);
    assert_eq!(bench.next().await, "stopped: the agent ended: need a key");
}

#[tokio::test]
async fn modes_and_models_are_config_options() {
    let config = json!({"mode": "do"});
    let mut bench = open_agent(agent("modes"), None, Some(config));
    // The requested mode is set before the options are published.
    let events = bench.until("options").await;
    assert_eq!(
        events.last().unwrap(),
        r#"options {"model":"small","mode":"do"}"#
    );
    bench.command(AgentCommand::SetConfig {
        values: json!({"mode": "do", "model": "large"})
            .as_object()
            .unwrap()
            .clone(),
    });
    assert_eq!(
        bench.until("options").await.pop().unwrap(),
        r#"options {"model":"large","mode":"do"}"#
    );
    bench.command(AgentCommand::SetConfig {
        values: json!({"mode": "do", "model": "forbidden"})
            .as_object()
            .unwrap()
            .clone(),
    });
    assert_eq!(
        bench.next().await,
        r#"options {"model":"large","mode":"do"}"#
    );
    let events = run_turn(&mut bench, "t1", "chosen").await;
    for expected in [
        r#"\"modeId\":\"do\""#,
        r#"\"configId\":\"the-model\""#,
        r#"\"value\":\"large\""#,
    ] {
        assert!(events[1].contains(expected), "{events:?}");
    }
}

#[tokio::test]
async fn elicitation_forms_are_answered() {
    let mut bench = open("").await;
    let form = r#"form {"mode": "form", "message": "Which?", "requestedSchema": {"properties":
        {"size": {"type": "string", "enum": ["s", "l"]}, "count": {"type": "integer"}}}}"#;
    bench.prompt("t1", &form.replace('\n', " "));
    let AgentEvent::Chat { action, .. } = bench.event().await else {
        panic!("a question is part of the chat");
    };
    assert!(
        matches!(*action, ChatAction::InputRequested(_)),
        "{action:?}"
    );
    let answers = json!({
        "size": {"state": "submitted", "value": {"kind": "selected", "value": "l"}},
        "count": {"state": "submitted", "value": {"kind": "number", "value": 3}},
    });
    bench.command(AgentCommand::AnswerInput {
        chat: chat(),
        turn: TurnId::from("t1"),
        request: InputRequestId::from("question-1"),
        response: InputResponseKind::Accept,
        answers: wire::from_str::<Answers>(&answers.to_string()).unwrap(),
    });
    let events = finish_turn(&mut bench, "t1").await;
    let expected = r#"{"action":"accept","content":{"size":"l","count":3}}"#;
    assert_eq!(events, [format!("text {expected:?}"), "end t1".to_owned()]);
}

#[tokio::test]
async fn attachments_are_encoded_for_the_capabilities_of_the_agent() {
    let attachments = json!([
        {"type": "simple", "label": "note", "modelRepresentation": "a note"},
        {"type": "resource", "label": "x.rs", "uri": "file:///usr/x.rs"},
        {"type": "resource", "label": "theirs", "uri": "client:/1"},
        {"type": "embeddedResource", "label": "pic", "data": "iVBORw==", "contentType": "image/png"},
    ]);
    let message = json!({"text": "blocks", "origin": {"kind": "user"}, "attachments": attachments});
    let mut shown = Vec::new();
    for mode in ["", "plain"] {
        let mut bench = open(mode).await;
        let content = json!({"data": "hello", "encoding": "utf-8"});
        bench.command(AgentCommand::AddAttachment {
            chat: chat(),
            turn: TurnId::from("t1"),
            resource: Uri::from("client:/1"),
            content: AttachmentContent::Resource(Arc::new(
                wire::from_str(&content.to_string()).unwrap(),
            )),
        });
        bench.command(AgentCommand::Prompt {
            chat: chat(),
            turn: TurnId::from("t1"),
            message: Arc::new(wire::from_str::<Message>(&message.to_string()).unwrap()),
            history: List::new(),
            prepared: Default::default(),
        });
        let events = finish_turn(&mut bench, "t1").await;
        let text: String = serde_json::from_str(events[0].strip_prefix("text ").unwrap()).unwrap();
        let blocks: Vec<Value> = serde_json::from_str(&text).unwrap();
        shown.push(blocks);
    }
    let kinds = |blocks: &[Value]| -> Vec<String> {
        let kinds = blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    assert_eq!(
        kinds(&shown[0]),
        ["text", "text", "resource_link", "resource", "image"]
    );
    assert_eq!(shown[0][3]["resource"]["text"], "hello");
    assert_eq!(
        kinds(&shown[1]),
        ["text", "text", "resource_link", "text", "text"]
    );
    assert_eq!(shown[1][3]["text"], "theirs:\n\nhello");
}

/// PRT-4, TOO-26: clients can read the content of a file before and after an edit.
#[tokio::test]
async fn contents_before_and_after_an_edit_are_readable() {
    let folder = tempfile::tempdir().unwrap();
    let contents = Arc::new(ContentStore::open(folder.path()).unwrap());
    let mut bench = open_agent(agent(""), Some(Arc::clone(&contents)), None);
    assert_eq!(bench.next().await, "opened");
    let update = json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Edit", "status": "completed",
        "content": [{"type": "diff", "path": "/usr/a", "oldText": "one", "newText": "two"}]});
    bench.prompt("t1", &format!("update {update}"));
    loop {
        let AgentEvent::Chat { action, .. } = bench.event().await else {
            panic!("the turn is not over");
        };
        if let ChatAction::ToolCallComplete(complete) = *action {
            let edit = wire::to_json(&complete.result)["content"][0].clone();
            for (side, text) in [("before", "one"), ("after", "two")] {
                let uri = Uri::from(edit[side]["content"]["uri"].as_str().unwrap());
                assert_eq!(contents.read(&uri, None).unwrap().data, text);
            }
            break;
        }
    }
}

#[tokio::test]
async fn each_chat_has_an_agent_session() {
    let mut bench = open("").await;
    let events = run_turn(&mut bench, "t1", "say one").await;
    assert_eq!(events, ["text \"one\"", "end t1"]);
    bench.command(AgentCommand::Prompt {
        chat: Uri::from("ahp-chat:/2"),
        turn: TurnId::from("t2"),
        message: Arc::new(Message::of_user("say two")),
        history: List::new(),
        prepared: Default::default(),
    });
    assert_eq!(
        finish_turn(&mut bench, "t2").await,
        ["text \"two\"", "end t2"]
    );
    bench.command(AgentCommand::CloseChat {
        chat: Uri::from("ahp-chat:/2"),
    });
    bench.command(AgentCommand::Rewind {
        chat: chat(),
        last_turn: None,
    });
    let events = run_turn(&mut bench, "t3", "say three").await;
    assert_eq!(events, ["text \"three\"", "end t3"]);
}

/// Requests about an unknown session, and requests that arrive after the turn has ended, are
/// answered, so that the agent does not wait forever.
#[tokio::test]
async fn requests_of_unknown_sessions_or_ended_turns_are_answered() {
    let mut bench = open("").await;
    let nobody = r#"{"sessionId": "nobody", "toolCall": {"toolCallId": "c1"}, "options": []}"#;
    let script = format!(
        "call session/request_permission {nobody};; call elicitation/create {nobody};; call no/such {{}}"
    );
    let events = run_turn(&mut bench, "t1", &script).await;
    for event in &events[..2] {
        assert!(event.contains("no session `nobody`"), "{event}");
    }
    assert!(events[2].contains("-32601"), "{events:?}");
    // These requests arrive after the turn, so the text that the agent sends about the answers is
    // dropped.
    let options = r#"{"toolCall": {"toolCallId": "c1"}, "options": []}"#;
    let title = r#"after update {"sessionUpdate": "session_info_update", "title": "On"}"#;
    let script = format!(
        "after call session/request_permission {options}\nafter call elicitation/create {{}}\nafter say late\n{title}"
    );
    assert_eq!(run_turn(&mut bench, "t2", &script).await, ["end t2"]);
    assert_eq!(bench.next().await, "title On");
    let events = run_turn(&mut bench, "t3", "say on").await;
    assert_eq!(events, ["text \"on\"", "end t3"]);
}

#[tokio::test]
async fn stopping_ends_agent_processes_and_removes_pid_files() {
    let notes = tempfile::tempdir().unwrap();
    let agent = agent("").with_pid_dir(notes.path());
    agent.on_host_start();
    let mut bench = open_agent(agent, None, None);
    assert_eq!(bench.next().await, "opened");
    bench.prompt("t1", "spawn;; wait");
    let number = bench.until("text").await.pop().unwrap();
    assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 1);
    bench.agents.stop(Duration::from_secs(20)).await;
    wait_until_gone(&number).await;
    assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
}

/// Waits until a process is gone or a zombie. The event is the text with its process id.
pub(crate) async fn wait_until_gone(event: &str) {
    let number: u32 = event
        .trim_start_matches("text ")
        .trim_matches('"')
        .parse()
        .unwrap();
    let path = format!("/proc/{number}/stat");
    let runs = || {
        let stat = std::fs::read_to_string(Path::new(&path));
        stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while runs() {
        assert!(Instant::now() < deadline, "{number} is still there");
        tokio::task::yield_now().await;
    }
}

/// A rewind during a turn kills an agent that does not stop, with the processes that it started.
#[tokio::test]
async fn a_rewind_kills_an_agent_that_does_not_stop() {
    let timeout = Duration::from_millis(300);
    let mut bench = open_agent(agent("").with_cancel_timeout(timeout), None, None);
    assert_eq!(bench.next().await, "opened");
    bench.prompt("t1", "spawn;; hang");
    let number = bench.until("text").await.pop().unwrap();
    bench.command(AgentCommand::Rewind {
        chat: chat(),
        last_turn: None,
    });
    wait_until_gone(&number).await;
    let events = run_turn(&mut bench, "t2", "say back").await;
    assert_eq!(events, ["text \"back\"", "end t2"]);
}

/// An approval that names no option never selects an `allow_always` option: the user has approved
/// only this call.
#[tokio::test]
async fn an_approval_without_option_never_selects_allow_always() {
    let mut bench = open("").await;
    let forever = r#"ask {"toolCall": {"toolCallId": "c1", "title": "rm x"}, "options": [{"optionId": "a", "name": "Always", "kind": "allow_always"}]}"#;
    bench.prompt("t1", forever);
    bench.until("ready").await;
    decide(
        &mut bench,
        "t1",
        ToolCallDecision::Approved {
            option: None,
            edited_input: None,
        },
    );
    let events = bench.until("end t1").await.join("\n");
    assert!(events.contains("nothing was picked"), "{events}");
}

/// A message with a lone surrogate is accepted, and the surrogate becomes U+FFFD.
#[tokio::test]
async fn a_message_with_a_lone_surrogate_is_accepted() {
    let mut bench = open("").await;
    let chunk = r#"raw {"method":"session/update","params":{"sessionId":"$S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lone \ud83d end"}}}}"#;
    let name = run_turn(&mut bench, "t1", "session").await;
    let name = name[0]
        .trim_start_matches("text ")
        .trim_matches('"')
        .to_owned();
    let events = run_turn(&mut bench, "t2", &chunk.replace("$S", &name)).await;
    assert_eq!(events, ["text \"lone \u{fffd} end\"", "end t2"]);
}
