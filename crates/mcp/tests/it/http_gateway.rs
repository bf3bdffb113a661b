//! The gateway by HTTP: agents get the same tools as through a relay, and other programs get none.

use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent};
use agenthost_mcp::HttpGatewayTarget;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::harness::{DEADLINE, McpHarness, chat, client_tool, program, session};

/// An agent that uses the gateway by HTTP.
struct Agent {
    place: HttpGatewayTarget,
    client: Client,
    visit: Option<String>,
    asked: u64,
}

fn client() -> Client {
    let nobody = RootCertStore::empty();
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(nobody)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .timeout(DEADLINE)
        .build()
        .unwrap()
}

impl Agent {
    async fn connect_chat(harness: &McpHarness, chat: &Uri) -> Self {
        let place = harness
            .servers
            .http_gateway()
            .target_for(&session(), chat)
            .unwrap();
        let mut agent = Agent {
            place,
            client: client(),
            visit: None,
            asked: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "agent", "version": "1"},
        });
        let answer = agent.start("initialize", hello).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let visit = answer.headers()["mcp-session-id"].to_str().unwrap();
        agent.visit = Some(visit.to_owned());
        let hello: Value = answer.json().await.unwrap();
        assert_eq!(hello["result"]["serverInfo"]["name"], "agenthost");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = agent.post(&initialized).send().await.unwrap();
        assert_eq!(told.status(), StatusCode::ACCEPTED);
        agent
    }

    fn with(&self, request: RequestBuilder) -> RequestBuilder {
        let mut request = request;
        for (name, value) in &self.place.headers {
            request = request.header(name, value);
        }
        match &self.visit {
            Some(visit) => request.header("mcp-session-id", visit),
            None => request,
        }
    }

    fn post(&self, message: &Value) -> RequestBuilder {
        self.with(self.client.post(&self.place.url)).json(message)
    }

    async fn start(&mut self, method: &str, params: Value) -> Response {
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(&message).send().await.unwrap()
    }

    async fn tools(&mut self) -> Vec<String> {
        let listed: Value = self
            .start("tools/list", json!({}))
            .await
            .json()
            .await
            .unwrap();
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Response {
        let params = json!({"name": tool, "arguments": arguments});
        self.start("tools/call", params).await
    }
}

