//! MCP servers in the host: agents call their tools, apps talk to them, and they get tokens.

use agenthost_core::tools::mcp::transport::Template;
use agenthost_customizations::CustomizationSettings;
use agenthost_customizations::parse::{DeclaredServer, DeclaredTransport};
use agenthost_testkit::acp_agent;
use agenthost_testkit::mcp_server::{self, HttpServer, TestAuth};
use serde_json::{Value, json};

use crate::customizations::TestWorkspace;
use crate::peer::Peer;
use crate::test_server::SESSION;

/// Entry point of the MCP server process. Does nothing in a regular test run.
#[test]
fn the_server() {
    mcp_server::run_as_server();
}

/// Returns an MCP server that runs as a child process.
pub(crate) fn program(name: &str, how: &str) -> DeclaredServer {
    let (command, arguments) = acp_agent::agent_command("tool_servers::the_server");
    DeclaredServer {
        name: name.to_owned(),
        transport: DeclaredTransport::Stdio {
            command: command.into(),
            arguments: arguments.into_iter().map(Template).collect(),
            environment: vec![(mcp_server::SERVER_MODE_VARIABLE.to_owned(), how.into())],
            directory: None,
        },
    }
}

pub(crate) fn with(servers: Vec<DeclaredServer>) -> CustomizationSettings {
    CustomizationSettings {
        servers,
        ..CustomizationSettings::default()
    }
}

pub(crate) fn state(peer: &Peer, name: &str) -> Value {
    let found = peer.customization(name);
    found.map_or(Value::Null, |found| found["state"]["kind"].clone())
}

/// MCP-1 to MCP-5, MCP-11: a server starts with the first turn, the agent can call its tools, and a
/// call names its server. When the server is stopped, its tools are removed.
#[tokio::test]
async fn an_agent_calls_tools_of_an_mcp_server() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(with(vec![program("calc", "plain")])).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    peer.until("the server", |peer| peer.customization("calc").is_some())
        .await;
    assert_eq!(state(&peer, "calc"), "stopped");
    // The state does not reveal how the server is launched (CUS-19).
    let shown = peer.session().to_string();
    assert!(!shown.contains(mcp_server::SERVER_MODE_VARIABLE), "{shown}");

    let said = peer.run_turn("t1", "mcp list").await;
    assert!(said.contains("calc_add"), "{said}");
    assert_eq!(state(&peer, "calc"), "ready");
    let blocked = peer.actions.iter().any(|action| {
        action["type"] == "session/mcpServerStateChanged" && action["state"]["blocking"] == true
    });
    assert!(blocked, "{:?}", peer.actions);
    peer.actions.clear();
    let said = peer
        .run_turn("t2", r#"mcp call calc_add {"a": 2, "b": 3}"#)
        .await;
    assert!(said.contains('5'), "{said}");
    let start = peer.action("chat/toolCallStart").await;
    let id = peer.customization("calc").unwrap()["id"].clone();
    assert_eq!(
        start["contributor"],
        json!({"kind": "mcp", "customizationId": id})
    );
    assert_eq!(start["toolName"], "add");

    // The server changes its list of tools, and the agent gets the new list.
    peer.run_turn("t3", "mcp call calc_change_tools {}").await;
    let said = peer.run_turn("t4", "mcp list").await;
    assert!(said.contains("calc_extra"), "{said}");

    let stop = json!({"type": "session/mcpServerStopRequested", "id": id});
    peer.dispatch(SESSION, stop).await;
    peer.until("the end", |peer| state(peer, "calc") == "stopped")
        .await;
    let said = peer.run_turn("t5", "mcp list").await;
    assert!(!said.contains("calc_"), "{said}");
    let start = json!({"type": "session/mcpServerStartRequested", "id": id});
    peer.dispatch(SESSION, start).await;
    peer.until("the start", |peer| state(peer, "calc") == "ready")
        .await;
    let said = peer
        .run_turn("t6", r#"mcp call calc_echo {"text": "again"}"#)
        .await;
    assert!(said.contains("again"), "{said}");

    // A server that crashes is shown with an error, and everything else continues.
    peer.run_turn("t7", "mcp call calc_crash {}").await;
    peer.until("the crash", |peer| state(peer, "calc") == "error")
        .await;
    assert_eq!(peer.run_turn("t8", "say still here").await, "still here");
    peer.check().await;
    server.stop().await.unwrap();
}

/// MCP-3, MCP-4: a client can let a turn continue without a server that hangs at its start.
#[tokio::test]
async fn a_turn_can_continue_without_a_hanging_mcp_server() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(with(vec![program("slow", "hang")])).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    peer.until("the server", |peer| peer.customization("slow").is_some())
        .await;
    peer.start_turn("t1", "say hello").await;
    peer.until("it to start", |peer| state(peer, "slow") == "starting")
        .await;
    assert_eq!(peer.chat()["activeTurn"]["responseParts"], json!([]));
    let id = peer.customization("slow").unwrap()["id"].clone();
    let background = json!({"type": "session/mcpServerBackgroundRequested", "id": id});
    peer.dispatch(SESSION, background).await;
    assert_eq!(peer.end("t1").await, "hello");
    server.stop().await.unwrap();
}

