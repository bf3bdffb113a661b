//! The configured MCP servers of an agent, in the encoding of ACP.

use agenthost_agents::McpReach;
use agenthost_core::tools::mcp::transport::{EnvRef, McpServerSpec, McpTransport};
use serde_json::{Value, json};

use crate::process_pool::launch::resolve_reference;

/// An MCP server that the agent starts or connects to itself. Values of environment variables
/// and words of headers may be `$NAME`, which refers to a variable of the host.
pub type AgentMcpServer = McpServerSpec<String, EnvRef>;

/// The configured servers, divided by the capabilities of an agent.
#[derive(Clone, Default)]
pub(crate) struct SupportedServers {
    /// The servers that the agent supports, as ACP describes them.
    pub(crate) servers: Vec<Value>,
    /// The names of the servers that the agent does not support.
    pub(crate) unsupported: Vec<String>,
    /// The transports that the agent supports.
    pub(crate) reach: McpReach,
}

/// Prints only the number of servers, because their URLs and headers may contain secrets.
impl std::fmt::Debug for SupportedServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SupportedServers")
            .field("servers", &self.servers.len())
            .field("left_out", &self.unsupported)
            .finish()
    }
}

impl SupportedServers {
    /// Divides servers by the capabilities in the agent's `initialize` response.
    pub(crate) fn select(servers: &[AgentMcpServer], initialized: &Value) -> Self {
        let http = initialized.pointer("/agentCapabilities/mcpCapabilities/http");
        let supports_http = http == Some(&Value::Bool(true));
        let mut supported = SupportedServers {
            reach: if supports_http {
                McpReach::StdioAndHttp
            } else {
                McpReach::StdioOnly
            },
            ..SupportedServers::default()
        };
        for server in servers {
            match &server.transport {
                McpTransport::Http { .. } if !supports_http => {
                    supported.unsupported.push(server.name.clone())
                }
                McpTransport::Http { .. } | McpTransport::Stdio { .. } => {
                    supported.servers.push(to_acp_server(server));
                }
            }
        }
        supported
    }
}

/// Returns a server as `session/new` describes it. The agent chooses the working directory of
/// the program.
fn to_acp_server(server: &AgentMcpServer) -> Value {
    let name = &server.name;
    match &server.transport {
        McpTransport::Stdio {
            command,
            arguments,
            environment,
            directory: _,
        } => {
            let resolve = |value: &str| resolve_reference(value)?.into_string().ok();
            let env = to_name_values(environment, resolve);
            json!({"name": name, "command": command, "args": arguments, "env": env})
        }
        McpTransport::Http { url, headers } => {
            let headers = to_name_values(headers, resolve_words);
            json!({"type": "http", "name": name, "url": url, "headers": headers})
        }
    }
}

/// Converts pairs to names with values. Pairs that refer to a missing variable of the host are
/// left out.
fn to_name_values(
    pairs: &[(String, EnvRef)],
    resolve: impl Fn(&str) -> Option<String>,
) -> Vec<Value> {
    let pairs = pairs.iter();
    let pairs =
        pairs.filter_map(|(name, text)| Some(json!({"name": name, "value": resolve(&text.0)?})));
    pairs.collect()
}

/// Resolves the references in a header such as `Bearer $TOKEN`.
fn resolve_words(value: &str) -> Option<String> {
    let words = value.split(' ');
    let words = words.map(|word| resolve_reference(word)?.into_string().ok());
    Some(words.collect::<Option<Vec<_>>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<AgentMcpServer> {
        let pair = |name: &str, value: &str| (name.to_owned(), EnvRef(value.to_owned()));
        let program = McpTransport::Stdio {
            command: "tools".to_owned(),
            arguments: vec!["-x".to_owned()],
            environment: vec![
                pair("A", "1"),
                pair("P", "$PATH"),
                pair("N", "$NO_SUCH_NAME"),
            ],
            directory: None,
        };
        let http = McpTransport::Http {
            url: "http://127.0.0.1/mcp".to_owned(),
            headers: vec![
                pair("Authorization", "Bearer $PATH"),
                pair("X", "a $NO_SUCH_NAME"),
            ],
        };
        let server = |name: &str, transport| AgentMcpServer {
            name: name.to_owned(),
            transport,
        };
        vec![server("one", program), server("two", http)]
    }

    #[test]
    fn environment_references_are_resolved_and_hidden_in_debug_output() {
        let initialized = json!({"agentCapabilities": {"mcpCapabilities": {"http": true}}});
        let supported = SupportedServers::select(&servers(), &initialized);
        let path = std::env::var("PATH").unwrap();
        assert_eq!(
            Value::Array(supported.servers.clone()),
            json!([
                {"name": "one", "command": "tools", "args": ["-x"],
                    "env": [{"name": "A", "value": "1"}, {"name": "P", "value": path}]},
                {"type": "http", "name": "two", "url": "http://127.0.0.1/mcp",
                    "headers": [{"name": "Authorization", "value": format!("Bearer {path}")}]},
            ])
        );
        for shown in [format!("{supported:?}"), format!("{:?}", servers())] {
            assert!(
                !shown.contains(&path) && !shown.contains("Bearer"),
                "{shown}"
            );
        }
    }

    #[test]
    fn mcp_servers_with_an_unsupported_transport_are_left_out() {
        let supported = SupportedServers::select(&servers(), &json!({}));
        assert_eq!(supported.servers.len(), 1);
        assert_eq!(supported.unsupported, ["two"]);
    }
}
