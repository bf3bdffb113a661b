//! An agent that speaks ACP, as the host sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::agent::ForbiddenValue;
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};
use agenthost_workspace::sweep;

use super::mcp::AcpMcpServer;
use super::process::AcpLaunch;
use super::profile::{AcpProfile, AgentSessions, HostTools};
use super::services::AcpService;
use super::shared::Processes;
use super::{bridge, options};
use crate::agent::{Agent, Session, SessionFuture};
use crate::relay::Gateway;
use crate::tokens::SessionTokens;

/// A program that speaks the Agent Client Protocol. Sessions of the host that
/// work in the same folder share a process, if it can let go of one.
#[derive(Debug, Clone)]
pub struct AcpAgent {
    id: String,
    name: String,
    pub(super) launch: Arc<AcpLaunch>,
    /// Where it is noted what runs, so that the next host can end it if this
    /// one is killed.
    pub(super) notes: Option<Arc<Path>>,
    pub(super) services: BTreeSet<AcpService>,
    pub(super) mcp_servers: Arc<[AcpMcpServer]>,
    /// How long it may take to stop when it is told to.
    pub(super) patience: Duration,
    pub(super) profile: Arc<AcpProfile>,
    /// Tokens for its environment.
    pub(super) tokens: SessionTokens,
    /// The tools that the host offers to the session that it works for.
    pub(super) gateway: Option<Gateway>,
    /// What runs of it and can be shared.
    pub(super) processes: Arc<Processes>,
}

/// How long an agent may take to stop, if nobody says.
const PATIENCE: Duration = Duration::from_secs(10);

impl AcpAgent {
    /// An agent that goes by a name for programs and one for people.
    pub fn new(id: impl Into<String>, name: impl Into<String>, launch: AcpLaunch) -> Self {
        AcpAgent {
            id: id.into(),
            name: name.into(),
            launch: Arc::new(launch),
            notes: None,
            services: BTreeSet::new(),
            mcp_servers: Arc::default(),
            patience: PATIENCE,
            profile: Arc::default(),
            tokens: SessionTokens::default(),
            gateway: None,
            processes: Arc::default(),
        }
    }

    /// One that the host also does this for. Without, it does all by itself:
    /// that works with every agent, and what is offered does not.
    #[must_use]
    pub fn offering(mut self, service: AcpService) -> Self {
        self.services.insert(service);
        self
    }

    /// One that is told to use these servers of tools.
    #[must_use]
    pub fn with_mcp_servers(self, servers: Vec<AcpMcpServer>) -> Self {
        AcpAgent {
            mcp_servers: servers.into(),
            ..self
        }
    }

    /// One that is ended if it takes longer than this to stop when it is told
    /// to; ten seconds if nobody says.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        AcpAgent { patience, ..self }
    }

    /// One that leaves nothing running behind, even if its host is killed: the
    /// next host with the same directory ends it.
    #[must_use]
    pub fn with_notes(self, directory: &Path) -> Self {
        AcpAgent {
            notes: Some(directory.into()),
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
    pub fn host_tools(&self) -> HostTools {
        self.profile.host_tools
    }

    /// How it is started now: with the token that there is for it.
    #[must_use]
    pub fn launch(&self) -> AcpLaunch {
        let mut launch = AcpLaunch::clone(&self.launch);
        if let Some(used) = &self.profile.token
            && let Some(token) = self.tokens.token(&used.resource)
            // It would stand for something else: no client may have the host
            // look into its own environment.
            && !token.reveal().starts_with('$')
        {
            let environment = &mut launch.environment;
            environment.retain(|(name, _)| *name != used.environment);
            environment.push((used.environment.clone(), token.reveal().to_owned()));
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
                    AgentSessions::Many => Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: Some(true),
                    }),
                    AgentSessions::One => None,
                },
                multiple_working_directories: None,
            }),
            protected_resources: self.profile.resources(),
            ..AgentInfo::new(self.id.as_str(), self.name.as_str(), &description)
        }
    }

    /// Which modes and models there are, the agent says when it runs.
    fn schema(&self) -> Option<SessionConfigSchema> {
        Some(options::unknown())
    }

    fn forbidden(&self) -> Vec<ForbiddenValue> {
        self.profile.rule().known_forbidden()
    }

    fn reads(&self) -> Vec<String> {
        self.profile.reads.clone()
    }

    fn begin(&self) {
        if let Some(notes) = &self.notes {
            sweep(notes);
        }
    }

    fn work(&self, session: Session) -> SessionFuture {
        let relay = match self.profile.host_tools {
            HostTools::Offered => session.relay.clone(),
            HostTools::Withheld => None,
        };
        let agent = AcpAgent {
            tokens: session.tokens.clone(),
            gateway: relay
                .map(|relay| Gateway::new(relay, session.uri.clone(), self.profile.tool_servers)),
            ..self.clone()
        };
        Box::pin(bridge::work(session, agent))
    }
}
