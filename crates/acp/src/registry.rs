//! Agents that are known: how to find and start each, and what is particular
//! about it. Data alone; `known.toml` has it.

pub(crate) mod discovery;
pub(crate) mod probe;
pub(crate) mod profile;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use agenthost_agents::McpPreference;

const KNOWN_AGENTS_TOML: &str = include_str!("known.toml");

static KNOWN_AGENTS: LazyLock<Vec<KnownAgent>> = LazyLock::new(|| {
    // The table comes with the program, and a test reads it.
    toml::from_str::<KnownAgentTable>(KNOWN_AGENTS_TOML)
        .map(|table| table.agents)
        .unwrap_or_default()
});

/// All agents that are known, in the order they are offered.
#[must_use]
pub fn known_agents() -> &'static [KnownAgent] {
    &KNOWN_AGENTS
}

/// An agent that is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownAgent {
    /// Its name for programs.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What its program is called; the first that is on `PATH` is taken.
    pub programs: Vec<String>,
    /// A package that its program has to be of, where others go by the same
    /// name. A program of such a package is no other agent's.
    pub package: Option<String>,
    /// Other programs that have to be on `PATH`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// What makes the program speak ACP.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What it finds in its environment: mostly that it is not to phone home.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Variables that it gets from the host's environment, if they are there:
    /// keys, and where to find a model.
    pub keys: Vec<String>,
    /// What makes the program say its version. Without, only the agent itself
    /// says it.
    #[serde(default)]
    pub version: Vec<String>,
    /// How to install it, for people.
    pub install: String,
    /// How to sign in, for people.
    pub sign_in: String,
    /// Whether it works well with the host reading and writing its files.
    #[serde(default)]
    pub files: bool,
    /// Whether it works well with terminals of the host.
    #[serde(default)]
    pub terminals: bool,
    /// Whether it works well with the tools that the host offers.
    #[serde(default = "default_host_tools")]
    pub host_tools: bool,
    /// How it takes servers of tools.
    #[serde(default)]
    pub tool_servers: McpPreference,
    /// What it reads by itself of what customizes agents: beginnings of paths
    /// in the folder that it works in, or in the home directory after `~/`.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Whether a second session would end the first of the same process.
    #[serde(default)]
    pub one_session_per_process: bool,
    /// Whether it does not work for the superuser.
    #[serde(default)]
    pub not_as_root: bool,
    /// Whether it does everything without asking, always.
    #[serde(default)]
    pub never_asks: bool,
    /// How well it tells what was said in a session of its own.
    pub load: HistoryFidelity,
    /// Values of modes and options, and names of options that are on or off,
    /// that let it do everything without asking.
    #[serde(default)]
    pub trusting: Vec<String>,
    /// What becomes of tokens that clients hand over.
    pub token: Option<TokenBinding>,
}

/// How well an agent tells what was said in a session of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryFidelity {
    /// It can't, or nobody has seen it do so.
    None,
    /// Parts are missing.
    Poor,
    /// All of it.
    Good,
}

/// Where a token of a client goes: into the environment of the agent, the next
/// time that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBinding {
    /// The variable.
    pub environment: String,
    /// What the token has to be for: an `https` address.
    pub resource: String,
    /// Its name for people.
    pub name: Option<String>,
    /// Who issues such tokens.
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// What the token has to allow.
    #[serde(default)]
    pub scopes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownAgentTable {
    agents: Vec<KnownAgent>,
}

fn default_host_tools() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_entry_is_complete() {
        let table: KnownAgentTable = toml::from_str(KNOWN_AGENTS_TOML).unwrap();
        assert_eq!(table.agents, known_agents());
        let mut ids = BTreeSet::new();
        for agent in &table.agents {
            let id = &agent.id;
            assert!(ids.insert(id), "{id} is there twice");
            for text in [id, &agent.name, &agent.install, &agent.sign_in] {
                assert!(!text.trim().is_empty(), "{id}");
            }
            assert!(!agent.programs.is_empty(), "{id}");
            let names = agent.keys.iter().chain(agent.environment.keys());
            let names = names.chain(agent.token.iter().map(|token| &token.environment));
            for name in names {
                let is_valid = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                assert!(name.chars().all(is_valid), "{id}: {name}");
            }
            let mut sorted = agent.keys.clone();
            sorted.sort();
            assert_eq!(agent.keys, sorted, "{id}");
            for prefix in &agent.reads {
                let is_relative = !prefix.starts_with('/') && !prefix.contains("..");
                assert!(is_relative && prefix != "~/", "{id}: {prefix}");
            }
            if let Some(token) = &agent.token {
                assert!(token.resource.starts_with("https://"), "{id}");
            }
        }
        for id in [
            "claude",
            "codex",
            "codex-zed",
            "gemini",
            "opencode",
            "goose",
            "copilot",
            "qwen",
            "kimi",
            "vibe",
            "fast-agent",
            "pi",
        ] {
            assert!(ids.contains(&id.to_owned()), "{id}");
        }
    }
}
