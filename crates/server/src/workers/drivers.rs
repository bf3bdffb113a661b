//! The drivers: agents, terminals, customizations and MCP servers, and their commands.
//!
//! They run in the process of the host, or in the runner (see [`runner`](crate::runner)). Both
//! execute the same [`DriverCommand`]s; the drivers send their results to a queue of inputs.

use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, AgentSupervisor};
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent};
use agenthost_core::{
    AccessToken, Effect, Input, Principal, PtyCommand, SessionEnvironment, TerminalEvent, TokenKey,
};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::scratch::ScratchSpace;
use agenthost_workspace::{ContentStore, ProtectedPaths, ShellSpec};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::config::{PID_DIR, ServerConfig};
use crate::server::ServeError;
use crate::workers::customization::{CustomizationWorker, start_customization_worker};
use crate::workers::terminals::TerminalWorker;

/// Timeout for agents to end when the drivers stop.
const AGENT_STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// A command of the host for one of the drivers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum DriverCommand {
    Agent {
        session: Uri,
        provider: ProviderId,
        command: Box<AgentCommand>,
        /// Environment variables for an agent that is opened. They are not stored with the
        /// command.
        environment: Option<SessionEnvironment>,
    },
    Terminal {
        content_session: Option<Uri>,
        terminal: Uri,
        command: Box<PtyCommand>,
        /// The same, for a program that is started.
        environment: Option<SessionEnvironment>,
    },
    Customization(Box<CustomizationCommand>),
    Mcp(Box<McpCommand>),
    StoreToken {
        key: TokenKey,
        token: Option<AccessToken>,
    },
    SetTokenPrincipals {
        session: Uri,
        principals: Vec<Principal>,
    },
}

/// An input that a driver sends to the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum DriverInput {
    Agent {
        session: Uri,
        event: AgentEvent,
    },
    Terminal {
        terminal: Uri,
        event: TerminalEvent,
    },
    Customization {
        session: Uri,
        event: CustomizationEvent,
    },
    Mcp {
        session: Uri,
        event: McpEvent,
    },
}

/// The running drivers.
pub(crate) struct Drivers {
    pub(crate) agents: AgentSupervisor,
    terminal_worker: TerminalWorker,
    /// `None` if customizations are disabled.
    customization_worker: Option<CustomizationWorker>,
}

impl DriverCommand {
    /// Returns the command of an effect, or the effect if it is for another part of the server.
    pub(crate) fn from_effect(effect: Effect) -> Result<Self, Box<Effect>> {
        Ok(match effect {
            Effect::Agent {
                session,
                provider,
                command,
            } => DriverCommand::Agent {
                session,
                provider,
                command,
                environment: None,
            },
            Effect::Terminal {
                content_session,
                terminal,
                command,
            } => DriverCommand::Terminal {
                content_session,
                terminal,
                command,
                environment: None,
            },
            Effect::Customization(command) => DriverCommand::Customization(command),
            Effect::Mcp(command) => DriverCommand::Mcp(command),
            Effect::StoreToken { key, token } => DriverCommand::StoreToken { key, token },
            Effect::SetTokenPrincipals {
                session,
                principals,
            } => DriverCommand::SetTokenPrincipals {
                session,
                principals,
            },
            other => return Err(Box::new(other)),
        })
    }

    /// Returns the session whose environment variables the command needs.
    pub(crate) fn environment_session(&self) -> Option<&Uri> {
        match self {
            DriverCommand::Agent {
                session, command, ..
            } => matches!(**command, AgentCommand::Open { .. }).then_some(session),
            DriverCommand::Terminal {
                content_session,
                command,
                ..
            } => {
                let opens = matches!(**command, PtyCommand::Open { .. });
                content_session.as_ref().filter(|_| opens)
            }
            DriverCommand::Customization(_)
            | DriverCommand::Mcp(_)
            | DriverCommand::StoreToken { .. }
            | DriverCommand::SetTokenPrincipals { .. } => None,
        }
    }

    /// Sets the environment variables of [`Self::environment_session`].
    pub(crate) fn set_environment(&mut self, variables: SessionEnvironment) {
        match self {
            DriverCommand::Agent { environment, .. }
            | DriverCommand::Terminal { environment, .. } => *environment = Some(variables),
            DriverCommand::Customization(_)
            | DriverCommand::Mcp(_)
            | DriverCommand::StoreToken { .. }
            | DriverCommand::SetTokenPrincipals { .. } => {}
        }
    }

    /// Returns `true` for an effect that is a command for a driver.
    pub(crate) fn is_for_driver(effect: &Effect) -> bool {
        matches!(
            effect,
            Effect::Agent { .. }
                | Effect::Terminal { .. }
                | Effect::Customization(_)
                | Effect::Mcp(_)
                | Effect::StoreToken { .. }
                | Effect::SetTokenPrincipals { .. }
        )
    }

