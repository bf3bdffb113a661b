//! Executes the effects for drivers: in this process, or in the runner.
//!
//! A command for the runner is stored in the same transaction as the actions of its step, and
//! sent after that. An input of the runner counts as handled once its actions are stored.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use agenthost_agents::{Agent, AgentSupervisor};
use agenthost_core::{Effect, HostMemory, Input};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::scratch::ScratchSpace;
use agenthost_store::{RunnerProgress, Store, StoreError, StoredRunner};
use agenthost_workspace::ContentStore;
use tokio::sync::mpsc;

use super::HostLoop;
use super::execute::read_environment;
use crate::config::{PID_DIR, SCRATCH_DIR, ServerConfig};
use crate::runner::attachment;
use crate::runner::frame::{FrameKind, encode_frame, encode_text};
use crate::runner::link::{RunnerEvent, RunnerLink};
use crate::server::ServeError;
use crate::workers::drivers::{DriverCommand, Drivers};

/// Starts drivers for a host.
pub(crate) struct DriverLauncher {
    pub(crate) config: ServerConfig,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) contents: Arc<ContentStore>,
}

/// The drivers of a host.
pub(crate) enum DriverHost {
    /// They run in this process.
    InProcess(Box<Drivers>),
    /// They run in the runner.
    Runner(Box<RunnerExchange>),
}

/// The exchange with the runner.
pub(crate) struct RunnerExchange {
    link: RunnerLink,
    /// The agents, for their descriptions only.
    catalog: AgentSupervisor,
    /// Commands of effects that are stored, in the order of the effects.
    staged: VecDeque<StagedCommand>,
    /// The number of the last input whose step has run.
    handled: u64,
    /// The last number that the runner was told.
    confirmed: u64,
    /// The last command whose row was deleted.
    deleted: u64,
    /// The parts of the memory as they are stored.
    memory: BTreeMap<String, String>,
    /// `true` if a step since the last append may have changed the memory.
    is_memory_stale: bool,
}

/// A command that is sent once the writes of its step are stored.
enum StagedCommand {
    Encoded(Vec<u8>),
    /// The command needs environment variables, which the same writes may contain.
    Incomplete(u64, Box<DriverCommand>),
}

impl DriverLauncher {
    /// Connects to the runner or starts one. Without a runner, starts the drivers in this
    /// process. Returns the memory of the previous host if its work continues.
    pub(crate) async fn start(
        &self,
        store: &mut Store,
    ) -> Result<(DriverHost, Option<HostMemory>), ServeError> {
        let Some(launch) = &self.config.runner else {
            store.replace_runner(None)?;
            return Ok((self.start_in_process()?, None));
        };
        let mut stored = store.load_runner()?;
        if let Some(stored) = &mut stored {
            complete_commands(store, stored)?;
        }
        let handled = stored.as_ref().map_or(0, |stored| stored.handled);
        let memory = stored.as_ref().map(|stored| stored.memory.clone());
        let directory = &self.config.data_directory;
        let attached = match attachment::attach(directory, launch, stored).await {
            Ok(attached) => attached,
            Err(error) => {
                tracing::error!(%error, "agents run in the process of the host, and end with it");
                store.replace_runner(None)?;
                return Ok((self.start_in_process()?, None));
            }
        };
        let continues = attached.memory.is_some();
        if !continues {
            store.replace_runner(Some(&attached.id))?;
        }
        let mut catalog = AgentSupervisor::new(self.inputs.clone());
        for agent in &self.config.agents {
            catalog.add(Arc::clone(agent));
        }
        let memory = memory.filter(|_| continues).unwrap_or_default();
        let handled = if continues { handled } else { 0 };
        let exchange = RunnerExchange {
            link: attached.link,
            catalog,
            staged: VecDeque::new(),
            handled,
            confirmed: handled,
            deleted: 0,
            memory: memory.into_iter().collect(),
            is_memory_stale: true,
        };
        Ok((DriverHost::Runner(Box::new(exchange)), attached.memory))
    }

