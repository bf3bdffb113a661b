//! The agents that a host offers: known agents that are installed, and configured ones.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_acp::TokenBinding;
use agenthost_acp::{
    AcpAgent, AcpProfile, AgentLaunch, AutoApprovePolicy, HostToolAccess, KnownAgent,
    find_known_agent, find_program, known_agents,
};
use agenthost_agents::Agent;
use anyhow::{Context, anyhow};
use serde::Deserialize;

use super::FileConfig;
use super::location::{AtKey, KeyPath};
use super::services::ServicesTable;

/// An agent in the configuration file: a new one, or changes to a known one.
#[derive(Clone, PartialEq, Deserialize)]
pub(super) struct AgentTable {
    id: String,
    name: Option<String>,
    enabled: Option<bool>,
    command: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    allow_trusting: Option<bool>,
    #[serde(default)]
    trusting: Vec<String>,
    sign_in: Option<String>,
    token_env: Option<String>,
    token_resource: Option<String>,
    host_tools: Option<bool>,
    #[serde(flatten)]
    services: ServicesTable,
}

/// Leaves out the values of the environment, which may be secret.
impl std::fmt::Debug for AgentTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentTable")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A known or configured agent, which may or may not be installed.
#[derive(Debug, Clone)]
pub(crate) struct AgentCandidate {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) known: Option<&'static KnownAgent>,
    /// The path of its program, if it was found.
    pub(crate) program: Option<PathBuf>,
    pub(crate) offer_state: OfferState,
}

/// The state of an agent: offered to clients, or the reason why not.
#[derive(Debug, Clone)]
pub(crate) enum OfferState {
    /// The agent is offered to clients.
    Offered(Box<AcpAgent>),
    /// The agent runs everything without approval, and the configuration does not allow that.
    NeverAsks,
    /// The configuration disables the agent.
    Hidden,
    /// The program of the agent is not installed.
    Missing,
}

/// The agents that a host offers.
#[derive(Debug, Default)]
pub(crate) struct OfferedAgents {
    /// The agents that speak ACP.
    acp: Vec<Arc<AcpAgent>>,
    /// Id of the configured default agent.
    default: Option<String>,
}

impl OfferedAgents {
    /// Returns all agents, together with built-in ones: the default one first, then the built-in
    /// ones.
    pub(crate) fn with_builtin(&self, builtin: &[Arc<dyn Agent>]) -> Vec<Arc<dyn Agent>> {
        let own = self
            .acp
            .iter()
            .map(|agent| Arc::clone(agent) as Arc<dyn Agent>);
        let mut all: Vec<_> = builtin.iter().cloned().chain(own).collect();
        let is_default = |agent: &Arc<dyn Agent>| {
            let provider = agent.info().provider;
            self.default.as_deref() == Some(provider.as_str())
        };
        // A stable sort moves the default agent to the front.
        all.sort_by_key(|agent| !is_default(agent));
        all
    }

    /// Returns the ids of the agents, in order.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.acp.iter().map(|agent| agent.id()).collect()
    }

    /// Returns `true` if these are the same agents in the same order.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.acp.iter().zip(&other.acp);
        self.default == other.default
            && self.acp.len() == other.acp.len()
            && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Returns an agent that is configured like this one, or this one.
    fn reuse(&self, agent: AcpAgent) -> Arc<AcpAgent> {
        let mut known = self.acp.iter();
        let same = known.find(|known| known.has_same_settings(&agent));
        same.map_or_else(|| Arc::new(agent), Arc::clone)
    }
}

impl FileConfig {
    /// Returns the agents to offer besides the built-in ones. An agent that is configured like
    /// one of `before` is that one, so that new sessions share its processes.
    pub(crate) fn offered_agents(
        &self,
        builtin: &[Arc<dyn Agent>],
        before: &OfferedAgents,
        pid_dir: &Path,
    ) -> anyhow::Result<OfferedAgents> {
        self.located(self.select_agents(builtin, before, pid_dir))
    }

    pub(super) fn select_agents(
        &self,
        builtin: &[Arc<dyn Agent>],
        before: &OfferedAgents,
        pid_dir: &Path,
    ) -> anyhow::Result<OfferedAgents> {
        let mut acp = Vec::new();
        for candidate in self.candidates(Some(pid_dir))? {
            let id = &candidate.id;
            let is_taken = |agent: &Arc<dyn Agent>| agent.info().provider.as_str() == id;
            if builtin.iter().any(is_taken) {
                let index = self.agents.iter().position(|table| table.id == *id);
                let at = KeyPath::of("agents").index(index.unwrap_or(0)).key("id");
                return Err(same_id(id)).at(at);
            }
            if let OfferState::Offered(agent) = candidate.offer_state {
                acp.push(before.reuse(*agent));
            }
        }
        let offered = OfferedAgents {
            acp,
            default: self.default_agent.clone(),
        };
        if let Some(default) = &self.default_agent {
            let all = offered.with_builtin(builtin);
            let first = all.first().map(|agent| agent.info().provider);
            if first.is_none_or(|first| first.as_str() != default) {
                let problem = anyhow!(
                    "`default_agent`: agent `{default}` is not available\n\
                     hint: `agenthost agents` lists the agents"
                );
                return Err(problem).at(KeyPath::of("default_agent"));
            }
        }
        Ok(offered)
    }