    /// Returns `true` for a command that is stored until a runner has received it. Tokens and
    /// terminal input are private and never stored (TER-20), and the other commands without a
    /// place in the store belong to connections, which end with the host.
    pub(crate) fn is_stored(&self) -> bool {
        let is_private = |command: &PtyCommand| {
            matches!(command, PtyCommand::Write(_) | PtyCommand::Resize { .. })
        };
        match self {
            DriverCommand::Agent { command, .. } => match &**command {
                AgentCommand::UseTerminal { command, .. } => !is_private(command),
                _ => true,
            },
            DriverCommand::Terminal { command, .. } => !is_private(command),
            DriverCommand::Customization(command) => {
                !matches!(**command, CustomizationCommand::QueryAnswered { .. })
            }
            DriverCommand::Mcp(command) => !matches!(
                **command,
                McpCommand::ForwardRequest(_) | McpCommand::ForwardNotification { .. }
            ),
            DriverCommand::StoreToken { .. } => false,
            DriverCommand::SetTokenPrincipals { .. } => true,
        }
    }
}

impl DriverInput {
    /// Returns the input of a driver, or `None` for an input that no driver sends.
    pub(crate) fn from_input(input: Input) -> Option<Self> {
        match input {
            Input::Agent { session, event } => Some(DriverInput::Agent { session, event }),
            Input::Terminal { terminal, event } => Some(DriverInput::Terminal { terminal, event }),
            Input::Customization { session, event } => {
                Some(DriverInput::Customization { session, event })
            }
            Input::Mcp { session, event } => Some(DriverInput::Mcp { session, event }),
            _ => None,
        }
    }
}

impl From<DriverInput> for Input {
    fn from(input: DriverInput) -> Self {
        match input {
            DriverInput::Agent { session, event } => Input::Agent { session, event },
            DriverInput::Terminal { terminal, event } => Input::Terminal { terminal, event },
            DriverInput::Customization { session, event } => {
                Input::Customization { session, event }
            }
            DriverInput::Mcp { session, event } => Input::Mcp { session, event },
        }
    }
}

impl Drivers {
    /// Starts the drivers. They send their inputs to `inputs`, and wait while it is full.
    pub(crate) fn start(
        config: &ServerConfig,
        protected: ProtectedPaths,
        inputs: &mpsc::Sender<Input>,
        contents: &Arc<ContentStore>,
        scratch: ScratchSpace,
    ) -> Result<Self, ServeError> {
        let pid_dir = config.data_directory.join(PID_DIR);
        let shell = ShellSpec {
            path: config.shell.clone(),
            scratch: scratch.clone(),
            ..ShellSpec::default()
        };
        let terminal_worker =
            TerminalWorker::new(inputs.clone(), Arc::clone(contents), &pid_dir, shell);
        let customization_worker = start_customization_worker(config, &pid_dir, scratch, inputs)?;
        let mut agents = AgentSupervisor::new(inputs.clone());
        agents.set_protected_paths(protected);
        agents.set_content_store(Arc::clone(contents));
        let relay = config.customizations.as_ref();
        let relay = relay.and_then(|customizations| customizations.relay.as_ref());
        if let (Some(relay), Some(customizing)) = (relay, &customization_worker) {
            agents.set_tool_relay(customizing.tool_relay(relay));
        }
        for agent in &config.agents {
            agent.on_host_start();
            agents.add(Arc::clone(agent));
        }
        Ok(Drivers {
            agents,
            terminal_worker,
            customization_worker,
        })
    }

    /// Executes a command. Returns the input that results from it at once.
    pub(crate) fn execute(&mut self, command: DriverCommand) -> Option<Input> {
        match command {
            DriverCommand::Agent {
                session,
                provider,
                command,
                environment,
            } => {
                if let Some(environment) = environment {
                    self.agents.set_environment(session.clone(), environment);
                }
                self.agents.send_command(&session, &provider, *command)
            }
            DriverCommand::Terminal {
                content_session,
                terminal,
                command,
                environment,
            } => {
                let session = content_session.as_ref();
                let environment = environment.unwrap_or_default();
                let worker = &mut self.terminal_worker;
                worker.run(session, &environment, terminal, *command)
            }
            DriverCommand::Customization(command) => {
                let worker = self.customization_worker.as_mut()?;
                worker.run(*command)
            }
            DriverCommand::Mcp(command) => {
                let worker = self.customization_worker.as_mut()?;
                worker.run_mcp(*command)
            }
            DriverCommand::StoreToken { key, token } => {
                if let Some(worker) = &self.customization_worker {
                    worker.store_token(key.clone(), token.clone());
                }
                self.agents.store_token(key, token);
                None
            }
            DriverCommand::SetTokenPrincipals {
                session,
                principals,
            } => {
                if let Some(worker) = &self.customization_worker {
                    worker.set_token_principals(&session, principals.clone());
                }
                self.agents.set_token_principals(session, principals);
                None
            }
        }
    }

    /// Replaces the agents for sessions that are opened from now on.
    pub(crate) fn replace_agents(&mut self, agents: Vec<Arc<dyn Agent>>) {
        self.agents.replace(agents);
    }

    /// Returns `true` if no agent is open and no terminal runs.
    pub(crate) fn is_idle(&self) -> bool {
        !self.agents.has_sessions() && self.terminal_worker.is_empty()
    }

    /// Ends agents, terminals, MCP servers and hooks, and waits until their processes have
    /// exited.
    pub(crate) async fn stop(mut self) {
        let customization_worker = self.customization_worker.take();
        let stop_customizations = async {
            if let Some(worker) = customization_worker {
                worker.stop().await;
            }
        };
        tokio::join!(
            self.agents.stop(AGENT_STOP_TIMEOUT),
            self.terminal_worker.close_all(),
            stop_customizations
        );
    }
}
