//! What the agent of a chat may use of all that is offered (CUS-18).

use std::sync::Arc;

use super::room::Offered;

/// The word for all tools.
const ALL: &str = "*";

/// What an agent may use: all, if nothing else is said. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed(Option<Arc<[String]>>);

impl Allowed {
    /// What a list names. It may name a tool as the agent knows it, as its
    /// server does, or with the server before it; and all tools of a server.
    pub(super) fn these(tools: Vec<String>) -> Self {
        Allowed(Some(tools.into()))
    }

    /// Whether a tool may be used.
    pub(super) fn includes(&self, tool: &Offered) -> bool {
        let Some(tools) = &self.0 else {
            return true;
        };
        let mut tools = tools.iter();
        tools.any(|named| named == ALL || tool.known_as.contains(named))
    }
}

/// What a list can call a tool of a server.
pub(super) fn names_of(name: &str, server: &str, tool: &str) -> Vec<String> {
    vec![
        name.to_owned(),
        tool.to_owned(),
        format!("{server}/{tool}"),
        format!("{server}/*"),
        format!("{server}_*"),
        format!("mcp__{server}"),
        format!("mcp__{server}__*"),
        format!("mcp__{server}__{tool}"),
        as_ours(name),
    ]
}

/// What agents call a tool that put the name of its server first, which is
/// ours.
pub(super) fn as_ours(name: &str) -> String {
    format!("mcp__agenthost__{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::room::By;
    use super::*;

    #[test]
    fn lists_name_tools_in_several_ways() {
        let tool = Offered {
            name: "calc_add".to_owned(),
            known_as: names_of("calc_add", "calc", "add"),
            definition: Value::Null,
            by: By::Client,
        };
        let includes = |list: &[&str]| {
            let list = list.iter().map(|name| (*name).to_owned());
            Allowed::these(list.collect()).includes(&tool)
        };
        assert!(Allowed::default().includes(&tool));
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
