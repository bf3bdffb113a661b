//! Whoever reads customizations and runs servers of tools, as the loop sees
//! them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_agents::{AgentSupervisor, ToolRelay};
use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, HookDenial, PreparedTurn,
};
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, StartReason};
use agenthost_core::{AccessToken, Input, Principal, TokenKey};
use agenthost_customizations::{
    CustomizationDriver, CustomizationSettings, ServerSpecError, configured_customizations,
};
use agenthost_mcp::{GatewayAddress, McpConfig, McpManager, McpStartError};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::scratch::ScratchSpace;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::config::ServerConfig;

/// Errands that wait to be taken. They are taken at once; so if there are more,
/// nobody takes any.
const COMMAND_QUEUE: usize = 4_096;

/// Events that wait until the loop has time.
const EVENT_QUEUE: usize = 256;

/// Where packages are, in the data directory.
pub const PACKAGES_DIR: &str = "packages";

/// What is read for sessions, and how agents get to the tools of the host.
#[derive(Debug, Clone, Default)]
pub struct CustomizationsConfig {
    /// What a person configured.
    pub settings: CustomizationSettings,
    /// The program that agents start to get to the tools that the host offers;
    /// without one, they get none.
    pub relay: Option<RelayProgram>,
}

/// A program that passes on what agents say to the host: it calls
/// `agenthost_mcp::relay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Reads customizations, and runs servers of tools.
pub(crate) struct CustomizationWorker {
    commands: mpsc::Sender<CustomizationCommand>,
    driver: Arc<CustomizationDriver>,
    mcp: McpManager,
    /// Bring errands there, and events back.
    forwarders: JoinSet<()>,
}

impl CustomizationWorker {
    /// Starts. What happens goes to the host through its queue of inputs.
    pub(crate) fn start(
        settings: CustomizationSettings,
        data: &Path,
        pid_dir: &Path,
        scratch: ScratchSpace,
        inputs: &mpsc::Sender<Input>,
    ) -> Result<Self, McpStartError> {
        let (told, mut events) = mpsc::channel::<(Uri, CustomizationEvent)>(EVENT_QUEUE);
        let packages = data.join(PACKAGES_DIR);
        let sources =
            CustomizationDriver::with_pid_dir(settings, packages, pid_dir.to_owned(), told);
        let sources = Arc::new(sources);
        let (told, mut tool_events) = mpsc::channel::<(Uri, McpEvent)>(EVENT_QUEUE);
        let config = McpConfig {
            pid_dir: Some(pid_dir.to_owned()),
            scratch,
            ..McpConfig::default()
        };
        let mcp = McpManager::new(config, told)?;
        let (commands, mut command_receiver) = mpsc::channel(COMMAND_QUEUE);
        let mut forwarders = JoinSet::new();
        let reader = Arc::clone(&sources);
        forwarders.spawn(async move {
            while let Some(errand) = command_receiver.recv().await {
                reader.execute(errand).await;
            }
        });
        let to_host = inputs.clone();
        forwarders.spawn(async move {
            while let Some((session, event)) = events.recv().await {
                let sent = to_host.send(Input::Customization { session, event }).await;
                sent.ignore_closed();
            }
        });
        let to_host = inputs.clone();
        forwarders.spawn(async move {
            while let Some((session, event)) = tool_events.recv().await {
                let sent = to_host.send(Input::Mcp { session, event }).await;
                sent.ignore_closed();
            }
        });
        Ok(CustomizationWorker {
            commands,
            driver: sources,
            mcp,
            forwarders,
        })
    }

    /// How agents get to the tools that the host offers.
    pub(crate) fn tool_relay(&self, program: &RelayProgram) -> ToolRelay {
        let gateway: GatewayAddress = self.mcp.gateway().clone();
        let web = self.mcp.http_gateway().clone();
        ToolRelay::new(
            program.program.to_string_lossy(),
            program.arguments.clone(),
            move |session, chat| gateway.relay_environment(session, chat),
        )
        .with_http_target(move |session, chat| match web.target_for(session, chat) {
            Ok(place) => Some((place.url, place.headers)),
            Err(error) => {
                tracing::warn!(%error, "no port can be opened: an agent has no tools of the host");
                None
            }
        })
    }