/// Returns the next message of an event stream.
async fn next_message(stream: &mut Response) -> Value {
    let mut text = String::new();
    loop {
        let piece = stream.chunk().await.unwrap().expect("more is said");
        text.push_str(std::str::from_utf8(&piece).unwrap());
        let data = text.lines().find_map(|line| line.strip_prefix("data: "));
        if let (Some(data), true) = (data, text.ends_with("\n\n")) {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[tokio::test]
async fn tools_are_listed_called_and_change() {
    let mut harness = McpHarness::new();
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    assert_eq!(agent.tools().await, Vec::<String>::new());
    let listening = agent.with(agent.client.get(&agent.place.url));
    let mut notices = listening.send().await.unwrap();
    assert_eq!(notices.headers()["content-type"], "text/event-stream");
    harness.start("a", program("plain"));
    harness.ready().await;
    let told = next_message(&mut notices).await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(agent.tools().await.len(), 12);
    let mut said = agent.call("test_echo", json!({"text": "hi ☃"})).await;
    let said = next_message(&mut said).await;
    assert_eq!(said["result"]["content"][0]["text"], "hi ☃");
    assert_eq!(said["id"], "ask-4");
    let unknown: Value = agent
        .start("prompts/list", json!({}))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(unknown["error"]["code"], -32601);
    let bye = agent.with(agent.client.delete(&agent.place.url));
    assert_eq!(bye.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let late = agent.start("ping", json!({})).await;
    assert_eq!(late.status(), StatusCode::NOT_FOUND);
    harness.end().await;
}

#[tokio::test]
async fn calls_are_attributed_to_the_chat_of_their_secret() {
    let mut harness = McpHarness::new();
    harness.execute(McpCommand::SetClientTools {
        session: session(),
        tools: vec![client_tool("open")],
    });
    let other = Uri::new("ahp-chat:/c2");
    let mut first = Agent::connect_chat(&harness, &chat()).await;
    let mut second = Agent::connect_chat(&harness, &other).await;
    assert_eq!(first.place.url, second.place.url);
    assert_ne!(first.place.headers, second.place.headers);
    for (agent, expected) in [(&mut first, chat()), (&mut second, other)] {
        let mut answer = agent.call("open", json!({"file": "x"})).await;
        let (chat, call) = harness
            .until(|event| match event {
                McpEvent::ClientToolCalled { chat, call, .. } => Some((chat.clone(), *call)),
                _ => None,
            })
            .await;
        assert_eq!(chat, expected);
        let result = json!({"success": true, "pastTenseMessage": "Opened",
            "content": [{"type": "text", "text": "it is open"}]});
        let result = Box::new(wire::from_str(&result.to_string()).unwrap());
        harness.execute(McpCommand::CompleteCall { call, result });
        let answer = next_message(&mut answer).await;
        assert_eq!(answer["result"]["content"][0]["text"], "it is open");
    }
    // The MCP session of one chat is not valid in another one.
    first.visit.clone_from(&second.visit);
    let stolen = first.start("ping", json!({})).await;
    assert_eq!(stolen.status(), StatusCode::NOT_FOUND);
    harness.end().await;
}

#[tokio::test]
async fn only_local_agents_with_a_valid_secret_are_accepted() {
    let harness = McpHarness::new();
    let agent = Agent::connect_chat(&harness, &chat()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (url, secret) = (&agent.place.url, &agent.place.headers[0].1);
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let plain = || agent.client.post(url).json(&ping);
    assert_eq!(status(plain()).await, StatusCode::UNAUTHORIZED);
    for wrong in ["Bearer", "Bearer x", "Basic x", &secret[..secret.len() - 1]] {
        let request = plain().header("authorization", wrong);
        assert_eq!(status(request).await, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let refused = plain().send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    let port = url.split(':').nth(2).unwrap().trim_end_matches("/mcp");
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1:1",
    ] {
        let request = agent.post(&ping).header("host", host);
        assert_eq!(status(request).await, StatusCode::FORBIDDEN, "{host}");
    }
    let page = agent.post(&ping).header("origin", "https://evil.example");
    assert_eq!(status(page).await, StatusCode::FORBIDDEN);
    let page = agent.post(&ping).header("origin", "http://localhost:5173");
    assert_eq!(status(page).await, StatusCode::OK);
    let elsewhere = agent
        .with(agent.client.post(format!("{url}/x")))
        .json(&ping);
    assert_eq!(status(elsewhere).await, StatusCode::NOT_FOUND);
    for nonsense in ["", "[]", "nonsense"] {
        let request = agent.with(agent.client.post(url)).body(nonsense);
        assert_eq!(status(request).await, StatusCode::BAD_REQUEST, "{nonsense}");
    }
    let long = agent
        .with(agent.client.post(url))
        .header("content-length", "99999999");
    // The agent gets this response before it has sent the whole body, or its connection is closed.
    if let Ok(answer) = long.body(vec![b' '; 99_999_999]).send().await {
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
    let bare = agent.client.get(url).header("authorization", secret);
    assert_eq!(status(bare).await, StatusCode::METHOD_NOT_ALLOWED);
    let put = agent.with(agent.client.put(url));
    assert_eq!(status(put).await, StatusCode::METHOD_NOT_ALLOWED);
    let shown = format!("{:?} {:?}", agent.place, harness.servers.http_gateway());
    assert!(!shown.contains("Bearer"), "{shown}");
    // The secret is invalid after the session has ended.
    harness.execute(McpCommand::EndSession { session: session() });
    assert_eq!(status(agent.post(&ping)).await, StatusCode::UNAUTHORIZED);
    let (client, url) = (agent.client.clone(), url.clone());
    harness.end().await;
    assert!(client.get(url).send().await.is_err());
}

/// Idle connections are closed in favor of new ones.
#[tokio::test]
async fn idle_connections_do_not_keep_an_agent_out() {
    let harness = McpHarness::new();
    let mut before = Agent::connect_chat(&harness, &chat()).await;
    let address = before.place.url.clone();
    let address = address.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let coming_in = async {
        let mut idle = Vec::new();
        for _ in 0..300 {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut agent = Agent::connect_chat(&harness, &Uri::new("ahp-chat:/c2")).await;
        assert_eq!(agent.tools().await, Vec::<String>::new());
        for stream in &mut idle[..100] {
            let mut rest = Vec::new();
            // The connection may be closed or reset.
            drop(stream.read_to_end(&mut rest).await);
        }
        idle
    };
    // An idle connection may stay for 10 s if it is not evicted.
    let coming_in = tokio::time::timeout(Duration::from_secs(5), coming_in).await;
    let _idle = coming_in.expect("idle connections kept an agent out");
    assert_eq!(before.tools().await, Vec::<String>::new());
    harness.end().await;
}

/// A malformed message is rejected at once, so that the agent does not wait for an answer.
#[tokio::test]
async fn malformed_messages_are_refused_at_once() {
    let harness = McpHarness::new();
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    for (malformed, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc": "2.0", "id": 1}"#, -32600),
        (r#"{"id": 1, "method": "ping"}"#, -32600),
        (r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": 5}"#, -32600),
        (
            r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#,
            -32600,
        ),
        (r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, -32600),
    ] {
        let post = agent.client.post(&agent.place.url).body(malformed);
        let answer = agent.with(post).send();
        let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
        let answer = answer.expect(malformed).unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{malformed}");
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{malformed}");
    }
    // Invalid parameters are rejected by the method.
    let params = json!({"name": 5});
    let mut answer = agent.start("tools/call", params).await;
    assert!(next_message(&mut answer).await["error"].is_object());
    let answer = agent.start("initialize", json!({})).await;
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["error"].is_object(), "{answer}");
    assert_eq!(agent.tools().await, Vec::<String>::new());
    harness.end().await;
}
