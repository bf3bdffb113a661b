//! The gateway, which offers the tools of all MCP servers of a session as one server.

use std::process::Stdio;

use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent};
use agenthost_mcp::{McpConfig, RelayError, RelayTarget, relay};
use agenthost_protocol::uri::Uri;
use agenthost_testkit::acp_agent::agent_command;
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::agent::Agent;
use super::harness::{DEADLINE, McpHarness, chat, client_tool, program, session, web};

/// Environment variable that makes this process a relay.
const AS_RELAY: &str = "AGENTHOST_TEST_RELAY";

/// Runs the relay and exits, if this process was started as one.
pub(crate) fn play_relay() {
    if std::env::var_os(AS_RELAY).is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let target = RelayTarget::from_environment().unwrap();
    let ended = runtime.block_on(relay(target, tokio::io::stdin(), tokio::io::stdout()));
    std::process::exit(i32::from(ended.is_err()));
}

#[tokio::test]
async fn tools_of_all_servers_are_listed_and_callable() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let tools = agent.tools().await;
    assert_eq!(tools.len(), 24);
    for prefix in ["test", "web"] {
        let name = |tool: &str| format!("{prefix}_{tool}");
        assert!(tools.contains(&name("echo")), "{tools:?}");
        let said = agent.call(&name("echo"), json!({"text": "hi ☃"})).await;
        assert_eq!(
            said["result"],
            json!({"content": [{"type": "text", "text": "hi ☃"}], "isError": false})
        );
        let sum = agent.call(&name("add"), json!({"a": 2, "b": 3})).await;
        assert_eq!(sum["result"]["structuredContent"], json!({"sum": 5}));
        let image = agent.call(&name("image"), json!({})).await;
        assert_eq!(
            image["result"],
            json!({
                "content": [{"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}],
                "isError": false,
                "_meta": {"made": "by hand"},
            })
        );
        let failed = agent.call(&name("fail"), json!({})).await;
        assert_eq!(failed["result"]["isError"], true);
        let refused = agent.call(&name("refuse"), json!({})).await;
        assert_eq!(
            refused["error"],
            json!({"code": -32602, "message": "not like this"})
        );
        let big = agent.call(&name("big"), json!({"bytes": 5_000_000})).await;
        let text = big["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 5_000_000);
    }
    harness.end().await;
    assert!(agent.is_disconnected().await);
}

#[tokio::test]
async fn an_unknown_tool_or_method_is_an_error() {
    let harness = McpHarness::new();
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    assert_eq!(agent.tools().await, Vec::<String>::new());
    let unknown = agent.call("nothing", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    for wrong in [
        json!({"arguments": {}}),
        json!({"name": "nothing", "arguments": "text"}),
    ] {
        let refused = agent.request("tools/call", wrong).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let method = agent.request("prompts/list", json!({})).await;
    assert_eq!(method["error"]["code"], -32601);
    assert_eq!(agent.request("ping", json!({})).await["result"], json!({}));
    harness.end().await;
}

/// Many agents list the tools only once. An agent that connects while servers start gets their
/// tools, and servers that need a token or fail do not delay it.
#[tokio::test]
async fn an_agent_waits_for_servers_that_are_starting() {
    let locked = HttpServer::start(TestAuth {
        token: Some("secret".to_owned()),
        ..TestAuth::default()
    })
    .await;
    let mut harness = McpHarness::with(McpConfig {
        startup_wait: DEADLINE,
        ..McpConfig::default()
    });
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let asked = agent.start("tools/list", json!({})).await;
    harness
        .until(|event| matches!(event, McpEvent::ToolsRequested).then_some(()))
        .await;
    harness.start("a", program("plain"));
    harness.start("w", web(&locked.url()));
    harness.start("x", program("die"));
    harness.execute(McpCommand::SetClientTools {
        session: session(),
        tools: vec![client_tool("open")],
    });
    let answer = agent.answer(asked).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 13, "{tools:?}");
    harness.end().await;
}

#[tokio::test]
async fn agents_are_notified_of_changed_tools() {
    let mut harness = McpHarness::new();
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    harness.start("a", program("plain"));
    harness.ready().await;
    agent
        .wait_for_notification("notifications/tools/list_changed")
        .await;
    assert_eq!(agent.tools().await.len(), 12);
    agent.call("test_change_tools", json!({})).await;
    let changed = |tools: &[agenthost_core::tools::mcp::driver::McpTool]| tools.len() == 13;
    harness.tools(changed).await;
    agent
        .wait_for_notification("notifications/tools/list_changed")
        .await;
    assert!(agent.tools().await.contains(&"test_extra".to_owned()));
    harness.stop_server("a");
    harness.stopped().await;
    agent
        .wait_for_notification("notifications/tools/list_changed")
        .await;
    let gone = agent.call("test_echo", json!({})).await;
    assert_eq!(gone["error"]["code"], -32602);
    harness.end().await;
}

#[tokio::test]
async fn tools_with_the_same_name_get_unique_names() {
    let mut harness = McpHarness::new();
    for name in ["a", "b"] {
        harness.start(name, program("plain"));
        harness.ready().await;
    }
    harness.execute(McpCommand::SetClientTools {
        session: session(),
        tools: vec![client_tool("test_echo")],
    });
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let tools = agent.tools().await;
    for name in ["test_echo", "test_echo_2", "test_echo_3"] {
        assert!(tools.contains(&name.to_owned()), "{tools:?}");
    }
    let said = agent.call("test_echo_3", json!({"text": "b"})).await;
    assert_eq!(said["result"]["content"][0]["text"], "b");
    harness.end().await;
}

#[tokio::test]
async fn progress_and_cancellation_are_forwarded() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    for tool in ["test_slow", "web_slow"] {
        let slow = json!({
            "name": tool, "arguments": {"steps": 3}, "_meta": {"progressToken": "mine"},
        });
        let id = agent.start("tools/call", slow).await;
        let progress = agent.wait_for_notification("notifications/progress").await;
        assert_eq!(progress["params"]["progressToken"], "mine");
        let cancelled = json!({"requestId": id, "reason": "enough"});
        agent.notify("notifications/cancelled", cancelled).await;
        // The server receives the cancellation, and handles other calls.
        let said = agent
            .call(&tool.replace("slow", "echo"), json!({"text": "on"}))
            .await;
        assert_eq!(said["result"]["content"][0]["text"], "on");
    }
    harness.end().await;
}

#[tokio::test]
async fn a_server_that_crashes_in_mid_call_fails_the_call() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let crashed = agent.call("test_crash", json!({})).await;
    assert_eq!(crashed["result"]["isError"], true);
    assert_eq!(
        harness.failed().await,
        "the server closed the connection\nit is all over, …"
    );
    // TOO-27: a server that has crashed can be started again.
    harness.start("a", program("plain"));
    harness.ready().await;
    let said = agent.call("test_echo", json!({"text": "again"})).await;
    assert_eq!(said["result"]["content"][0]["text"], "again");
    harness.end().await;
}

#[tokio::test]
async fn servers_get_only_their_configured_environment() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    for (name, expected) in [("TEST_SECRET", "hunter22"), ("CARGO_MANIFEST_DIR", "")] {
        let said = agent.call("test_variable", json!({ "name": name })).await;
        assert_eq!(said["result"]["content"][0]["text"], expected);
    }
    harness.end().await;
}