    fn start_in_process(&self) -> Result<DriverHost, ServeError> {
        let config = &self.config;
        let path = config.data_directory.join(SCRATCH_DIR);
        let scratch = ScratchSpace::in_directory(&path);
        let scratch = scratch.map_err(|source| ServeError::Scratch { path, source })?;
        // Processes of an earlier host may still use its temporary directories, so they end
        // first.
        agenthost_process::kill_leftovers(&config.data_directory.join(PID_DIR));
        // A failure is not fatal: the next start tries again.
        scratch
            .sweep()
            .log_err("failed to remove temporary directories of an earlier host");
        let protected = config.protected_paths();
        let drivers = Drivers::start(config, protected, &self.inputs, &self.contents, scratch)?;
        Ok(DriverHost::InProcess(Box::new(drivers)))
    }
}

impl DriverHost {
    /// Returns the agents that the host offers.
    pub(crate) fn agents(&self) -> &AgentSupervisor {
        match self {
            DriverHost::InProcess(drivers) => &drivers.agents,
            DriverHost::Runner(exchange) => &exchange.catalog,
        }
    }

    /// Waits for the next event of the runner. Never returns without one. Cancel-safe.
    pub(super) async fn next_event(&mut self) -> RunnerEvent {
        match self {
            DriverHost::InProcess(_) => std::future::pending().await,
            DriverHost::Runner(exchange) => exchange.link.next_event().await,
        }
    }

    /// Returns an event of the runner that has arrived already.
    pub(super) fn try_next_event(&mut self) -> Option<RunnerEvent> {
        match self {
            DriverHost::InProcess(_) => None,
            DriverHost::Runner(exchange) => exchange.link.try_next_event(),
        }
    }

    /// Ends all agents and terminals.
    pub(super) async fn stop(self) {
        match self {
            DriverHost::InProcess(drivers) => drivers.stop().await,
            DriverHost::Runner(exchange) => exchange.link.stop().await,
        }
    }

    /// Leaves the runner with its agents and terminals. Without a runner, ends them.
    pub(super) async fn detach(self) {
        match self {
            DriverHost::InProcess(drivers) => drivers.stop().await,
            DriverHost::Runner(exchange) => exchange.link.detach().await,
        }
    }
}

impl HostLoop {
    /// Replaces the agents for new sessions. Returns the input for the host.
    pub(super) fn replace_agents(&mut self, agents: Vec<Arc<dyn Agent>>) -> Input {
        self.launcher.config.agents.clone_from(&agents);
        let changed = match &mut self.drivers {
            DriverHost::InProcess(drivers) => drivers.agents.replace(agents),
            DriverHost::Runner(exchange) => {
                exchange.link.send(encode_frame(FrameKind::Reload, 0, ""));
                exchange.catalog.replace(agents)
            }
        };
        let catalog = Box::new(self.catalog.build(self.drivers.agents()));
        Input::AgentsReplaced { catalog, changed }
    }

    /// Notes that a step with this input is about to run.
    pub(super) fn note_step(&mut self, input: &Input) {
        if let DriverHost::Runner(exchange) = &mut self.drivers
            && !exchange.is_memory_stale
        {
            exchange.is_memory_stale = self.host.may_change_memory(input);
        }
    }

    /// Notes that the step with an input of the runner has run.
    pub(super) fn note_handled(&mut self, number: u64) {
        if let DriverHost::Runner(exchange) = &mut self.drivers {
            exchange.handled = number;
        }
    }

