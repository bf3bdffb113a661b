//! Recognises the host tool that an agent's tool call refers to.
//!
//! Agents reach these tools through the gateway, an MCP server, and each reports a call in its
//! own encoding: in the title, in the name, in the arguments, or in metadata. All encodings
//! contain the name of the server. The tool name alone is not sufficient, because the agent may
//! have a tool of the same name.

use agenthost_core::agent::ClientTool;
use agenthost_core::tools::mcp::driver::McpTool;
use agenthost_protocol::wire::Object;
use serde_json::Value;

use agenthost_agents::GATEWAY_SERVER_NAME;

/// The maximum depth at which the server name is searched in metadata.
const MAX_SEARCH_DEPTH: u32 = 3;

/// Words that may precede the names of a server and a tool.
const SURROUNDING_WORDS: [&str; 2] = ["mcp", "tool"];

/// Separators between the names of a server and a tool. A space alone is none, because the text
/// could be a command.
const NAME_SEPARATORS: [&str; 8] = ["_", "__", "-", ".", "/", ":", "::", "]"];

/// The tools that the host offers to the agent of a session.
#[derive(Debug, Default)]
pub(crate) struct HostToolSet {
    /// The tools that clients execute.
    pub(crate) client_tools: Vec<ClientTool>,
    pub(crate) server_tools: Vec<McpTool>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostTool {
    Client(ClientTool),
    Server(McpTool),
}

/// The fields of a tool call that may contain the names of a server and a tool.
#[derive(Debug, Default)]
pub(crate) struct CallHints<'a> {
    pub(crate) title: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    /// The tool name in the agent's metadata.
    pub(crate) meta_name: Option<&'a str>,
    pub(crate) input: Option<&'a Value>,
    pub(crate) meta: Option<&'a Object>,
}

impl HostToolSet {
    /// Returns the tool that a call refers to; `None` if it is not a tool of the host.
    pub(crate) fn recognize_tool(&self, hints: &CallHints<'_>) -> Option<HostTool> {
        let input = hints.input.and_then(Value::as_object);
        let names = [input, hints.meta].into_iter().flatten();
        let names = names.filter_map(|object| find_named_tool(object, MAX_SEARCH_DEPTH));
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        let texts = [hints.meta_name, hints.name, hints.title];
        names.extend(texts.into_iter().flatten().filter_map(name_after_server));
        let names_before = texts.into_iter().flatten().filter_map(name_before_server);
        names.extend(names_before.map(str::to_owned));
        names.iter().find_map(|name| self.match_tool_name(name))
    }

    /// Returns the tool whose name begins the text, as agents write it. An exact match takes
    /// precedence over one with replaced characters, and a longer name over a shorter one.
    fn match_tool_name(&self, text: &str) -> Option<HostTool> {
        let clients = self.client_tools.iter().map(|tool| &tool.name);
        let servers = self.server_tools.iter().map(|tool| &tool.name);
        let names = clients.chain(servers);
        let matching = names.filter(|name| starts_with_name(text, name));
        let name = matching.max_by_key(|name| (text.starts_with(name.as_str()), name.len()))?;
        let client = self.client_tools.iter().find(|tool| tool.name == *name);
        let server = || self.server_tools.iter().find(|tool| tool.name == *name);
        client
            .map(|tool| HostTool::Client(tool.clone()))
            .or_else(|| server().map(|tool| HostTool::Server(tool.clone())))
    }
}

impl HostTool {
    /// Returns the name under which the tool is offered to agents.
    pub(crate) fn name(&self) -> &str {
        match self {
            HostTool::Client(tool) => &tool.name,
            HostTool::Server(tool) => &tool.name,
        }
    }

    /// Returns the name that the client or server gave the tool.
    pub(crate) fn original_name(&self) -> &str {
        match self {
            HostTool::Client(tool) => &tool.definition.name,
            HostTool::Server(tool) => &tool.original_name,
        }
    }

    /// Returns the title of the tool, for users.
    pub(crate) fn title(&self) -> &str {
        let title = match self {
            HostTool::Client(tool) => tool.definition.title.as_deref(),
            HostTool::Server(tool) => tool.title.as_deref(),
        };
        title.unwrap_or_else(|| self.original_name())
    }
}

/// Returns the arguments of a call of a host tool. Some agents wrap them in an object with the
/// names of the server and the tool.
pub(crate) fn unwrap_arguments(input: &Value) -> &Value {
    let object = input.as_object();
    let wrapped = object.filter(|object| find_named_tool(object, 0).is_some());
    let keys = ["arguments", "args", "input", "params"];
    let found = wrapped.and_then(|object| keys.iter().find_map(|key| object.get(*key)));
    found.unwrap_or(input)
}

/// Returns the tool that an object names beside the gateway.
fn find_named_tool(object: &Object, depth: u32) -> Option<&str> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_str());
    let server = text(&["server", "serverName", "server_name", "mcpServer"]);
    let tool = || text(&["tool", "toolName", "tool_name", "name"]);
    if server == Some(GATEWAY_SERVER_NAME) {
        return tool();
    }
    let depth = depth.checked_sub(1)?;
    let mut nested = object.values().filter_map(Value::as_object);
    nested.find_map(|object| find_named_tool(object, depth))
}

/// Returns the text after the name of the gateway, if that stands at the beginning:
/// `mcp__agenthost__NAME`, `Tool: agenthost/NAME`, `agenthost: NAME`.
fn name_after_server(text: &str) -> Option<String> {
    let mut rest = text.trim();
    loop {
        let word_end = rest.find(is_sign).unwrap_or(rest.len());
        let (word, tail) = rest.split_at_checked(word_end)?;
        let signs = tail.find(|c| !is_sign(c)).unwrap_or(tail.len());
        let (signs, tail) = tail.split_at_checked(signs)?;
        if word.eq_ignore_ascii_case(GATEWAY_SERVER_NAME) {
            let is_separated = NAME_SEPARATORS.contains(&signs.trim_end());
            return (is_separated && !tail.is_empty()).then(|| tail.to_owned());
        }
        let is_surrounding = SURROUNDING_WORDS
            .iter()
            .any(|around| word.eq_ignore_ascii_case(around));
        if !(is_surrounding || word.is_empty()) || tail.is_empty() {
            return None;
        }
        rest = tail;
    }
}

/// Returns the text before the name of the gateway, if that follows in brackets: `NAME
/// (agenthost MCP Server)`.
fn name_before_server(text: &str) -> Option<&str> {
    let (name, rest) = text.trim().split_once([' ', '(', '['])?;
    let rest = rest.trim_start_matches([' ', '(', '[']);
    let rest = rest.strip_prefix(GATEWAY_SERVER_NAME)?;
    let is_whole_word = rest.starts_with([' ', ')', ']']);
    is_whole_word.then_some(name)
}

/// Returns `true` if a text begins with a complete name. Agents replace characters that they
/// don't allow in names by `_`.
fn starts_with_name(text: &str, name: &str) -> bool {
    let mut text = text.chars();
    let mut name = name.chars();
    loop {
        match (name.next(), text.next()) {
            (None, None) => return true,
            (None, Some(next)) => return !(next.is_alphanumeric() || "_-/.".contains(next)),
            (Some(_), None) => return false,
            (Some(expected), Some(actual)) => {
                if expected != actual && !(is_sign(expected) && actual == '_') {
                    return false;
                }
            }
        }
    }
}

fn is_sign(c: char) -> bool {
    !c.is_alphanumeric()
}

#[cfg(test)]
#[path = "host_tools_tests.rs"]
mod tests;