/// MCP-12 to MCP-16: a client that supports MCP apps talks to a server.
#[tokio::test]
async fn an_mcp_app_uses_its_server() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(with(vec![program("calc", "plain")])).await;
    let mut plain = Peer::join(&server, "plain").await;
    plain.open(workspace.project.path()).await;
    let apps = json!({"mcpApps": {}});
    let mut app = Peer::with(&server, "app", apps).await;
    app.subscribe_session().await;
    app.until("the server", |peer| peer.customization("calc").is_some())
        .await;
    let id = app.customization("calc").unwrap()["id"].clone();
    let start = json!({"type": "session/mcpServerStartRequested", "id": id});
    app.dispatch(SESSION, start).await;
    app.until("the start", |peer| state(peer, "calc") == "ready")
        .await;
    plain
        .until("the start", |peer| state(peer, "calc") == "ready")
        .await;
    let shown = app.customization("calc").unwrap();
    let channel = shown["channel"].as_str().unwrap().to_owned();
    assert!(channel.starts_with("mcp://"), "{channel}");
    assert!(
        shown["mcpApp"]["capabilities"].get("serverTools").is_some(),
        "{shown}"
    );
    let hidden = plain.customization("calc").unwrap();
    assert_eq!(hidden.get("channel"), None, "{hidden}");
    assert_eq!(hidden.get("mcpApp"), None, "{hidden}");

    let tools = app
        .request("tools/list", json!({"channel": channel}))
        .await
        .unwrap();
    assert!(tools["tools"][0]["name"].is_string(), "{tools}");
    let call = json!({"channel": channel, "name": "add", "arguments": {"a": 1, "b": 1}});
    let sum = app.request("tools/call", call.clone()).await.unwrap();
    assert_eq!(sum["content"][0]["text"], "2", "{sum}");
    let error = app
        .request("sampling/createMessage", json!({"channel": channel}))
        .await;
    assert_eq!(error.unwrap_err()["code"], -32601);
    let error = plain.request("tools/call", call).await;
    assert_eq!(error.unwrap_err()["code"], -32601);
    let error = app
        .request("tools/list", json!({"channel": "mcp://agenthost/no"}))
        .await;
    assert_eq!(error.unwrap_err()["code"], -32008);
    app.check().await;
    plain.check().await;
    server.stop().await.unwrap();
}

/// MCP-7, MCP-8, AUT-2 to AUT-6, AUT-12, TOO-18 to TOO-20: a server that requires OAuth reports its
/// challenge and gets a token, and a call that requires more scopes waits for them.
#[tokio::test]
async fn an_mcp_server_can_require_a_token() {
    let workspace = TestWorkspace::new();
    let protected = HttpServer::start(TestAuth {
        token: Some("secret-1".to_owned()),
        wide_token: Some("secret-2".to_owned()),
        ..TestAuth::default()
    })
    .await;
    let declared = DeclaredServer {
        name: "vault".to_owned(),
        transport: DeclaredTransport::Http {
            url: protected.url().into(),
            headers: Vec::new(),
        },
    };
    let server = workspace.serve(with(vec![declared])).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    peer.until("the server", |peer| peer.customization("vault").is_some())
        .await;
    // The turn does not wait until a user has authenticated.
    assert_eq!(peer.run_turn("t1", "say hi").await, "hi");
    peer.until("the challenge", |peer| {
        state(peer, "vault") == "authRequired"
    })
    .await;
    let shown = peer.customization("vault").unwrap()["state"].clone();
    assert_eq!(shown["reason"], "required");
    let resource = shown["resource"]["resource"].as_str().unwrap().to_owned();
    let servers = &shown["resource"]["authorization_servers"];
    assert!(servers[0].is_string(), "{shown}");

    let unknown =
        json!({"channel": "ahp-root://", "resource": "https://other.example", "token": "x"});
    assert_eq!(
        peer.request("authenticate", unknown).await.unwrap_err()["code"],
        -32602
    );
    let wrong = json!({"channel": "ahp-root://", "resource": resource, "token": "wrong"});
    peer.actions.clear();
    peer.request("authenticate", wrong).await.unwrap();
    let again = peer.action("session/mcpServerStateChanged").await;
    assert_eq!(again["state"]["kind"], "authRequired", "{again}");
    let right = json!({"channel": "ahp-root://", "resource": resource, "token": "secret-1"});
    peer.request("authenticate", right).await.unwrap();
    peer.until("it to be ready", |peer| state(peer, "vault") == "ready")
        .await;
    let said = peer
        .run_turn("t2", r#"mcp call vault_echo {"text": "inside"}"#)
        .await;
    assert!(said.contains("inside"), "{said}");

    // One call requires additional scopes.
    peer.start_turn("t3", "mcp call vault_needs_scope {}").await;
    let required = peer.action("chat/toolCallAuthRequired").await;
    assert_eq!(
        required["auth"]["reason"], "insufficientScope",
        "{required}"
    );
    assert_eq!(state(&peer, "vault"), "ready");
    let scopes = required["auth"]["requiredScopes"].clone();
    let more = json!({"channel": "ahp-root://", "resource": resource, "token": "secret-2", "scopes": scopes});
    peer.request("authenticate", more).await.unwrap();
    peer.action("chat/toolCallAuthResolved").await;
    let said = peer.end("t3").await;
    assert!(!said.contains("it failed"), "{said}");

    // No state contains a token.
    let seen = peer.session().to_string() + &peer.chat().to_string();
    assert!(!seen.contains("secret-"), "{seen}");
    // After the token is revoked, the server requires a new one.
    let revoked = json!({"channel": "ahp-root://", "resource": resource, "token": ""});
    peer.request("authenticate", revoked).await.unwrap();
    peer.until("the challenge", |peer| {
        state(peer, "vault") == "authRequired"
    })
    .await;
    server.stop().await.unwrap();
}
