//! Connects agents with the host's tools through the MCP gateway.
//!
//! Most agents start MCP servers themselves. The host gives them a relay program, which
//! copies messages between the agent and the host. Its environment identifies the session
//! and the chat. Other agents only connect to servers, and receive an HTTP URL instead.

use std::sync::Arc;

use agenthost_core::resource::uris;
use agenthost_protocol::uri::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the gateway as an MCP server of an agent.
pub const GATEWAY_SERVER_NAME: &str = "agenthost";

/// The URL of the gateway and the headers of requests to it.
pub type HttpTarget = (String, Vec<(String, String)>);

type HttpTargetFn = dyn Fn(&Uri, &Uri) -> Option<HttpTarget> + Send + Sync;
type EnvironmentFn = dyn Fn(&Uri, &Uri) -> Vec<(String, String)> + Send + Sync;

/// The relay program that connects agents with the host's tools. Every agent session gets
/// one, for its chat.
#[derive(Clone)]
pub struct ToolRelay {
    program: String,
    arguments: Vec<String>,
    environment: Arc<EnvironmentFn>,
    http_target: Option<Arc<HttpTargetFn>>,
}

/// The transport for MCP servers that an agent prefers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpPreference {
    /// The agent starts the server as a program.
    #[default]
    Stdio,
    /// The agent connects to an HTTP URL.
    Http,
}

impl ToolRelay {
    /// Creates a relay from a program, its arguments, and a function that returns its
    /// environment for a session (first argument) and a chat.
    pub fn new(
        program: impl Into<String>,
        arguments: Vec<String>,
        environment: impl Fn(&Uri, &Uri) -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        ToolRelay {
            program: program.into(),
            arguments,
            environment: Arc::new(environment),
            http_target: None,
        }
    }

    /// Adds a function that returns the HTTP URL and headers for a session and a chat, or
    /// `None` if HTTP is not available.
    #[must_use]
    pub fn with_http_target(
        mut self,
        http_target: impl Fn(&Uri, &Uri) -> Option<HttpTarget> + Send + Sync + 'static,
    ) -> Self {
        self.http_target = Some(Arc::new(http_target));
        self
    }
}

/// Omits the environment, which contains the secret that authenticates the relay.
impl std::fmt::Debug for ToolRelay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolRelay")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// The gateway to the host's tools for the chats of one session.
#[derive(Debug, Clone)]
pub struct SessionGateway {
    relay: ToolRelay,
    session: Uri,
    preference: McpPreference,
}

impl SessionGateway {
    /// Creates the gateway of a session for an agent with the given preference.
    pub fn new(relay: ToolRelay, session: Uri, preference: McpPreference) -> Self {
        SessionGateway {
            relay,
            session,
            preference,
        }
    }

    /// Returns the gateway as an MCP server in the ACP encoding, or `None` if the agent
    /// can't reach it. Without a chat, it is for the default chat of the session.
    pub fn to_acp_server(&self, chat: Option<&Uri>, reach: McpReach) -> Option<Value> {
        let first = uris::default_chat_uri(&self.session);
        let chat = chat.unwrap_or(&first);
        match (self.preference, reach) {
            (McpPreference::Stdio, _) => Some(json!({
                "name": GATEWAY_SERVER_NAME,
                "command": self.relay.program,
                "args": self.relay.arguments,
                "env": to_name_values((self.relay.environment)(&self.session, chat)),
            })),
            (McpPreference::Http, McpReach::StdioAndHttp) => {
                let (url, headers) = self.relay.http_target.as_ref()?(&self.session, chat)?;
                let headers = to_name_values(headers);
                Some(
                    json!({"type": "http", "name": GATEWAY_SERVER_NAME, "url": url, "headers": headers}),
                )
            }
            (McpPreference::Http, McpReach::StdioOnly) => None,
        }
    }
}

/// The transports for MCP servers that an agent supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum McpReach {
    /// Programs only, which all agents support.
    #[default]
    StdioOnly,
    /// Programs and HTTP URLs.
    StdioAndHttp,
}

fn to_name_values(pairs: Vec<(String, String)>) -> Vec<Value> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay() -> ToolRelay {
        ToolRelay::new("relay", vec!["-x".to_owned()], |session, chat| {
            vec![("KEY".to_owned(), format!("$secret {session} {chat}"))]
        })
    }

    #[test]
    fn each_chat_has_its_own_relay_with_a_hidden_secret() {
        let session = Uri::from("ahp-session:/1");
        let gateway = SessionGateway::new(relay(), session, McpPreference::Stdio);
        let chat = Uri::from("ahp-chat:/2");
        // Values are passed literally, even if they look like a reference.
        assert_eq!(
            gateway
                .to_acp_server(Some(&chat), McpReach::StdioAndHttp)
                .unwrap(),
            json!({"name": "agenthost", "command": "relay", "args": ["-x"],
                "env": [{"name": "KEY", "value": "$secret ahp-session:/1 ahp-chat:/2"}]})
        );
        let first = uris::default_chat_uri(&Uri::from("ahp-session:/1"));
        let told = |chat| gateway.to_acp_server(chat, McpReach::StdioOnly);
        assert_eq!(told(None), told(Some(&first)));
        let shown = format!("{gateway:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn an_agent_that_prefers_http_gets_a_url_if_it_supports_http() {
        let session = Uri::from("ahp-session:/1");
        let chat = Uri::from("ahp-chat:/2");
        let without = SessionGateway::new(relay(), session.clone(), McpPreference::Http);
        assert_eq!(
            without.to_acp_server(Some(&chat), McpReach::StdioAndHttp),
            None
        );
        let web = relay().with_http_target(|session, chat| {
            let header = ("Authorization".to_owned(), format!("{session} {chat}"));
            Some(("http://127.0.0.1:1/mcp".to_owned(), vec![header]))
        });
        let gateway = SessionGateway::new(web, session, McpPreference::Http);
        assert_eq!(
            gateway.to_acp_server(Some(&chat), McpReach::StdioOnly),
            None
        );
        assert_eq!(
            gateway
                .to_acp_server(Some(&chat), McpReach::StdioAndHttp)
                .unwrap(),
            json!({"type": "http", "name": "agenthost", "url": "http://127.0.0.1:1/mcp",
                "headers": [{"name": "Authorization", "value": "ahp-session:/1 ahp-chat:/2"}]})
        );
    }
}
