//! The [`Agent`] implementation for programs that speak ACP.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::SessionGateway;
use agenthost_agents::SessionTokens;
use agenthost_agents::{Agent, SessionContext, SessionFuture};
use agenthost_core::SessionEnvironment;
use agenthost_core::agent::ForbiddenValue;
use agenthost_process::kill_leftovers;
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};

use super::bridge;
use super::process_pool::ProcessPool;
use super::process_pool::launch::{AgentLaunch, agent_environment};
use super::registry::profile::{AcpProfile, HostToolAccess, SessionMultiplicity};
use super::services::AcpService;
use super::session::mcp_servers::AgentMcpServer;
use super::session::options;

/// A program that speaks the Agent Client Protocol. Sessions of the host in the same folder
/// share a process, if the agent can close one session and continue with the others.
#[derive(Debug, Clone)]
pub struct AcpAgent {
    id: String,
    name: String,
    pub(super) launch: Arc<AgentLaunch>,
    /// The directory for pid files. The next host reads them to kill the processes of a host
    /// that was killed.
    pub(super) pid_dir: Option<Arc<Path>>,
    pub(super) services: BTreeSet<AcpService>,
    pub(super) mcp_servers: Arc<[AgentMcpServer]>,
    /// The timeout for the end of a cancelled turn.
    pub(super) cancel_timeout: Duration,
    pub(super) profile: Arc<AcpProfile>,
    /// Variables of the terminal that the session of this agent was created from.
    pub(super) environment: SessionEnvironment,
    /// Tokens of clients for the environment of the agent.
    pub(super) tokens: SessionTokens,
    /// The gateway with the tools that the host offers to the session of this agent.
    pub(super) gateway: Option<SessionGateway>,
    /// Running processes of this agent that sessions can share.
    pub(super) process_pool: Arc<ProcessPool>,
}

/// The default timeout for the end of a cancelled turn.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

impl AcpAgent {
    /// Creates an agent with an id for programs and a name for users.
    pub fn new(id: impl Into<String>, name: impl Into<String>, launch: AgentLaunch) -> Self {
        AcpAgent {
            id: id.into(),
            name: name.into(),
            launch: Arc::new(launch),
            pid_dir: None,
            services: BTreeSet::new(),
            mcp_servers: Arc::default(),
            cancel_timeout: CANCEL_TIMEOUT,
            profile: Arc::default(),
            environment: SessionEnvironment::default(),
            tokens: SessionTokens::default(),
            gateway: None,
            process_pool: Arc::default(),
        }
    }

    /// Offers a service of the host to the agent. Without services the agent accesses files and
    /// runs commands itself, which works with every agent; the services do not.
    #[must_use]
    pub fn with_service(mut self, service: AcpService) -> Self {
        self.services.insert(service);
        self
    }

    /// Sets the MCP servers that the agent has to use.
    #[must_use]
    pub fn with_mcp_servers(self, servers: Vec<AgentMcpServer>) -> Self {
        AcpAgent {
            mcp_servers: servers.into(),
            ..self
        }
    }

    /// Sets the timeout for the end of a cancelled turn, after which the process is killed. The
    /// default is ten seconds.
    #[must_use]
    pub fn with_cancel_timeout(self, cancel_timeout: Duration) -> Self {
        AcpAgent {
            cancel_timeout,
            ..self
        }
    }

    /// Sets the directory for pid files. If the host is killed, the next host with the same
    /// directory kills the processes of the agent.
    #[must_use]
    pub fn with_pid_dir(self, directory: &Path) -> Self {
        AcpAgent {
            pid_dir: Some(directory.into()),
            ..self
        }
    }

    /// Sets the properties that are specific to this agent.
    #[must_use]
    pub fn with_profile(self, profile: AcpProfile) -> Self {
        AcpAgent {
            profile: Arc::new(profile),
            ..self
        }
    }

    /// Returns the id of the agent, for programs.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the agent, for users.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the agent finds credentials, as far as this is known. Agents that
    /// check their credentials before the first prompt need no such test.
    pub(super) fn has_credentials(&self) -> bool {
        let places = self.profile.credentials.as_ref();
        places.is_none_or(|places| {
            let environment = agent_environment(&self.launch(), &self.environment);
            places.is_one_present(&environment)
        })
    }

    /// Returns `true` if two agents have the same id, name, command line, profile and services.
    #[must_use]
    pub fn has_same_settings(&self, other: &Self) -> bool {
        let settings = |agent: &Self| {
            (
                agent.id.clone(),
                agent.name.clone(),
                Arc::clone(&agent.launch),
                agent.pid_dir.clone(),
                agent.services.clone(),
                Arc::clone(&agent.mcp_servers),
                agent.cancel_timeout,
                Arc::clone(&agent.profile),
            )
        };
        settings(self) == settings(other)
    }

    /// Returns the access of the agent to the tools that the host offers.
    #[must_use]
    pub fn host_tools(&self) -> HostToolAccess {
        self.profile.host_tools
    }

    /// Returns the command line and environment of the agent, including a client's token if
    /// there is one for it.
    #[must_use]
    pub fn launch(&self) -> AgentLaunch {
        let mut launch = AgentLaunch::clone(&self.launch);
        if let Some(binding) = &self.profile.token_binding
            && let Some(token) = self.tokens.token(&binding.resource)
            // A value that begins with `$` refers to a variable of the host, and no client may
            // read the environment of the host.
            && !token.reveal().starts_with('$')
        {
            let environment = &mut launch.environment;
            environment.retain(|(name, _)| *name != binding.environment);
            environment.push((binding.environment.clone(), token.reveal().to_owned()));
        }
        launch
    }
}

impl Agent for AcpAgent {
    fn info(&self) -> AgentInfo {
        let description = format!("{}, over the Agent Client Protocol", self.name);
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: match self.profile.sessions {
                    // If the agent can't fork a session, the bridge sends it a transcript
                    // instead.
                    SessionMultiplicity::Many => Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: Some(true),
                    }),
                    SessionMultiplicity::One => None,
                },
                multiple_working_directories: None,
            }),
            protected_resources: self.profile.protected_resources(),
            ..AgentInfo::new(self.id.as_str(), self.name.as_str(), &description)
        }
    }

    /// Returns placeholders for the modes and models, which the agent reports only when it
    /// runs.
    fn config_schema(&self) -> Option<SessionConfigSchema> {
        Some(options::placeholder_schema())
    }

    fn forbidden_values(&self) -> Vec<ForbiddenValue> {
        self.profile.auto_approve_rules().known_forbidden()
    }

    fn native_customizations(&self) -> Vec<String> {
        self.profile.native_customizations.clone()
    }

    fn on_host_start(&self) {
        if let Some(pid_dir) = &self.pid_dir {
            kill_leftovers(pid_dir);
        }
    }

    fn run_session(&self, session: SessionContext) -> SessionFuture {
        let relay = match self.profile.host_tools {
            HostToolAccess::Offered => session.relay.clone(),
            HostToolAccess::Withheld => None,
        };
        let agent = AcpAgent {
            environment: session.environment.clone(),
            tokens: session.tokens.clone(),
            gateway: relay.map(|relay| {
                SessionGateway::new(relay, session.uri.clone(), self.profile.mcp_preference)
            }),
            ..self.clone()
        };
        let bridge = bridge::run_bridge(session, agent);
        Box::pin(async { bridge.await.map_err(|error| error.to_string()) })
    }
}
