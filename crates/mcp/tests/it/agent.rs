//! An agent as the gateway sees it: the client behind a relay.

use std::collections::VecDeque;

use agenthost_mcp::{RelayError, RelayTarget, relay};
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;

use super::harness::{DEADLINE, McpHarness, session};

pub(crate) struct Agent {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    /// Messages of the host that the test has not waited for yet.
    heard: VecDeque<Value>,
    next: u64,
    pub(crate) relay: JoinHandle<Result<(), RelayError>>,
}

impl Agent {
    /// Connects an agent of a chat through a relay, and performs the handshake.
    pub(crate) async fn connect_chat(harness: &McpHarness, chat: &Uri) -> Self {
        let variables = harness
            .servers
            .gateway()
            .relay_environment(&session(), chat);
        let mut agent = Self::connect(&variables);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "agent", "version": "1"},
        });
        let answer = agent.request("initialize", hello).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "agenthost");
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        agent.notify("notifications/initialized", json!({})).await;
        agent
    }

    /// Starts a relay with these environment variables, without a handshake.
    pub(crate) fn connect(variables: &[(String, String)]) -> Self {
        let value = |name: &str| {
            let mut named = variables.iter().filter(|(one, _)| one == name);
            named.next().map(|(_, value)| value.clone())
        };
        let target = RelayTarget::from_variables(value).unwrap();
        let (input, relay_input) = tokio::io::duplex(1024 * 1024);
        let (output, relay_output) = tokio::io::duplex(1024 * 1024);
        let relay = tokio::spawn(relay(target, relay_input, relay_output));
        Agent {
            input,
            output: BufReader::new(output).lines(),
            heard: VecDeque::new(),
            next: 1,
            relay,
        }
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id).await
    }

    pub(crate) async fn wait_for_notification(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await
    }

    pub(crate) async fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&wanted) {
            return self.heard.remove(at).unwrap();
        }
        loop {
            let line = tokio::time::timeout(DEADLINE, self.output.next_line()).await;
            let Ok(line) = line else {
                panic!("waited for nothing; heard {:?}", self.heard);
            };
            let line = line.unwrap().expect("the host is there");
            let message: Value = serde_json::from_str(&line).unwrap();
            if wanted(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// Waits for the host to close the connection. Returns `false` if it stays open.
    pub(crate) async fn is_disconnected(&mut self) -> bool {
        let rest = async { while let Ok(Some(_)) = self.output.next_line().await {} };
        tokio::time::timeout(DEADLINE, rest).await.is_ok()
    }
}
