//! Tools that the host offers to agents that speak ACP, by a server of tools
//! that a test answers for.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_acp::{AcpAgent, AcpProfile, HostToolAccess};
use agenthost_agents::ToolRelay;
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes, ChatContext, ClientTool};
use agenthost_core::resource::uris;
use agenthost_core::tools::mcp::driver::McpTool;
use agenthost_protocol::chat::{ChatAction, Message, ToolCallContributor, ToolCallResult};
use agenthost_protocol::ids::{CustomizationId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::acp::{agent, finish_turn, run_turn};
use crate::acp_agent;
use crate::bench::{Bench, chat, session};

/// Set for the process that is to be the server; says where the test listens.
const AS_GATEWAY: &str = "AGENTHOST_TEST_GATEWAY";

/// Says for which chat the server is.
const FOR_CHAT: &str = "AGENTHOST_TEST_CHAT";

/// The process that is the server; nothing to test. It asks the test what comes
/// of each call, and says for which chat it does.
#[test]
fn the_gateway() {
    let Some(socket) = std::env::var_os(AS_GATEWAY) else {
        return;
    };
    let chat = std::env::var(FOR_CHAT).unwrap();
    for line in std::io::stdin().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "gateway", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "editor_run", "inputSchema": {}},
                {"name": "weather_get", "inputSchema": {}}]}),
            "tools/call" => {
                let text = request_result(Path::new(&socket), &chat, &request["params"]);
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        let mut output = std::io::stdout().lock();
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
    }
    std::process::exit(0);
}

fn request_result(socket: &Path, chat: &str, call: &Value) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    writeln!(stream, "{}", json!({"chat": chat, "call": call})).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer.trim().to_owned()
}

/// Where the calls of a test arrive.
struct Gateway {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    listener: UnixListener,
}

/// A call that waits for what comes of it.
struct PendingCall {
    chat: String,
    call: Value,
    answer: tokio::net::unix::OwnedWriteHalf,
}

impl Gateway {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("calls");
        let listener = UnixListener::bind(&socket).unwrap();
        Gateway {
            _folder: folder,
            socket,
            listener,
        }
    }

    fn relay(&self) -> ToolRelay {
        let (program, arguments) = acp_agent::agent_command("acp_tools::the_gateway");
        let socket = self.socket.to_string_lossy().into_owned();
        ToolRelay::new(program, arguments, move |_, chat| {
            vec![
                (AS_GATEWAY.to_owned(), socket.clone()),
                (FOR_CHAT.to_owned(), chat.to_string()),
            ]
        })
    }

    async fn next_call(&self) -> PendingCall {
        let timeout = Duration::from_secs(20);
        let accepted = tokio::time::timeout(timeout, self.listener.accept()).await;
        let (stream, _) = accepted.unwrap().unwrap();
        let (read, answer) = stream.into_split();
        let mut lines = tokio::io::BufReader::new(read).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        PendingCall {
            chat: line["chat"].as_str().unwrap().to_owned(),
            call: line["call"].clone(),
            answer,
        }
    }
}

impl PendingCall {
    async fn answer(mut self, text: &str) {
        let line = format!("{text}\n");
        self.answer.write_all(line.as_bytes()).await.unwrap();
    }
}

