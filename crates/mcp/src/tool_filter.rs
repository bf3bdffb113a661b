//! Filter for the tools that the agent of a chat may use (CUS-18).

use std::sync::Arc;

use super::session_tools::OfferedTool;

/// Entry of a tool list that allows all tools.
const ALL_TOOLS: &str = "*";

/// The tools that an agent may use; the default allows all. Clones share the list.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolFilter(Option<Arc<[String]>>);

impl ToolFilter {
    /// Allows the listed tools. An entry is the name of a tool for agents, its name at the
    /// server with or without the server's name, or all tools of a server.
    pub(super) fn only(tools: Vec<String>) -> Self {
        ToolFilter(Some(tools.into()))
    }

    pub(super) fn allows(&self, tool: &OfferedTool) -> bool {
        let Some(tools) = &self.0 else {
            return true;
        };
        let mut tools = tools.iter();
        tools.any(|named| named == ALL_TOOLS || tool.aliases.contains(named))
    }
}

/// Returns the entries of a tool list that refer to a tool of a server.
pub(super) fn tool_aliases(name: &str, server: &str, tool: &str) -> Vec<String> {
    vec![
        name.to_owned(),
        tool.to_owned(),
        format!("{server}/{tool}"),
        format!("{server}/*"),
        format!("{server}_*"),
        format!("mcp__{server}"),
        format!("mcp__{server}__*"),
        format!("mcp__{server}__{tool}"),
        add_gateway_prefix(name),
    ]
}

/// Returns the name of a tool for agents that prefix it with the name of its MCP server, which
/// is `agenthost` for the gateway.
pub(super) fn add_gateway_prefix(name: &str) -> String {
    format!("mcp__agenthost__{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::session_tools::ToolProvider;

    #[test]
    fn a_filter_matches_every_alias_of_a_tool() {
        let tool = OfferedTool {
            name: "calc_add".to_owned(),
            aliases: tool_aliases("calc_add", "calc", "add"),
            definition: Value::Null,
            provider: ToolProvider::Client,
        };
        let includes = |list: &[&str]| {
            let list = list.iter().map(|name| (*name).to_owned());
            ToolFilter::only(list.collect()).allows(&tool)
        };
        assert!(ToolFilter::default().allows(&tool));
        for one in [
            "calc_add",
            "add",
            "calc/add",
            "calc/*",
            "mcp__calc__add",
            "mcp__calc__*",
            "mcp__calc",
            "calc_*",
            "mcp__agenthost__calc_add",
            "*",
        ] {
            assert!(includes(&["Read", one]), "{one}");
        }
        for none in ["calc", "ADD", "other/*", "other/add", "mcp__add", ""] {
            assert!(!includes(&[none]), "{none}");
        }
        assert!(!includes(&[]));
    }
}
