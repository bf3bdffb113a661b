//! The agents that the host knows: their programs, launch parameters and special properties.
//! The data is in `known.toml`.

pub(crate) mod credentials;
pub(crate) mod discovery;
pub(crate) mod probe;
pub(crate) mod profile;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use agenthost_agents::McpPreference;
use credentials::CredentialPlaces;

const KNOWN_AGENTS_TOML: &str = include_str!("known.toml");

static KNOWN_AGENTS: LazyLock<Vec<KnownAgent>> = LazyLock::new(|| {
    // The table is part of the binary and a test parses it, so this never fails.
    toml::from_str::<KnownAgentTable>(KNOWN_AGENTS_TOML)
        .map(|table| table.agents)
        .unwrap_or_default()
});

/// Returns all known agents, in the order in which they are offered.
#[must_use]
pub fn known_agents() -> &'static [KnownAgent] {
    &KNOWN_AGENTS
}

/// An entry of the table of known agents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownAgent {
    /// The id of the agent, for programs.
    pub id: String,
    /// The name of the agent, for users.
    pub name: String,
    /// The names of its program; the first one that is found in `PATH` is used.
    pub programs: Vec<String>,
    /// The package that contains the program, if other agents have a program of the same name.
    /// A program of this package does not belong to another agent.
    pub package: Option<String>,
    /// Other programs that must be in `PATH`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The arguments that make the program speak ACP.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Additional environment variables, mostly to disable telemetry.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Variables that the agent inherits from the environment of the host: API keys and the
    /// addresses of models.
    pub keys: Vec<String>,
    /// The arguments that make the program print its version. If empty, only the running agent
    /// reports its version.
    #[serde(default)]
    pub version: Vec<String>,
    /// Instructions for installing the agent, for users.
    pub install: String,
    /// Instructions for signing in, for users.
    pub sign_in: String,
    /// The places in which the agent finds its credentials, if it opens sessions without any.
    pub credentials: Option<CredentialPlaces>,
    /// Texts in errors with which the agent says that it is not set up.
    #[serde(default)]
    pub sign_in_errors: Vec<String>,
    /// `true` if the agent works well with the file service of the host.
    #[serde(default)]
    pub files: bool,
    /// `true` if the agent works well with terminals of the host.
    #[serde(default)]
    pub terminals: bool,
    /// `true` if the agent works well with the tools that the host offers.
    #[serde(default = "default_host_tools")]
    pub host_tools: bool,
    /// The transport by which the agent prefers to reach MCP servers.
    #[serde(default)]
    pub tool_servers: McpPreference,
    /// Customizations that the agent reads itself, as prefixes of paths in its working
    /// directory, or in the home directory after `~/`.
    #[serde(default)]
    pub reads: Vec<String>,
    /// `true` if a second session would end the first one of the same process.
    #[serde(default)]
    pub one_session_per_process: bool,
    /// `true` if the agent refuses to run as root.
    #[serde(default)]
    pub not_as_root: bool,
    /// `true` if the agent never requests permission.
    #[serde(default)]
    pub never_asks: bool,
    /// The completeness of the agent's replay of its own sessions.
    pub load: HistoryFidelity,
    /// Values of modes and options, and names of boolean options, that let the agent do
    /// everything without approval.
    #[serde(default)]
    pub trusting: Vec<String>,
    /// The use of tokens that clients provide.
    pub token: Option<TokenBinding>,
}

/// The completeness of an agent's replay of its own sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryFidelity {
    /// The agent can't replay sessions, or this was never observed.
    None,
    /// Parts of the conversation are missing.
    Poor,
    /// The replay contains the whole conversation.
    Good,
}

/// The destination of a client's token: an environment variable that is set at the next start
/// of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBinding {
    /// The environment variable for the token.
    pub environment: String,
    /// The resource that the token is for: an `https` URL.
    pub resource: String,
    /// The name of the resource, for users.
    pub name: Option<String>,
    /// The servers that issue such tokens.
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// The scopes that the token must have.
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