    /// Has something found out. Should nobody be there to do that, turns begin
    /// without, and tools that hooks would have to look at are not used.
    pub(crate) fn run_command(&self, command: CustomizationCommand) -> Option<Input> {
        let failed = self.commands.try_send(command).err()?;
        tracing::error!("nobody reads customizations any more");
        match failed.into_inner() {
            CustomizationCommand::Prepare(preparation) => Some(Input::Customization {
                session: preparation.session,
                event: CustomizationEvent::TurnPrepared {
                    chat: preparation.chat,
                    turn: preparation.turn,
                    outcome: Box::new(Ok(PreparedTurn::default())),
                },
            }),
            CustomizationCommand::CheckTool {
                id: ticket,
                tool_use: tool,
            } => Some(Input::Customization {
                session: tool.session,
                event: CustomizationEvent::ToolChecked {
                    id: ticket,
                    verdict: Err(HookDenial::HooksNotRun),
                },
            }),
            _ => None,
        }
    }

    /// Has something done with servers. What must not be started is not, and
    /// only a person who wants it started is told why.
    pub(crate) fn run_mcp_command(&self, command: McpCommand) -> Option<Input> {
        let McpCommand::Start {
            session,
            server,
            reason: by,
        } = command
        else {
            self.mcp.execute(command, |_, _| None);
            return None;
        };
        let event = match (self.driver.server_spec(&session, &server), by) {
            (Ok(spec), StartReason::Turn | StartReason::User) => {
                self.mcp.start_server(&session, &server, spec);
                return None;
            }
            (Err(ServerSpecError::UntrustedCode(_)), StartReason::Turn) => {
                McpEvent::ServerStopped { server }
            }
            (Err(error), StartReason::Turn | StartReason::User) => McpEvent::ServerFailed {
                server,
                error: ErrorInfo::new("mcpServerFailed", error.to_string()),
            },
        };
        Some(Input::Mcp { session, event })
    }

    /// Gives a token to servers, or takes it back.
    pub(crate) fn store_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.mcp.set_token(key, token);
    }

    /// Says whose tokens a session uses.
    pub(crate) fn set_token_principals(&self, session: &Uri, principals: Vec<Principal>) {
        self.mcp.set_token_principals(session, principals);
    }

    /// Ends everything.
    pub(crate) async fn stop(mut self) {
        self.forwarders.shutdown().await;
        let sources = Arc::into_inner(self.driver);
        let sources = async {
            if let Some(sources) = sources {
                sources.stop().await;
            }
        };
        tokio::join!(sources, self.mcp.stop());
    }
}

/// The agents that take notice of customizations.
pub(crate) fn customizable_agents(config: &ServerConfig) -> Option<BTreeSet<ProviderId>> {
    config.customizations.as_ref()?;
    let agents = config.agents.iter().filter(|agent| agent.is_customizable());
    Some(agents.map(|agent| agent.info().provider).collect())
}

/// Whoever reads customizations, if that is wanted.
pub(crate) fn start_customization_worker(
    config: &ServerConfig,
    pid_dir: &Path,
    scratch: ScratchSpace,
    inputs: &mpsc::Sender<Input>,
) -> Result<Option<CustomizationWorker>, McpStartError> {
    let Some(customizations) = &config.customizations else {
        return Ok(None);
    };
    let mut settings = customizations.settings.clone();
    for agent in &config.agents {
        let provider = agent.info().provider;
        settings
            .native_paths
            .entry(provider)
            .or_insert(agent.native_customizations());
    }
    let started =
        CustomizationWorker::start(settings, &config.data_directory, pid_dir, scratch, inputs);
    Ok(Some(started?))
}

/// What clients get to know of agents: also what their sessions will have
/// (`AgentInfo.customizations`).
pub(crate) fn agent_infos(config: &ServerConfig, agents: &AgentSupervisor) -> Vec<AgentInfo> {
    let mut infos = agents.infos();
    if let Some(customizations) = &config.customizations {
        for info in &mut infos {
            let packages = config.data_directory.join(PACKAGES_DIR);
            let all =
                configured_customizations(&customizations.settings, &packages, &info.provider);
            info.customizations = (!all.is_empty()).then_some(all);
        }
    }
    infos
}