async fn open(agent: AcpAgent, gateway: &Gateway) -> Bench {
    let mut bench = Bench::of(std::sync::Arc::new(agent), None);
    bench.agents.set_tool_relay(gateway.relay());
    bench.command(AgentCommand::Open {
        directories: vec![Uri::from("file:///usr")],
        config: None,
        notes: AgentNotes::new(),
    });
    bench.until("opened").await;
    bench.command(AgentCommand::SetClientTools {
        tools: vec![ClientTool {
            client: "editor".into(),
            name: "editor_run".to_owned(),
            definition: wire::from_str(r#"{"name":"run","title":"Run Tests"}"#).unwrap(),
        }],
    });
    bench.command(AgentCommand::SetMcpTools {
        tools: vec![McpTool {
            server: CustomizationId::from("weather"),
            name: "weather_get".to_owned(),
            original_name: "get".to_owned(),
            title: None,
            description: None,
            ui: None,
        }],
    });
    bench
}

fn hand_over_call(bench: &mut Bench, call: &str, tool: &str, input: &Value) {
    bench.command(AgentCommand::HandOverToolCall {
        chat: chat(),
        turn: TurnId::from("t1"),
        call: ToolCallId::from(call),
        tool: tool.to_owned(),
        input: input.to_string(),
    });
}

fn complete_call(bench: &mut Bench, call: &str) {
    let result = ToolCallResult {
        success: true,
        past_tense_message: "Done".into(),
        content: None,
        structured_content: None,
        error: None,
    };
    bench.command(AgentCommand::CompleteToolCall {
        chat: chat(),
        turn: TurnId::from("t1"),
        call: ToolCallId::from(call),
        result: Box::new(result),
    });
}

/// The next call that begins: its name, its tool, and whose it is.
async fn next_started_call(bench: &mut Bench) -> (String, String, Option<ToolCallContributor>) {
    loop {
        if let AgentEvent::Chat { action, .. } = bench.event().await
            && let ChatAction::ToolCallStart(start) = *action
        {
            let id = start.target.tool_call_id.to_string();
            return (id, start.tool_name, start.contributor);
        }
    }
}

#[tokio::test]
async fn every_chat_can_call_host_tools() {
    let gateway = Gateway::new();
    for mode in ["", "fork"] {
        let mut bench = open(agent(mode), &gateway).await;
        let first = uris::default_chat_uri(&session());
        let copy = Uri::from("ahp-chat:/copy");
        for (number, of) in [first.clone(), chat(), copy.clone()].iter().enumerate() {
            if *of == copy {
                bench.command(AgentCommand::OpenChat {
                    chat: copy.clone(),
                    context: ChatContext::History {
                        turns: List::new(),
                        copy_of: Some(first.clone()),
                    },
                });
            }
            let turn = format!("t{number}");
            bench.command(AgentCommand::Prompt {
                chat: of.clone(),
                turn: TurnId::from(turn.as_str()),
                message: Message::of_user("mcp list;; mcp quiet weather_get {}").into(),
                history: List::new(),
                prepared: Default::default(),
            });
            let call = gateway.next_call().await;
            assert_eq!(call.chat, of.to_string(), "{mode}");
            call.answer("rain").await;
            // Text that comes quickly is merged, so only all of it is certain.
            let events = finish_turn(&mut bench, &turn).await.concat();
            let events = events.replace("\"text \"", "");
            let expected = format!("text \"editor_run, weather_getrain\"end {turn}");
            assert_eq!(events, expected);
        }
    }
}

#[tokio::test]
async fn an_agent_without_host_tool_access_gets_no_gateway() {
    let gateway = Gateway::new();
    let profile = AcpProfile {
        host_tools: HostToolAccess::Withheld,
        ..AcpProfile::default()
    };
    let mut bench = open(agent("").with_profile(profile), &gateway).await;
    let events = run_turn(&mut bench, "t1", "mcp list").await;
    assert_eq!(events[0], "text \"there is no server `agenthost`\"");
}

/// TOO-2, MCP-11
#[tokio::test]
async fn calls_of_mcp_tools_are_reported_by_the_agent() {
    let gateway = Gateway::new();
    for mode in ["", "codex", "gemini", "goose"] {
        let mut bench = open(agent(mode), &gateway).await;
        bench.prompt("t1", r#"mcp call weather_get {"city":"Oslo"}"#);
        let (_, tool, contributor) = next_started_call(&mut bench).await;
        assert_eq!(tool, "get", "{mode}");
        let Some(ToolCallContributor::Mcp(server)) = contributor else {
            panic!("{mode}: {contributor:?}");
        };
        assert_eq!(server.customization_id.as_str(), "weather");
        assert_eq!(bench.next().await, "ready get and runs");
        let call = gateway.next_call().await;
        assert_eq!(call.call["arguments"], json!({"city": "Oslo"}));
        call.answer("rain").await;
        let events = finish_turn(&mut bench, "t1").await;
        assert_eq!(events, ["complete true null", "text \"rain\"", "end t1"]);
    }
}

/// CLT-4
#[tokio::test]
async fn calls_of_client_tools_are_completed_by_the_client() {
    let gateway = Gateway::new();
    for mode in ["", "codex", "gemini", "goose"] {
        let mut bench = open(agent(mode), &gateway).await;
        let input = json!({"pattern": "a"});
        bench.prompt("t1", &format!("mcp call editor_run {input}"));
        let (id, tool, contributor) = next_started_call(&mut bench).await;
        assert_eq!(tool, "run", "{mode}");
        let Some(ToolCallContributor::Client(client)) = contributor else {
            panic!("{mode}: {contributor:?}");
        };
        assert_eq!(client.client_id.as_str(), "editor");
        let call = gateway.next_call().await;
        // The host makes it ready, its client completes it.
        hand_over_call(&mut bench, &id, "editor_run", &input);
        complete_call(&mut bench, &id);
        call.answer("all green").await;
        let mut events = finish_turn(&mut bench, "t1").await;
        events.retain(|event| !event.starts_with("ToolCallDelta"));
        assert_eq!(events, ["text \"all green\"", "end t1"], "{mode}");
    }
}

#[tokio::test]
async fn a_client_tool_call_announced_late_is_published_once() {
    let gateway = Gateway::new();
    let mut bench = open(agent(""), &gateway).await;
    let input = json!({"pattern": "a"});
    bench.prompt("t1", &format!("mcp late editor_run {input}"));
    let call = gateway.next_call().await;
    hand_over_call(&mut bench, "host-1", "editor_run", &input);
    complete_call(&mut bench, "host-1");
    call.answer("all green").await;
    let events = finish_turn(&mut bench, "t1").await;
    assert_eq!(events, ["text \"all green\"", "end t1"]);
}

/// TOO-27
#[tokio::test]
async fn an_announced_client_tool_call_without_a_request_ends_with_its_turn() {
    let gateway = Gateway::new();
    let mut bench = open(agent(""), &gateway).await;
    let events = run_turn(&mut bench, "t1", "mcp announce editor_run {}").await;
    assert_eq!(events[0], "start run");
    let tail = events.get(events.len() - 3..).unwrap();
    let expected = ["ready Run Tests and asks", "complete false null", "end t1"];
    assert_eq!(tail, expected, "{events:?}");
}

#[tokio::test]
async fn a_denied_client_tool_is_not_called() {
    let gateway = Gateway::new();
    let mut bench = open(agent(""), &gateway).await;
    bench.prompt("t1", "mcp ask editor_run {}");
    let (id, ..) = next_started_call(&mut bench).await;
    bench.until("ready Run Tests and asks").await;
    bench.command(AgentCommand::DecideToolCall {
        chat: chat(),
        turn: TurnId::from("t1"),
        call: ToolCallId::from(id),
        decision: agenthost_core::agent::ToolCallDecision::Denied {
            option: None,
            reason: agenthost_protocol::chat::CancellationReason::Denied,
            suggestion: None,
        },
    });
    let events = finish_turn(&mut bench, "t1").await;
    assert_eq!(events, ["text \"it was refused\"", "end t1"]);
}
