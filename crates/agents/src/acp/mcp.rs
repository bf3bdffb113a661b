//! Servers of tools that an agent is to use.

use serde_json::{Value, json};

use super::process::resolve;
use crate::relay::Reaches;

/// A server that speaks the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpMcpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub way: AcpMcpWay,
}

/// How a server of tools is reached. The values of variables and headers may
/// be `$NAME`: that stands for what the host has in its environment.
#[derive(Clone, PartialEq, Eq)]
pub enum AcpMcpWay {
    /// The agent starts it.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// What it finds in its environment.
        environment: Vec<(String, String)>,
    },
    /// It is there already.
    Http {
        /// Where.
        url: String,
        /// What to send with each request. Of a value each word may be
        /// `$NAME`.
        headers: Vec<(String, String)>,
    },
}

/// Leaves out what the values are: they may be secret.
impl std::fmt::Debug for AcpMcpWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            AcpMcpWay::Program { .. } => "Program",
            AcpMcpWay::Http { .. } => "Http",
        };
        f.debug_struct(kind).finish_non_exhaustive()
    }
}

/// What an agent is told of servers, by what it said of itself.
#[derive(Clone, Default)]
pub(crate) struct Usable {
    /// Those that it can use, as it is told of them.
    pub(crate) servers: Vec<Value>,
    /// The names of those that it can't.
    pub(crate) left_out: Vec<String>,
    /// What it can reach at all.
    pub(crate) reaches: Reaches,
}

/// Shows how many, not how they are reached.
impl std::fmt::Debug for Usable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Usable")
            .field("servers", &self.servers.len())
            .field("left_out", &self.left_out)
            .finish()
    }
}

impl Usable {
    /// Sorts servers by what an agent said when it started.
    pub(crate) fn of(servers: &[AcpMcpServer], said: &Value) -> Self {
        let http = said.pointer("/agentCapabilities/mcpCapabilities/http");
        let http = http == Some(&Value::Bool(true));
        let mut usable = Usable {
            reaches: match http {
                true => Reaches::Web,
                false => Reaches::Programs,
            },
            ..Usable::default()
        };
        for server in servers {
            match &server.way {
                AcpMcpWay::Http { .. } if !http => usable.left_out.push(server.name.clone()),
                AcpMcpWay::Http { .. } | AcpMcpWay::Program { .. } => {
                    usable.servers.push(server.told());
                }
            }
        }
        usable
    }
}

impl AcpMcpServer {
    fn told(&self) -> Value {
        let name = &self.name;
        match &self.way {
            AcpMcpWay::Program {
                command,
                arguments,
                environment,
            } => {
                let value = |value: &str| resolve(value)?.into_string().ok();
                let env = pairs(environment, value);
                json!({"name": name, "command": command, "args": arguments, "env": env})
            }
            AcpMcpWay::Http { url, headers } => {
                let headers = pairs(headers, by_word);
                json!({"type": "http", "name": name, "url": url, "headers": headers})
            }
        }
    }
}

/// Names with values. What the host does not have, it can't give.
fn pairs(pairs: &[(String, String)], value: impl Fn(&str) -> Option<String>) -> Vec<Value> {
    let pairs = pairs.iter();
    let pairs = pairs.filter_map(|(name, text)| Some(json!({"name": name, "value": value(text)?})));
    pairs.collect()
}

/// A header such as `Bearer $TOKEN`.
fn by_word(value: &str) -> Option<String> {
    let words = value.split(' ');
    let words = words.map(|word| resolve(word)?.into_string().ok());
    Some(words.collect::<Option<Vec<_>>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<AcpMcpServer> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let program = AcpMcpWay::Program {
            command: "tools".to_owned(),
            arguments: vec!["-x".to_owned()],
            environment: vec![
                pair("A", "1"),
                pair("P", "$PATH"),
                pair("N", "$NO_SUCH_NAME"),
            ],
        };
        let http = AcpMcpWay::Http {
            url: "http://127.0.0.1/mcp".to_owned(),
            headers: vec![
                pair("Authorization", "Bearer $PATH"),
                pair("X", "a $NO_SUCH_NAME"),
            ],
        };
        let named = |name: &str, way| AcpMcpServer {
            name: name.to_owned(),
            way,
        };
        vec![named("one", program), named("two", http)]
    }

    #[test]
    fn references_are_resolved_and_never_shown() {
        let said = json!({"agentCapabilities": {"mcpCapabilities": {"http": true}}});
        let usable = Usable::of(&servers(), &said);
        let path = std::env::var("PATH").unwrap();
        assert_eq!(
            Value::Array(usable.servers.clone()),
            json!([
                {"name": "one", "command": "tools", "args": ["-x"],
                    "env": [{"name": "A", "value": "1"}, {"name": "P", "value": path}]},
                {"type": "http", "name": "two", "url": "http://127.0.0.1/mcp",
                    "headers": [{"name": "Authorization", "value": format!("Bearer {path}")}]},
            ])
        );
        for shown in [format!("{usable:?}"), format!("{:?}", servers())] {
            assert!(
                !shown.contains(&path) && !shown.contains("Bearer"),
                "{shown}"
            );
        }
    }

    #[test]
    fn what_an_agent_can_not_reach_is_left_out() {
        let usable = Usable::of(&servers(), &json!({}));
        assert_eq!(usable.servers.len(), 1);
        assert_eq!(usable.left_out, ["two"]);
    }
}
