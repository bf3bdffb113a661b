//! Commands that the host runs for agents, in terminals.

use std::sync::Arc;
use std::time::Duration;

use agenthost_acp::AcpService;
use agenthost_core::PtyCommand;
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::chat::{ChatAction, Message};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::acp::{agent, finish_turn, run_turn, wait_until_gone};
use crate::acp_files::{open_in_folder, parse_event_json};
use crate::bench::{Bench, chat, session};

async fn open() -> (Bench, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let agent = agent("").with_service(AcpService::Terminals);
    (open_in_folder(agent, folder.path()).await, folder)
}

fn create_terminal(params: Value) -> String {
    format!("call terminal/create {params};; ")
}

fn create_shell_terminal(command: &str) -> String {
    create_terminal(json!({ "command": command }))
}

const WAIT: &str = r#"call terminal/wait_for_exit {"terminalId":"$1"};; "#;
const OUTPUT: &str = r#"call terminal/output {"terminalId":"$1"};; "#;
const KILL: &str = r#"call terminal/kill {"terminalId":"$1"};; "#;
const RELEASE: &str = r#"call terminal/release {"terminalId":"$1"};; "#;

/// Parses the text events of a turn as JSON.
fn parse_answers(events: &[String]) -> Vec<Value> {
    let texts = events.iter().filter(|event| event.starts_with("text "));
    texts.map(|event| parse_event_json(event)).collect()
}

/// Decodes a string that an event shows in its `Debug` form.
fn unquote(text: &str) -> String {
    let json = text.replace("\\u{1b}", "\\u001b");
    serde_json::from_str(&json).unwrap()
}

/// Returns the output of all terminals in a turn.
fn terminal_output(events: &[String]) -> String {
    let data = events
        .iter()
        .filter_map(|event| event.strip_prefix("data "));
    data.map(unquote).collect()
}

