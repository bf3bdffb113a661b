//! Runs the agents of all sessions as tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::{AccessToken, Input, Principal, SessionEnvironment, TokenKey};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{ContentStore, ProtectedPaths};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::agent::{Agent, AgentEventSender, SessionContext};
use crate::tokens::TokenStore;
use crate::tool_relay::ToolRelay;

/// Capacity of the command queue of an agent. When it is full, the agent is taken for
/// stuck: its task is aborted, and the session receives an error.
const AGENT_COMMAND_QUEUE: usize = 64;

/// Runs the agent of each session as a task, and aborts all tasks when it is dropped.
pub struct AgentSupervisor {
    agents: BTreeMap<ProviderId, Arc<dyn Agent>>,
    order: Vec<ProviderId>,
    inputs: mpsc::Sender<Input>,
    running: BTreeMap<Uri, RunningAgent>,
    tasks: JoinSet<()>,
    contents: Option<Arc<ContentStore>>,
    environments: BTreeMap<Uri, SessionEnvironment>,
    tokens: TokenStore,
    relay: Option<ToolRelay>,
    protected: ProtectedPaths,
}

struct RunningAgent {
    commands: mpsc::Sender<AgentCommand>,
    task: AbortHandle,
}

impl AgentSupervisor {
    /// Creates a supervisor without agents. Agents send their events to the host's input
    /// queue.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        AgentSupervisor {
            agents: BTreeMap::new(),
            order: Vec::new(),
            inputs,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            contents: None,
            environments: BTreeMap::new(),
            tokens: TokenStore::default(),
            relay: None,
            protected: ProtectedPaths::default(),
        }
    }

    /// Sets the files that agents can't read or write through the host.
    pub fn set_protected_paths(&mut self, protected: ProtectedPaths) {
        self.protected = protected;
    }

    /// Sets the store for content that is too large for the state. Without it, large
    /// content stays in the state.
    pub fn set_content_store(&mut self, contents: Arc<ContentStore>) {
        self.contents = Some(contents);
    }

    /// Sets the relay to the host's tools. Without it, agents have none of these tools.
    pub fn set_tool_relay(&mut self, relay: ToolRelay) {
        self.relay = Some(relay);
    }

    /// Stores or removes an access token for agents. Running agents keep the token that
    /// they already use.
    pub fn store_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.tokens.insert(key, token);
    }

    /// Sets the principals with tokens that a session may use, in order of precedence.
    pub fn set_token_principals(&self, session: Uri, principals: Vec<Principal>) {
        self.tokens.set_principals(session, principals);
    }

    /// Sets the environment variables for the agent that is opened next for a session.
    pub fn set_environment(&mut self, session: Uri, environment: SessionEnvironment) {
        self.environments.insert(session, environment);
    }

    /// Adds an agent; the first one is the default. An agent with the same name replaces
    /// the previous one.
    pub fn add(&mut self, agent: Arc<dyn Agent>) {
        let provider = agent.info().provider;
        if self.agents.insert(provider.clone(), agent).is_none() {
            self.order.push(provider);
        }
    }

    /// Replaces all agents, for sessions that are opened from now on. Returns those that are new
    /// or not the same as before.
    pub fn replace(&mut self, agents: Vec<Arc<dyn Agent>>) -> BTreeSet<ProviderId> {
        let before = std::mem::take(&mut self.agents);
        self.order.clear();
        let mut changed = BTreeSet::new();
        for agent in agents {
            let provider = agent.info().provider;
            let same = before.get(&provider);
            if !same.is_some_and(|same| Arc::ptr_eq(same, &agent)) {
                changed.insert(provider);
            }
            self.add(agent);
        }
        changed
    }

    /// Returns `true` if the agent of a session is running.
    pub fn has_sessions(&self) -> bool {
        self.running
            .values()
            .any(|running| !running.task.is_finished())
    }

    /// Returns the agents in the order in which they were added.
    pub fn agents(&self) -> impl Iterator<Item = &dyn Agent> {
        let agents = self.order.iter().filter_map(|name| self.agents.get(name));
        agents.map(|agent| &**agent)
    }

    /// Sends a command to the agent of a session. Never waits; returns an input if the
    /// agent could not be started or has stopped.
    pub fn send_command(
        &mut self,
        session: &Uri,
        provider: &ProviderId,
        command: AgentCommand,
    ) -> Option<Input> {
        while self.tasks.try_join_next().is_some() {}
        match command {
            AgentCommand::Open { .. } => {
                let environment = self.environments.remove(session).unwrap_or_default();
                let Some(agent) = self.agents.get(provider).cloned() else {
                    let reason = format!("there is no agent `{provider}`");
                    return Some(stopped_input(session, &reason));
                };
                self.spawn_agent(session, &*agent, environment);
            }
            AgentCommand::Close => {
                // Without commands, the agent ends by itself.
                self.running.remove(session);
                return None;
            }
            _ => {}
        }
        let running = self.running.get(session)?;
        match running.commands.try_send(command) {
            Ok(()) => None,
            // The agent has ended. It has reported this or is about to.
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.running.remove(session);
                Some(stopped_input(session, "the agent has ended"))
            }
            Err(mpsc::error::TrySendError::Full(_)) => {
                running.task.abort();
                self.running.remove(session);
                Some(stopped_input(
                    session,
                    "the command queue of the agent is full",
                ))
            }
        }
    }

    fn spawn_agent(&mut self, session: &Uri, agent: &dyn Agent, environment: SessionEnvironment) {
        let (commands, receiver) = mpsc::channel(AGENT_COMMAND_QUEUE);
        let events =
            AgentEventSender::new(session.clone(), self.inputs.clone(), self.contents.clone());
        let work = agent.run_session(SessionContext {
            uri: session.clone(),
            commands: receiver,
            events: events.clone(),
            environment,
            tokens: self.tokens.for_session(session),
            relay: self.relay.clone(),
            protected: self.protected.clone(),
        });
        let task = self.tasks.spawn(async move {
            // The agent runs in a nested task, so that a panic does not end this task. The
            // agent is aborted with this task.
            let mut agent = JoinSet::new();
            agent.spawn(work);
            let reason = match agent.join_next().await {
                Some(Ok(Err(reason))) => reason,
                Some(Err(error)) if error.is_panic() => "the task of the agent panicked".to_owned(),
                Some(Ok(Ok(())) | Err(_)) | None => return,
            };
            let error = stop_error(&reason);
            let told = events.send(AgentEvent::Stopped { error }).await;
            told.ignore_closed();
        });
        if let Some(before) = self
            .running
            .insert(session.clone(), RunningAgent { commands, task })
        {
            before.task.abort();
        }
    }

    /// Closes all agents, and aborts those that do not end within the grace period.
    pub async fn stop(mut self, grace: std::time::Duration) {
        self.running.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            self.tasks.shutdown().await;
        }
    }
}

fn stopped_input(session: &Uri, reason: &str) -> Input {
    Input::Agent {
        session: session.clone(),
        event: AgentEvent::Stopped {
            error: stop_error(reason),
        },
    }
}

fn stop_error(reason: &str) -> ErrorInfo {
    ErrorInfo::new("agentStopped", reason)
}
