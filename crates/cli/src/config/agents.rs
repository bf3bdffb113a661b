//! The agents that a host offers: known agents that are installed, and configured ones.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_acp::TokenBinding;
use agenthost_acp::{
    AcpAgent, AcpProfile, AgentLaunch, AutoApprovePolicy, HostToolAccess, KnownAgent,
    find_known_agent, find_program, known_agents,
};
use agenthost_server::ServerConfig;
use anyhow::{Context, bail};
use serde::Deserialize;

use super::FileConfig;
use super::services::ServicesTable;

/// An agent in the configuration file: a new one, or changes to a known one.
#[derive(Clone, Deserialize)]
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

impl FileConfig {
    /// Adds the agents after the built-in ones, and moves the default agent to the front.
    pub(super) fn add_agents(&self, config: &mut ServerConfig) -> anyhow::Result<()> {
        for candidate in self.candidates(Some(&config.pid_dir()))? {
            let mut others = config.agents.iter().map(|agent| agent.info().provider);
            let id = &candidate.id;
            if others.any(|other| other.as_str() == id) {
                bail!("agent `{id}`: another agent has the same `id`");
            }
            if let OfferState::Offered(agent) = candidate.offer_state {
                config.agents.push(Arc::new(*agent));
            }
        }
        if let Some(default) = &self.default_agent {
            let mut agents = config.agents.iter();
            let position = agents.position(|agent| agent.info().provider.as_str() == default);
            let place = position.with_context(|| {
                format!(
                    "`default_agent`: agent `{default}` is not available\n\
                     hint: `agenthost agents` lists the agents"
                )
            })?;
            let first = config.agents.remove(place);
            config.agents.insert(0, first);
        }
        Ok(())
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
        let mut tables = BTreeMap::new();
        let mut order = Vec::new();
        for table in &self.agents {
            table.check()?;
            if tables.insert(table.id.as_str(), table).is_some() {
                bail!("agent `{}`: another agent has the same `id`", table.id);
            }
            order.push(table.id.as_str());
        }
        let mut found = Vec::new();
        for known in known_agents() {
            let table = tables.remove(known.id.as_str());
            if table.is_some() || self.auto_agents != Some(false) {
                found.push(build_candidate(Some(known), table, path, pid_dir)?);
            }
        }
        for id in order {
            if let Some(table) = tables.remove(id) {
                found.push(build_candidate(None, Some(table), path, pid_dir)?);
            }
        }
        Ok(found)
    }
}

impl AgentTable {
    fn check(&self) -> anyhow::Result<()> {
        let id = &self.id;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if id.is_empty() || id.len() > 60 || !id.chars().all(plain) {
            bail!("agent `{id}`: an `id` has 1 to 60 ASCII letters, digits, `-`, `_` or `.`");
        }
        if self.token_env.is_some() != self.token_resource.is_some() {
            bail!("agent `{id}`: `token_env` and `token_resource` must be set together");
        }
        let resource = self.token_resource.as_deref();
        if resource.is_some_and(|resource| !resource.starts_with("https://")) {
            bail!("agent `{id}`: `token_resource` must begin with `https://`");
        }
        Ok(())
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

fn build_candidate(
    known: Option<&'static KnownAgent>,
    table: Option<&AgentTable>,
    path: &OsStr,
    pid_dir: Option<&Path>,
) -> anyhow::Result<AgentCandidate> {
    let id = known
        .map(|known| &known.id)
        .or(table.map(|table| &table.id));
    let id = id.cloned().unwrap_or_default();
    let name = table.and_then(|table| table.name.as_ref());
    let name = name.or(known.map(|known| &known.name)).unwrap_or(&id);
    let configured_command = table.and_then(|table| table.command.as_ref());
    let (program, launch) = match (configured_command, known) {
        (Some(command), _) => {
            let Some((program, arguments)) = command.split_first() else {
                bail!("agent `{id}`: `command` is empty");
            };
            if program.contains('/') && !program.starts_with('/') {
                bail!(
                    "agent `{id}`: `{program}` in `command` is a relative path; use an absolute one"
                );
            }
            let found = locate_program(program, path);
            // The agent starts in another folder, where a relative name could find another
            // program.
            let place = found.as_ref().and_then(|found| found.to_str());
            let launch = (place.unwrap_or(program).to_owned(), arguments.to_vec());
            (found, Some(launch))
        }
        (None, Some(known)) => {
            let program = find_known_agent(known, path);
            let text = program.as_ref().and_then(|program| program.to_str());
            let launch = text.map(|program| (program.to_owned(), known.arguments.clone()));
            (program, launch)
        }
        (None, None) => {
            bail!("agent `{id}`: `command` is required, because no known agent has this `id`")
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
            let agent = agent.with_context(|| format!("agent `{id}`"))?;
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