#[tokio::test]
async fn only_agents_with_a_valid_secret_can_connect() {
    let harness = McpHarness::new();
    let variables = |chat: &Uri| {
        harness
            .servers
            .gateway()
            .relay_environment(&session(), chat)
    };
    let own = variables(&chat());
    let others = variables(&Uri::new("ahp-chat:/other"));
    for wrong in [others[3].1.clone(), String::new(), "0".repeat(64)] {
        let mut forged = own.clone();
        forged[3].1 = wrong;
        let mut agent = Agent::connect(&forged);
        assert!(agent.is_disconnected().await);
        let refused = agent.relay.await.unwrap();
        assert!(matches!(refused, Err(RelayError::Rejected)));
    }
    for nonsense in [b"\xff\n".to_vec(), b"{}\n".to_vec(), vec![b'x'; 100_000]] {
        let mut stream = UnixStream::connect(&own[0].1).await.unwrap();
        // The host may close the connection before it has read everything.
        stream.write_all(&nonsense).await.unwrap_or_default();
        let mut heard = Vec::new();
        let reading = stream.read_to_end(&mut heard);
        // The connection may be closed or reset.
        drop(tokio::time::timeout(DEADLINE, reading).await.unwrap());
        assert_eq!(heard, b"");
    }
    assert!(!format!("{:?}", harness.servers).contains("secret"));
    harness.end().await;
}

#[tokio::test]
async fn a_relay_process_copies_messages() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    let (program, arguments) = agent_command("as_relay");
    let mut relay = tokio::process::Command::new(program)
        .args(arguments)
        .env(AS_RELAY, "1")
        .envs(
            harness
                .servers
                .gateway()
                .relay_environment(&session(), &chat()),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = relay.stdin.take().unwrap();
    let mut output = BufReader::new(relay.stdout.take().unwrap()).lines();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "test_echo", "arguments": {"text": "through a pipe"},
    }});
    input
        .write_all(format!("{hello}\n{call}\n").as_bytes())
        .await
        .unwrap();
    let answer = async {
        while let Some(line) = output.next_line().await.unwrap() {
            if line.contains("through a pipe") {
                return;
            }
        }
        panic!("the relay has ended");
    };
    tokio::time::timeout(DEADLINE, answer).await.unwrap();
    // The relay exits when its agent closes the input.
    drop(input);
    let ended = tokio::time::timeout(DEADLINE, relay.wait()).await;
    assert!(ended.unwrap().unwrap().success());
    harness.end().await;
}

#[tokio::test]
async fn a_relay_ends_with_its_session() {
    let harness = McpHarness::new();
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    harness.execute(McpCommand::EndSession { session: session() });
    assert!(agent.is_disconnected().await);
    agent.relay.await.unwrap().unwrap();
    harness.end().await;
}

#[tokio::test]
async fn an_oversized_http_response_fails_its_call() {
    for server in [
        HttpServer::start(TestAuth::default()).await,
        HttpServer::start_stateless(TestAuth::default()).await,
    ] {
        let mut harness = McpHarness::new();
        harness.start("w", web(&server.url()));
        harness.ready().await;
        let mut agent = Agent::connect_chat(&harness, &chat()).await;
        let big = agent.call("web_big", json!({"bytes": 20_000_000})).await;
        assert!(big["error"].is_object() || big["result"]["isError"] == true);
        let said = agent.call("web_echo", json!({"text": "on"})).await;
        assert_eq!(said["result"]["content"][0]["text"], "on");
        harness.end().await;
    }
}