    /// Encodes the commands among new effects, and returns what has to be stored with the
    /// writes of their steps.
    pub(super) fn stage(&mut self, effects: &[Effect]) -> RunnerProgress {
        let DriverHost::Runner(exchange) = &mut self.drivers else {
            return RunnerProgress::default();
        };
        let mut progress = RunnerProgress::default();
        for effect in effects {
            if !DriverCommand::is_for_driver(effect) {
                continue;
            }
            let Ok(command) = DriverCommand::from_effect(effect.clone()) else {
                continue;
            };
            let number = exchange.link.next_number();
            let text = encode_text(&command);
            let is_stored = command.is_stored();
            exchange.staged.push_back(match is_stored {
                true if command.environment_session().is_some() => {
                    StagedCommand::Incomplete(number, Box::new(command))
                }
                true => StagedCommand::Encoded(encode_frame(FrameKind::Command, number, &text)),
                false => {
                    let kind = FrameKind::UnstoredCommand;
                    StagedCommand::Encoded(encode_frame(kind, number, &text))
                }
            });
            if is_stored {
                progress.commands.push((number, text));
            }
        }
        if exchange.is_memory_stale {
            exchange.is_memory_stale = false;
            for part in self.host.memory_parts() {
                if exchange.memory.get(&part.name) != part.content.as_ref() {
                    progress.memory.push(part);
                }
            }
        }
        if exchange.handled > exchange.confirmed {
            progress.handled = Some(exchange.handled);
        }
        let received = exchange.link.received();
        if received > exchange.deleted && !progress.is_empty() {
            progress.received = Some(received);
        }
        progress
    }

    /// Notes that progress was stored, or that it can't be because storage is blocked.
    pub(super) fn finish_stage(&mut self, progress: RunnerProgress, is_stored: bool) {
        let DriverHost::Runner(exchange) = &mut self.drivers else {
            return;
        };
        if !is_stored {
            exchange.is_memory_stale |= !progress.memory.is_empty();
            return;
        }
        for part in progress.memory {
            match part.content {
                Some(content) => exchange.memory.insert(part.name, content),
                None => exchange.memory.remove(&part.name),
            };
        }
        if let Some(received) = progress.received {
            exchange.deleted = received;
        }
        if let Some(handled) = progress.handled {
            exchange.confirmed = handled;
            exchange.link.confirm(handled);
        }
    }

    /// Executes an effect for a driver. Returns any other effect.
    pub(super) fn execute_on_driver(
        &mut self,
        effect: Effect,
    ) -> Result<Result<Option<Input>, Box<Effect>>, StoreError> {
        let store = &self.store;
        match &mut self.drivers {
            DriverHost::InProcess(drivers) => {
                let mut command = match DriverCommand::from_effect(effect) {
                    Ok(command) => command,
                    Err(effect) => return Ok(Err(effect)),
                };
                complete(store, &mut command)?;
                Ok(Ok(drivers.execute(command)))
            }
            DriverHost::Runner(exchange) => {
                if !DriverCommand::is_for_driver(&effect) {
                    return Ok(Err(Box::new(effect)));
                }
                match exchange.staged.pop_front() {
                    Some(StagedCommand::Encoded(frame)) => exchange.link.send(frame),
                    Some(StagedCommand::Incomplete(number, mut command)) => {
                        complete(store, &mut command)?;
                        let text = encode_text(&command);
                        let frame = encode_frame(FrameKind::Command, number, &text);
                        exchange.link.send(frame);
                    }
                    None => {}
                }
                Ok(Ok(None))
            }
        }
    }

    /// Starts another runner in place of one that was lost. Returns the input that reports the
    /// end of the work.
    pub(super) async fn replace_runner(&mut self, reason: String) -> Result<Input, ServeError> {
        tracing::error!(reason, "the runner was lost, and its work has ended");
        if let DriverHost::Runner(lost) = &self.drivers {
            lost.link.end().await;
        }
        let (drivers, _) = self.launcher.start(&mut self.store).await?;
        self.drivers = drivers;
        Ok(Input::RunnerLost { reason })
    }
}

/// Adds the environment variables that a command needs.
fn complete(store: &Store, command: &mut DriverCommand) -> Result<(), StoreError> {
    if let Some(session) = command.environment_session() {
        let environment = read_environment(store, session)?;
        command.set_environment(environment);
    }
    Ok(())
}

/// Completes the stored commands of an earlier process of the host.
fn complete_commands(store: &Store, stored: &mut StoredRunner) -> Result<(), StoreError> {
    for (_, text) in &mut stored.commands {
        // The runner rejects what can't be decoded.
        if let Ok(mut command) = serde_json::from_str::<DriverCommand>(text)
            && command.environment_session().is_some()
        {
            complete(store, &mut command)?;
            *text = encode_text(&command);
        }
    }
    Ok(())
}
