//! An agent that speaks ACP, as the host sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::SessionGateway;
use agenthost_agents::SessionTokens;
use agenthost_agents::{Agent, SessionContext, SessionFuture};
use agenthost_core::agent::ForbiddenValue;
use agenthost_process::kill_leftovers;
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};

use super::bridge;
use super::process_pool::ProcessPool;
use super::process_pool::launch::AgentLaunch;
use super::registry::profile::{AcpProfile, HostToolAccess, SessionMultiplicity};
use super::services::AcpService;
use super::session::mcp_servers::AgentMcpServer;
use super::session::options;

/// A program that speaks the Agent Client Protocol. Sessions of the host that
/// work in the same folder share a process, if it can let go of one.
#[derive(Debug, Clone)]
pub struct AcpAgent {
    id: String,
    name: String,
    pub(super) launch: Arc<AgentLaunch>,
    /// Where it is noted what runs, so that the next host can end it if this
    /// one is killed.
    pub(super) pid_dir: Option<Arc<Path>>,
    pub(super) services: BTreeSet<AcpService>,
    pub(super) mcp_servers: Arc<[AgentMcpServer]>,
    /// How long it may take to stop when it is told to.
    pub(super) cancel_timeout: Duration,
    pub(super) profile: Arc<AcpProfile>,
    /// Tokens for its environment.
    pub(super) tokens: SessionTokens,
    /// The tools that the host offers to the session that it works for.
    pub(super) gateway: Option<SessionGateway>,
    /// What runs of it and can be shared.
    pub(super) process_pool: Arc<ProcessPool>,
}

/// How long an agent may take to stop, if nobody says.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

impl AcpAgent {
    /// An agent that goes by a name for programs and one for people.
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
            tokens: SessionTokens::default(),
            gateway: None,
            process_pool: Arc::default(),
        }
    }

    /// One that the host also does this for. Without, it does all by itself:
    /// that works with every agent, and what is offered does not.
    #[must_use]
    pub fn with_service(mut self, service: AcpService) -> Self {
        self.services.insert(service);
        self
    }

    /// One that is told to use these servers of tools.
    #[must_use]
    pub fn with_mcp_servers(self, servers: Vec<AgentMcpServer>) -> Self {
        AcpAgent {
            mcp_servers: servers.into(),
            ..self
        }
    }

    /// One that is ended if it takes longer than this to stop when it is told
    /// to; ten seconds if nobody says.
    #[must_use]
    pub fn with_cancel_timeout(self, cancel_timeout: Duration) -> Self {
        AcpAgent {
            cancel_timeout,
            ..self
        }
    }

    /// One that leaves nothing running behind, even if its host is killed: the
    /// next host with the same directory ends it.
    #[must_use]
    pub fn with_pid_dir(self, directory: &Path) -> Self {
        AcpAgent {
            pid_dir: Some(directory.into()),
            ..self
        }
    }

    /// One that is particular about something.
    #[must_use]
    pub fn with_profile(self, profile: AcpProfile) -> Self {
        AcpAgent {
            profile: Arc::new(profile),
            ..self
        }
    }

    /// What it goes by.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it gets to the tools that the host offers.
    #[must_use]
    pub fn host_tools(&self) -> HostToolAccess {
        self.profile.host_tools
    }

    /// How it is started now: with the token that there is for it.
    #[must_use]
    pub fn launch(&self) -> AgentLaunch {
        let mut launch = AgentLaunch::clone(&self.launch);
        if let Some(binding) = &self.profile.token_binding
            && let Some(token) = self.tokens.token(&binding.resource)
            // It would stand for something else: no client may have the host
            // look into its own environment.
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
        let description = format!("{}, by the Agent Client Protocol", self.name);
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: match self.profile.sessions {
                    // Where the agent can't, it is told what was said.
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

    /// Which modes and models there are, the agent says when it runs.
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