    /// Returns `true` if another file differs in more than its agents, so that the host has to
    /// be restarted for it.
    pub(crate) fn needs_restart_for(&self, other: &Self) -> bool {
        let without_agents = |file: &Self| FileConfig {
            agents: Vec::new(),
            auto_agents: None,
            default_agent: None,
            terminal_variables: Vec::new(),
            path: None,
            ..file.clone()
        };
        without_agents(self) != without_agents(other)
    }

    /// Returns the names of all programs that agents need, and the folders of those that are
    /// configured with a path.
    pub(crate) fn agent_programs(&self) -> (BTreeSet<OsString>, BTreeSet<PathBuf>) {
        let mut names = BTreeSet::new();
        for known in known_agents() {
            names.extend(
                known
                    .programs
                    .iter()
                    .chain(&known.needs)
                    .map(OsString::from),
            );
        }
        let mut folders = BTreeSet::new();
        for command in self.agents.iter().flat_map(|table| &table.command) {
            let Some(program) = command.first().map(Path::new) else {
                continue;
            };
            names.extend(program.file_name().map(OsString::from));
            let parent = program.parent().filter(|parent| parent.is_absolute());
            folders.extend(parent.map(Path::to_owned));
        }
        (names, folders)
    }

    /// Returns all known and configured agents, whether they are installed or not.
    pub(crate) fn candidates(&self, pid_dir: Option<&Path>) -> anyhow::Result<Vec<AgentCandidate>> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        self.candidates_on_path(&path, pid_dir)
    }

    /// Like [`FileConfig::candidates`], but searches programs in `path`.
    pub(super) fn candidates_on_path(
        &self,
        path: &OsStr,
        pid_dir: Option<&Path>,
    ) -> anyhow::Result<Vec<AgentCandidate>> {
        let mut tables: BTreeMap<&str, ConfiguredTable<'_>> = BTreeMap::new();
        let mut order = Vec::new();
        for (index, table) in self.agents.iter().enumerate() {
            let at = KeyPath::of("agents").index(index);
            table.check(&at)?;
            if tables
                .insert(
                    table.id.as_str(),
                    ConfiguredTable {
                        table,
                        at: at.clone(),
                    },
                )
                .is_some()
            {
                return Err(same_id(&table.id)).at(at.key("id"));
            }
            order.push(table.id.as_str());
        }
        let mut found = Vec::new();
        for known in known_agents() {
            let table = tables.remove(known.id.as_str());
            if table.is_some() || self.auto_agents != Some(false) {
                found.push(build_candidate(Some(known), table.as_ref(), path, pid_dir)?);
            }
        }
        for id in order {
            if let Some(table) = tables.remove(id) {
                found.push(build_candidate(None, Some(&table), path, pid_dir)?);
            }
        }
        Ok(found)
    }
}

impl AgentTable {
    fn check(&self, at: &KeyPath) -> anyhow::Result<()> {
        let id = &self.id;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let (key, problem) = if id.is_empty() || id.len() > 60 || !id.chars().all(plain) {
            let problem = "an `id` has 1 to 60 ASCII letters, digits, `-`, `_` or `.`";
            ("id", problem)
        } else if self.token_env.is_some() && self.token_resource.is_none() {
            ("token_env", "`token_env` requires `token_resource`")
        } else if self.token_resource.is_some() && self.token_env.is_none() {
            ("token_resource", "`token_resource` requires `token_env`")
        } else if self
            .token_resource
            .as_ref()
            .is_some_and(|resource| !resource.starts_with("https://"))
        {
            let problem = "`token_resource` must begin with `https://`";
            ("token_resource", problem)
        } else {
            return Ok(());
        };
        Err(anyhow!("agent `{id}`: {problem}")).at(at.key(key))
    }

    fn token_binding(&self) -> Option<TokenBinding> {
        Some(TokenBinding {
            environment: self.token_env.clone()?,
            resource: self.token_resource.clone()?,
            name: None,
            authorization_servers: Vec::new(),
            scopes: Vec::new(),
        })
    }
}

/// A program with its arguments.
type LaunchCommand = (String, Vec<String>);

/// An agent table with its location in the file.
struct ConfiguredTable<'a> {
    table: &'a AgentTable,
    at: KeyPath,
}

