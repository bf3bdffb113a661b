//! Which tool of the host an agent's call is of.
//!
//! Agents reach these tools by a server of tools, and each has its own words for
//! that: in the title of the call, in its name, in its arguments, in its own
//! data. All of them say what the server is called. A tool that goes by its name
//! alone may be the agent's own, so that is not enough.

use agenthost_core::agent::ClientTool;
use agenthost_core::tools::mcp::driver::McpTool;
use agenthost_protocol::wire::Object;
use serde_json::Value;

use agenthost_agents::GATEWAY_SERVER_NAME;

/// How far down the name of a server may stand in an agent's own data.
const MAX_SEARCH_DEPTH: u32 = 3;

/// What stands around the names of a server and a tool.
const SURROUNDING_WORDS: [&str; 2] = ["mcp", "tool"];

/// What stands between the names of a server and a tool. A space alone does
/// not: that would be a command.
const NAME_SEPARATORS: [&str; 8] = ["_", "__", "-", ".", "/", ":", "::", "]"];

/// The tools that the host offers to the agent of a session.
#[derive(Debug, Default)]
pub(crate) struct HostToolSet {
    /// Those that clients carry out.
    pub(crate) client_tools: Vec<ClientTool>,
    /// Those of servers.
    pub(crate) server_tools: Vec<McpTool>,
}

/// A tool that the host offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostTool {
    Client(ClientTool),
    Server(McpTool),
}

/// What an agent says of a call.
#[derive(Debug, Default)]
pub(crate) struct CallHints<'a> {
    pub(crate) title: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    /// What it calls the tool in its own data.
    pub(crate) meta_name: Option<&'a str>,
    pub(crate) input: Option<&'a Value>,
    pub(crate) meta: Option<&'a Object>,
}

impl HostToolSet {
    /// The tool that a call is of; `None` if it is none of the host's.
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

    /// The tool that something begins with the name of, as agents write it. One
    /// that is written exactly so comes before one that is so only but for
    /// signs, and a longer one before a shorter.
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
    /// What agents call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            HostTool::Client(tool) => &tool.name,
            HostTool::Server(tool) => &tool.name,
        }
    }

    /// What it is really called.
    pub(crate) fn original_name(&self) -> &str {
        match self {
            HostTool::Client(tool) => &tool.definition.name,
            HostTool::Server(tool) => &tool.original_name,
        }
    }

    /// Its name for people.
    pub(crate) fn title(&self) -> &str {
        let title = match self {
            HostTool::Client(tool) => tool.definition.title.as_deref(),
            HostTool::Server(tool) => tool.title.as_deref(),
        };
        title.unwrap_or_else(|| self.original_name())
    }
}

/// The arguments of a call of a tool of the host: some agents put what they
/// call beside them.
pub(crate) fn unwrap_arguments(input: &Value) -> &Value {
    let object = input.as_object();
    let wrapped = object.filter(|object| find_named_tool(object, 0).is_some());
    let keys = ["arguments", "args", "input", "params"];
    let found = wrapped.and_then(|object| keys.iter().find_map(|key| object.get(*key)));
    found.unwrap_or(input)
}

/// The tool that an object names beside the server of the host.
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

/// What comes after the server of the host, if it stands at the beginning:
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

/// What comes before the server of the host, if that follows in brackets:
/// `NAME (agenthost MCP Server)`.
fn name_before_server(text: &str) -> Option<&str> {
    let (name, rest) = text.trim().split_once([' ', '(', '['])?;
    let rest = rest.trim_start_matches([' ', '(', '[']);
    let rest = rest.strip_prefix(GATEWAY_SERVER_NAME)?;
    let is_whole_word = rest.starts_with([' ', ')', ']']);
    is_whole_word.then_some(name)
}

/// Whether a text begins with a name, and it ends there. Agents write another
/// sign for one that they can't have in a name.
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