#[tokio::test]
async fn a_command_runs_in_a_shared_terminal() {
    let (mut bench, folder) = open().await;
    let call = |kind: &str, more: &str| {
        format!(
            r#"update {{"sessionUpdate":"{kind}","toolCallId":"c1","title":"Run it"{more}}};; "#
        )
    };
    let content =
        r#","status":"in_progress","content":[{"type":"terminal","terminalId":"terminal-1"}]"#;
    let script = [
        call("tool_call", ""),
        create_terminal(json!({"command": "printf '\\033[1mhi\\033[0m\\n'; pwd"})),
        call("tool_call_update", content),
        WAIT.to_owned(),
        RELEASE.to_owned(),
        call("tool_call_update", r#","status":"completed""#),
        OUTPUT.to_owned(),
    ];
    bench.prompt("t1", &script.concat());
    let (mut events, mut uri, mut output) = (Vec::new(), None, String::new());
    loop {
        match bench.event().await {
            AgentEvent::TerminalOpened {
                terminal,
                state,
                command,
            } => {
                assert!(command.is_some());
                let claim = wire::to_json(&state.claim);
                assert_eq!(claim["session"], session().as_str());
                assert_eq!(claim["chat"], chat().as_str());
                assert_eq!(claim["turnId"], "t1");
                assert_eq!(state.is_pty, Some(true));
                let there = format!("file://{}", folder.path().display());
                assert_eq!(state.cwd, Some(Uri::from(there)));
                uri = Some(terminal);
            }
            AgentEvent::Terminal { terminal, action } => {
                assert_eq!(Some(&terminal), uri.as_ref());
                match *action {
                    TerminalAction::Data(data) => output.push_str(&data.data),
                    TerminalAction::Claimed(claimed) => {
                        let claim = wire::to_json(&claimed.claim);
                        assert_eq!(claim["toolCallId"], "c1");
                        events.push("claimed".to_owned());
                    }
                    TerminalAction::Exited(exited) => {
                        events.push(format!("exited {:?}", exited.exit_code));
                    }
                    other => panic!("{other:?}"),
                }
            }
            AgentEvent::Chat { action, .. } => match *action {
                ChatAction::ToolCallContentChanged(changed) => {
                    // The command may have ended by now; then the block with its output comes
                    // first.
                    let content = wire::to_json(&changed.content);
                    let mut blocks = content.as_array().unwrap().iter();
                    let block = blocks.find(|block| block["type"] == "terminal").unwrap();
                    assert_eq!(block["resource"], uri.as_ref().unwrap().as_str());
                    events.push("shown".to_owned());
                }
                ChatAction::ToolCallComplete(complete) => {
                    let content = wire::to_json(&complete.result)["content"].clone();
                    let text = content[0]["text"].as_str().unwrap();
                    assert!(text.starts_with("hi\n/"), "{content}");
                    assert_eq!(content[1]["result"]["exitCode"], 0);
                }
                ChatAction::Delta(delta) => events.push(delta.content),
                _ => {}
            },
            AgentEvent::TurnEnded { error, .. } => {
                assert!(error.is_none(), "{error:?}");
                break;
            }
            _ => {}
        }
    }
    assert!(
        output.starts_with("\u{1b}[1mhi\u{1b}[0m\r\n/"),
        "{output:?}"
    );
    let index_of = |prefix: &str| {
        events
            .iter()
            .position(|event| event.starts_with(prefix))
            .unwrap()
    };
    assert!(index_of("claimed") < index_of("shown"));
    assert!(index_of("exited Some(0)") < index_of(r#"{"exitCode":0,"signal":null}"#));
    // A released terminal does not exist any more.
    assert!(
        events.last().unwrap().contains("no terminal `terminal-1`"),
        "{events:?}"
    );
}

#[tokio::test]
async fn output_for_the_agent_is_plain_text_limited_to_its_end() {
    let (mut bench, _folder) = open().await;
    let script = [
        create_terminal(
            json!({"command": "printf '\\033[31mab\\303\\244\\303\\244'", "outputByteLimit": 3}),
        ),
        WAIT.to_owned(),
        OUTPUT.to_owned(),
    ];
    let events = run_turn(&mut bench, "t1", &script.concat()).await;
    let shown = &parse_answers(&events)[2];
    // A limit of three bytes would split a character, so only two are returned.
    let status = json!({"exitCode": 0, "signal": null});
    assert_eq!(
        *shown,
        json!({"output": "ä", "truncated": true, "exitStatus": status})
    );
    assert_eq!(terminal_output(&events), "\u{1b}[31mabää");
}

#[tokio::test]
async fn arguments_are_not_expanded_and_run_in_the_requested_directory() {
    let (mut bench, folder) = open().await;
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let params = json!({
        "command": "sh",
        "args": ["-c", "pwd; echo \"$1 $MINE ${CARGO_MANIFEST_DIR-nothing of the host}\"", "x", "a  b"],
        "cwd": folder.path().join("sub"),
        "env": [{"name": "MINE", "value": "1"}],
    });
    let script = [create_terminal(params), WAIT.to_owned(), OUTPUT.to_owned()];
    let events = run_turn(&mut bench, "t1", &script.concat()).await;
    let output = parse_answers(&events)[2]["output"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        output.contains("/sub\na  b 1 nothing of the host\n"),
        "{output}"
    );
}

#[tokio::test]
async fn commands_that_cannot_start_report_a_reason() {
    let (mut bench, folder) = open().await;
    std::os::unix::fs::symlink("/usr", folder.path().join("out")).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let inside = |name: &str| folder.path().join(name);
    for (number, (params, words)) in [
        (
            json!({"command": "ls", "cwd": "/usr"}),
            "outside of the granted folders",
        ),
        (
            json!({"command": "ls", "cwd": inside("out")}),
            "outside of the granted folders",
        ),
        (
            json!({"command": "ls", "cwd": inside("missing")}),
            "Resource not found",
        ),
        (
            json!({"command": "ls", "cwd": inside("file")}),
            "not a directory",
        ),
        (
            json!({"command": "no-such-program", "args": ["x"]}),
            "run `no-such-program x`",
        ),
        (json!({"command": ""}), "`command` must be a string"),
        (
            json!({"command": "ls", "sessionId": "nobody"}),
            "no session `nobody`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let events = run_turn(&mut bench, &format!("t{number}"), &create_terminal(params)).await;
        let answer = &parse_answers(&events)[0];
        assert!(
            answer["message"].as_str().unwrap().contains(words),
            "{answer}"
        );
    }
    for method in ["output", "wait_for_exit", "kill", "release"] {
        let script = format!(r#"call terminal/{method} {{"terminalId":"nobody"}}"#);
        let events = run_turn(&mut bench, method, &script).await;
        let answer = &parse_answers(&events)[0];
        assert_eq!(answer["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn a_killed_command_reports_its_signal_and_stays_readable() {
    let (mut bench, _folder) = open().await;
    let script = [
        create_shell_terminal("echo on; exec sleep 1000"),
        KILL.to_owned(),
        WAIT.to_owned(),
        OUTPUT.to_owned(),
    ];
    let events = run_turn(&mut bench, "t1", &script.concat()).await;
    let answers = parse_answers(&events);
    assert_eq!(answers[1], json!({}));
    assert_eq!(answers[2], json!({"exitCode": null, "signal": "SIGTERM"}));
    assert_eq!(answers[3]["exitStatus"]["signal"], "SIGTERM");
    assert!(events.contains(&"exited None".to_owned()), "{events:?}");
}

/// A command that ignores SIGTERM is killed, with the processes that it started.
#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_with_its_children() {
    let (mut bench, _folder) = open().await;
    let stubborn = "trap '' TERM; sleep 1000 & echo pid $!; wait; sleep 1000";
    bench.prompt(
        "t1",
        &[create_shell_terminal(stubborn), "wait".to_owned()].concat(),
    );
    let number = wait_for_pid(&mut bench).await;
    bench.cancel("t1");
    assert_eq!(bench.until("exited").await.pop().unwrap(), "exited None");
    wait_until_gone(&number).await;
    let events = run_turn(&mut bench, "t2", "say next").await;
    assert_eq!(events, ["text \"next\"", "end t2"]);
}

async fn wait_for_pid(bench: &mut Bench) -> String {
    let mut output = String::new();
    loop {
        let event = bench.next().await;
        if let Some(data) = event.strip_prefix("data ") {
            output.push_str(&unquote(data));
        }
        if let Some((line, _)) = output.split_once('\n') {
            return line.trim().trim_start_matches("pid ").to_owned();
        }
    }
}

/// Cancelling a turn answers `terminal/wait_for_exit`. The agent would wait forever otherwise.
#[tokio::test]
async fn cancelling_a_turn_ends_commands_and_answers_wait_for_exit() {
    let (mut bench, _folder) = open().await;
    let script = [
        create_shell_terminal("sleep 1000"),
        WAIT.to_owned(),
        "say over".to_owned(),
    ];
    bench.prompt("t1", &script.concat());
    bench.until("terminal").await;
    bench.until("text").await;
    bench.cancel("t1");
    assert_eq!(bench.until("exited").await.pop().unwrap(), "exited None");
    // This turn begins only if the agent has received the answer and the cancellation.
    let events = run_turn(&mut bench, "t2", OUTPUT).await;
    assert_eq!(parse_answers(&events)[0]["exitStatus"]["signal"], "SIGTERM");
}

#[tokio::test]
async fn commands_run_concurrently_and_belong_to_one_agent_session() {
    let (mut bench, _folder) = open().await;
    // The first command waits for a file that the second one creates.
    let first = create_shell_terminal("while [ ! -e go ]; do sleep 0.01; done; echo first");
    let script = [
        first,
        create_shell_terminal("touch go; echo second"),
        WAIT.replace("$1", "$2"),
        WAIT.to_owned(),
        OUTPUT.to_owned(),
    ];
    let events = run_turn(&mut bench, "t1", &script.concat()).await;
    let shown = parse_answers(&events);
    assert_eq!(shown[4]["output"], "first\n");
    let both = terminal_output(&events);
    assert!(both.contains("first") && both.contains("second"), "{both}");

    bench.command(AgentCommand::Prompt {
        chat: Uri::from("ahp-chat:/2"),
        turn: TurnId::from("t2"),
        message: Arc::new(Message::of_user(OUTPUT)),
        history: Default::default(),
        prepared: Default::default(),
    });
    let events = finish_turn(&mut bench, "t2").await;
    let answer = &parse_answers(&events)[0];
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("in this session"),
        "{answer}"
    );
    // The session that created the terminals still has them.
    let events = run_turn(&mut bench, "t3", OUTPUT).await;
    assert_eq!(parse_answers(&events)[0]["output"], "first\n");
}

#[tokio::test]
async fn the_number_of_terminals_is_limited() {
    let (mut bench, _folder) = open().await;
    let script = [
        create_shell_terminal("true").repeat(33),
        RELEASE.to_owned(),
        create_shell_terminal("true"),
    ];
    let events = run_turn(&mut bench, "t1", &script.concat()).await;
    let answers = parse_answers(&events);
    assert!(
        answers[32]["message"]
            .as_str()
            .unwrap()
            .contains("release one first")
    );
    assert_eq!(answers[33], json!({}));
    assert_eq!(answers[34]["terminalId"], "terminal-33");
}

#[tokio::test]
async fn users_can_write_to_the_terminal_of_an_agent() {
    let (mut bench, _folder) = open().await;
    bench.prompt(
        "t1",
        &[
            create_shell_terminal("read x; echo \"got $x\""),
            WAIT.to_owned(),
        ]
        .concat(),
    );
    let AgentEvent::TerminalOpened { terminal, .. } = bench.event().await else {
        panic!("it is opened first");
    };
    bench.command(AgentCommand::UseTerminal {
        chat: chat(),
        terminal,
        command: PtyCommand::Write(TerminalInput {
            data: "this\n".to_owned(),
        }),
    });
    let events = finish_turn(&mut bench, "t1").await;
    assert!(terminal_output(&events).contains("got this"), "{events:?}");
}

/// TER-15: for the agent, a command in the background has exited, and its output says so. The
/// command keeps running when the agent releases it and when its turn is cancelled.
#[tokio::test]
async fn a_command_continues_in_the_background() {
    let (mut bench, _folder) = open().await;
    let command = create_shell_terminal("echo begun; read x; echo \"got $x\"");
    let script = [&command, WAIT, OUTPUT, RELEASE, "wait"].concat();
    bench.prompt("t1", &script);
    let AgentEvent::TerminalOpened { terminal, .. } = bench.event().await else {
        panic!("it is opened first");
    };
    // The answer to the first request may arrive before or after the data.
    let mut events = bench.until("data").await;
    bench.command(AgentCommand::ContinueInBackground {
        chat: chat(),
        terminal: terminal.clone(),
        output: String::new(),
    });
    while parse_answers(&events).len() < 4 {
        events.push(bench.next().await);
    }
    let answers = parse_answers(&events);
    assert_eq!(answers[1], json!({"exitCode": null, "signal": null}));
    let output = "begun\n\n[The command continues in the background.]";
    assert_eq!(answers[2]["output"], output);
    assert_eq!(answers[2]["exitStatus"]["exitCode"], json!(null));
    assert_eq!(answers[3], json!({}));
    bench.cancel("t1");
    bench.command(AgentCommand::UseTerminal {
        chat: chat(),
        terminal: terminal.clone(),
        command: PtyCommand::Write(TerminalInput {
            data: "this\n".to_owned(),
        }),
    });
    let events = bench.until("exited").await;
    assert!(terminal_output(&events).contains("got this"), "{events:?}");
    assert_eq!(events.last().unwrap(), "exited Some(0)");
}

#[tokio::test]
async fn closing_a_terminal_ends_its_background_command() {
    let (mut bench, _folder) = open().await;
    let command = create_shell_terminal("sleep 1000 & echo pid $!; wait");
    bench.prompt("t1", &[&command, WAIT].concat());
    let AgentEvent::TerminalOpened { terminal, .. } = bench.event().await else {
        panic!("it is opened first");
    };
    let number = wait_for_pid(&mut bench).await;
    bench.command(AgentCommand::ContinueInBackground {
        chat: chat(),
        terminal: terminal.clone(),
        output: String::new(),
    });
    bench.until("end t1").await;
    bench.command(AgentCommand::UseTerminal {
        chat: chat(),
        terminal,
        command: PtyCommand::Close,
    });
    bench.until("exited").await;
    wait_until_gone(&number).await;
}

#[tokio::test]
async fn commands_end_with_their_agent_or_session() {
    let (mut bench, _folder) = open().await;
    let running = "sleep 1000 & echo pid $!; wait";
    bench.prompt(
        "t1",
        &[create_shell_terminal(running), "wait".to_owned()].concat(),
    );
    let number = wait_for_pid(&mut bench).await;
    bench.cancel("t1");
    bench.until("exited").await;
    wait_until_gone(&number).await;

    // A command may outlive its turn, but not its agent.
    let events = run_turn(
        &mut bench,
        "t3",
        &[create_shell_terminal(running), "say on".to_owned()].concat(),
    )
    .await;
    assert!(
        !events.iter().any(|event| event.starts_with("exited")),
        "{events:?}"
    );
    bench.prompt("t4", "die oh");
    bench.until("error t4").await;
    bench.until("exited").await;

    bench.prompt(
        "t5",
        &[create_shell_terminal(running), "wait".to_owned()].concat(),
    );
    let number = wait_for_pid(&mut bench).await;
    bench.agents.stop(Duration::from_secs(20)).await;
    wait_until_gone(&number).await;
}

/// A command that an agent runs and reports by itself is shown as a terminal, too.
#[tokio::test]
async fn terminal_output_in_agent_updates_becomes_a_terminal() {
    let (mut bench, _folder) = open().await;
    let update = |update: Value| format!("update {update};; ");
    let info = json!({"terminal_info": {"terminal_id": "c1", "cwd": "/work"}});
    let content = json!([{"type": "terminal", "terminalId": "c1"}]);
    let output = json!({"terminal_output": {"terminal_id": "c1", "data": "hello\n"}});
    let script = [
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "make", "status": "in_progress",
            "content": content, "_meta": info}),
        ),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": output})),
        "wait".to_owned(),
    ];
    bench.prompt("t1", &script.concat());
    let events = bench.until("data").await;
    let expected = [
        "start other",
        "terminal make",
        "ready make and runs",
        "content",
        "data \"hello\\n\"",
    ];
    assert_eq!(events, expected);
    bench.cancel("t1");
    assert_eq!(bench.next().await, "exited None");
}