fn build_candidate(
    known: Option<&'static KnownAgent>,
    configured: Option<&ConfiguredTable<'_>>,
    path: &OsStr,
    pid_dir: Option<&Path>,
) -> anyhow::Result<AgentCandidate> {
    let table = configured.map(|configured| configured.table);
    let id = known
        .map(|known| &known.id)
        .or(table.map(|table| &table.id));
    let id = id.cloned().unwrap_or_default();
    let name = table.and_then(|table| table.name.as_ref());
    let name = name.or(known.map(|known| &known.name)).unwrap_or(&id);
    let (program, launch) = match configured {
        Some(configured) if configured.table.command.is_some() || known.is_none() => {
            let (program, launch) = configured.find_program(path)?;
            (program, Some(launch))
        }
        Some(_) | None => {
            let program = known.and_then(|known| find_known_agent(known, path));
            let text = program.as_ref().and_then(|program| program.to_str());
            let arguments = known.map(|known| known.arguments.clone());
            let launch = text.map(|text| (text.to_owned(), arguments.unwrap_or_default()));
            (program, launch)
        }
    };
    let mut profile = known.map(AcpProfile::of).unwrap_or_default();
    if let Some(table) = table {
        profile
            .auto_approve_values
            .extend(table.trusting.iter().cloned());
        if table.allow_trusting == Some(true) {
            profile.auto_approve = AutoApprovePolicy::Allowed;
        }
        profile.sign_in_hint = table.sign_in.clone().or(profile.sign_in_hint);
        profile.token_binding = table.token_binding().or(profile.token_binding);
        profile.host_tools = match table.host_tools {
            Some(true) => HostToolAccess::Offered,
            Some(false) => HostToolAccess::Withheld,
            None => profile.host_tools,
        };
    }
    let hidden = table.is_some_and(|table| table.enabled == Some(false));
    let never_asks = known.is_some_and(|known| known.never_asks);
    let offer_state = match launch {
        _ if hidden => OfferState::Hidden,
        None => OfferState::Missing,
        Some(_) if never_asks && profile.auto_approve == AutoApprovePolicy::Forbidden => {
            OfferState::NeverAsks
        }
        Some((program, arguments)) => {
            let launch = AgentLaunch {
                program,
                arguments,
                environment: agent_environment(known, table),
            };
            let agent = AcpAgent::new(&id, name, launch).with_profile(profile);
            let nothing = ServicesTable::default();
            let services = table.map_or(&nothing, |table| &table.services);
            let agent = services.apply_to(agent, known);
            let agent = agent.with_context(|| format!("agent `{id}`"));
            let agent = match configured {
                Some(configured) => agent.at(configured.at.key("mcp_servers"))?,
                None => agent?,
            };
            OfferState::Offered(Box::new(match pid_dir {
                Some(notes) => agent.with_pid_dir(notes),
                None => agent,
            }))
        }
    };
    Ok(AgentCandidate {
        name: name.clone(),
        id,
        known,
        program,
        offer_state,
    })
}

impl ConfiguredTable<'_> {
    /// Returns the path of the configured program, if it exists, and its launch parameters.
    fn find_program(&self, path: &OsStr) -> anyhow::Result<(Option<PathBuf>, LaunchCommand)> {
        let id = &self.table.id;
        let refuse = |problem: String| Err(anyhow!("agent `{id}`: {problem}"));
        let Some(command) = &self.table.command else {
            let problem = "`command` is required, because no known agent has this `id`";
            return refuse(problem.to_owned()).at(self.at.key("id"));
        };
        let Some((program, arguments)) = command.split_first() else {
            return refuse("`command` is empty".to_owned()).at(self.at.key("command"));
        };
        if program.contains('/') && !program.starts_with('/') {
            let problem =
                format!("`{program}` in `command` is a relative path; use an absolute one");
            return refuse(problem).at(self.at.key("command"));
        }
        let found = locate_program(program, path);
        // The agent starts in another folder, where a relative name could find another program.
        let place = found.as_ref().and_then(|found| found.to_str());
        let launch = (place.unwrap_or(program).to_owned(), arguments.to_vec());
        Ok((found, launch))
    }
}

fn same_id(id: &str) -> anyhow::Error {
    anyhow!("agent `{id}`: another agent has the same `id`")
}

/// Returns the environment of an agent: references to its API keys, the variables of its
/// known profile, and those of the configuration. Later ones replace earlier ones.
fn agent_environment(
    known: Option<&KnownAgent>,
    table: Option<&AgentTable>,
) -> Vec<(String, String)> {
    let mut all = BTreeMap::new();
    if let Some(known) = known {
        let keys = known
            .keys
            .iter()
            .map(|key| (key.clone(), format!("${key}")));
        all.extend(keys);
        all.extend(known.environment.clone());
    }
    if let Some(table) = table {
        all.extend(table.env.clone());
    }
    all.into_iter().collect()
}

/// Returns the path of a program that is given as a path, or that is on `PATH`.
fn locate_program(program: &str, path: &OsStr) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|program| program.is_file());
    }
    find_program(program, path)
}
