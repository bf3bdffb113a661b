//! What the agent of a chat may use of all that is offered (CUS-18).

use std::sync::Arc;

use super::session_tools::OfferedTool;

/// The word for all tools.
const ALL_TOOLS: &str = "*";

/// What an agent may use: all, if nothing else is said. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolFilter(Option<Arc<[String]>>);

impl ToolFilter {
    /// What a list names. It may name a tool as the agent knows it, as its
    /// server does, or with the server before it; and all tools of a server.
    pub(super) fn only(tools: Vec<String>) -> Self {
        ToolFilter(Some(tools.into()))
    }

    /// Whether a tool may be used.
    pub(super) fn allows(&self, tool: &OfferedTool) -> bool {
        let Some(tools) = &self.0 else {
            return true;
        };
        let mut tools = tools.iter();
        tools.any(|named| named == ALL_TOOLS || tool.aliases.contains(named))
    }
}

/// What a list can call a tool of a server.
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

/// What agents call a tool that put the name of its server first, which is
/// ours.
pub(super) fn add_gateway_prefix(name: &str) -> String {
    format!("mcp__agenthost__{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::session_tools::ToolProvider;

    #[test]
    fn lists_name_tools_in_several_ways() {
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
