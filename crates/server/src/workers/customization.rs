//! Passes commands of the loop to the customization driver and the MCP servers.

use std::path::{Path, PathBuf};

use agenthost_agents::ToolRelay;
use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, HookDenial, PreparedTurn,
};
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, StartReason};
use agenthost_core::{AccessToken, Input, Principal, TokenKey};
use agenthost_customizations::{CustomizationDriver, CustomizationSettings, ServerSpecError};
use agenthost_mcp::{GatewayAddress, McpConfig, McpManager, McpStartError};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::scratch::ScratchSpace;
use tokio::sync::mpsc;

use crate::config::ServerConfig;

/// Directory for packages of customizations, in the data directory.
pub const PACKAGES_DIR: &str = "packages";

/// Customizations of sessions, and the relay that gives agents access to the tools of the host.
#[derive(Debug, Clone, Default)]
pub struct CustomizationsConfig {
    /// Settings from the configuration of the user.
    pub settings: CustomizationSettings,
    /// The program that agents start to reach the tools of the host. Without it, agents get no
    /// such tools.
    pub relay: Option<RelayProgram>,
}

/// A program that copies MCP messages between an agent and the host. It calls
/// `agenthost_mcp::relay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayProgram {
    /// The path of the executable.
    pub program: PathBuf,
    /// Arguments that start the relay.
    pub arguments: Vec<String>,
}

/// Passes commands to the customization driver and the MCP servers. Both send their events to the
/// input queue themselves.
pub(crate) struct CustomizationWorker {
    driver: CustomizationDriver,
    mcp: McpManager,
}

impl CustomizationWorker {
    pub(crate) fn start(
        settings: CustomizationSettings,
        data: &Path,
        pid_dir: &Path,
        scratch: ScratchSpace,
        inputs: &mpsc::Sender<Input>,
    ) -> Result<Self, McpStartError> {
        let packages = data.join(PACKAGES_DIR);
        let driver = CustomizationDriver::with_pid_dir(
            settings,
            packages,
            pid_dir.to_owned(),
            inputs.clone(),
        );
        let config = McpConfig {
            pid_dir: Some(pid_dir.to_owned()),
            scratch,
            ..McpConfig::default()
        };
        let mcp = McpManager::new(config, inputs.clone())?;
        Ok(CustomizationWorker { driver, mcp })
    }

    /// Builds the relay by which agents reach the tools of the host.
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
                tracing::warn!(%error, "failed to open a port: the agent gets no host tools");
                None
            }
        })
    }

    /// Passes a command to the driver. If the driver has stopped, it returns a substitute for
    /// the result: turns start without customizations, and tool calls that hooks have to check
    /// are denied.
    pub(crate) fn run(&mut self, command: CustomizationCommand) -> Option<Input> {
        let rejected = self.driver.execute(command).err()?;
        tracing::error!("customization driver has stopped");
        match *rejected {
            CustomizationCommand::Prepare(preparation) => Some(Input::Customization {
                session: preparation.session,
                event: CustomizationEvent::TurnPrepared {
                    chat: preparation.chat,
                    turn: preparation.turn,
                    outcome: Box::new(Ok(PreparedTurn::default())),
                },
            }),
            CustomizationCommand::CheckTool { id, tool_use } => Some(Input::Customization {
                session: tool_use.session,
                event: CustomizationEvent::ToolChecked {
                    id,
                    verdict: Err(HookDenial::HooksNotRun),
                },
            }),
            CustomizationCommand::Track { .. }
            | CustomizationCommand::Untrack { .. }
            | CustomizationCommand::SetClientPlugins { .. }
            | CustomizationCommand::QueryAnswered { .. }
            | CustomizationCommand::SetDisabled { .. }
            | CustomizationCommand::SetTrustedCode { .. }
            | CustomizationCommand::TurnEnded { .. }
            | CustomizationCommand::CancelCheck { .. }
            | CustomizationCommand::ToolUsed(_) => None,
        }
    }

    /// Runs a command on MCP servers. Returns the failure of a server that must not be started.
    /// A server with untrusted code that a turn would start counts as stopped.
    pub(crate) fn run_mcp(&mut self, command: McpCommand) -> Option<Input> {
        let McpCommand::Start {
            session,
            server,
            reason,
        } = command
        else {
            self.mcp.execute(command, |_, _| None);
            return None;
        };
        let event = match (self.driver.server_spec(&session, &server), reason) {
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

    /// Stores an access token for MCP servers, or removes it.
    pub(crate) fn store_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.mcp.set_token(key, token);
    }

    /// Sets the principals whose tokens the MCP servers of a session use.
    pub(crate) fn set_token_principals(&self, session: &Uri, principals: Vec<Principal>) {
        self.mcp.set_token_principals(session, principals);
    }

    /// Stops the driver, its hooks and all MCP servers, and waits until they have ended.
    pub(crate) async fn stop(self) {
        tokio::join!(self.driver.stop(), self.mcp.stop());
    }
}

/// Starts the worker if customizations are enabled.
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
