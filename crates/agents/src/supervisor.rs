//! All agents, and the sessions they work for.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::{AccessToken, Input, Principal, TokenKey};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{ContentStore, ProtectedPaths};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::agent::{Agent, AgentEventSender, SessionContext};
use crate::tokens::TokenStore;
use crate::tool_relay::ToolRelay;

/// Commands that wait for an agent. When there are more, the agent is taken
/// for stuck: it is ended, and its session told so.
const AGENT_COMMAND_QUEUE: usize = 64;

/// Runs every session's agent as a task, and ends them all when dropped.
pub struct AgentSupervisor {
    agents: BTreeMap<ProviderId, Arc<dyn Agent>>,
    order: Vec<ProviderId>,
    inputs: mpsc::Sender<Input>,
    running: BTreeMap<Uri, RunningAgent>,
    tasks: JoinSet<()>,
    contents: Option<Arc<ContentStore>>,
    tokens: TokenStore,
    relay: Option<ToolRelay>,
    protected: ProtectedPaths,
}

struct RunningAgent {
    commands: mpsc::Sender<AgentCommand>,
    task: AbortHandle,
}

impl AgentSupervisor {
    /// Agents that report to a host through its queue of inputs.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        AgentSupervisor {
            agents: BTreeMap::new(),
            order: Vec::new(),
            inputs,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            contents: None,
            tokens: TokenStore::default(),
            relay: None,
            protected: ProtectedPaths::default(),
        }
    }

    /// Refuses some files to agents that ask the host for them.
    pub fn set_protected_paths(&mut self, protected: ProtectedPaths) {
        self.protected = protected;
    }

    /// Where to put what is too large for a state. Without, it stays there.
    pub fn set_content_store(&mut self, contents: Arc<ContentStore>) {
        self.contents = Some(contents);
    }

    /// How agents get to the tools that the host offers. Without, they get to
    /// none of them.
    pub fn set_tool_relay(&mut self, relay: ToolRelay) {
        self.relay = Some(relay);
    }

    /// Keeps a token for agents that need it, or forgets it. Whoever runs
    /// already goes on with what it has.
    pub fn store_token(&self, key: TokenKey, token: Option<AccessToken>) {
        self.tokens.insert(key, token);
    }

    /// Says whose tokens a session uses, the first of them first.
    pub fn set_token_principals(&self, session: Uri, principals: Vec<Principal>) {
        self.tokens.set_principals(session, principals);
    }

    /// Adds an agent; the first is the default one. One of the same name takes
    /// the place of the last.
    pub fn add(&mut self, agent: Arc<dyn Agent>) {
        let provider = agent.info().provider;
        if self.agents.insert(provider.clone(), agent).is_none() {
            self.order.push(provider);
        }
    }

    /// What clients get to know about the agents, in the order they were
    /// added.
    pub fn infos(&self) -> Vec<AgentInfo> {
        let agents = self.order.iter().filter_map(|name| self.agents.get(name));
        agents.map(|agent| agent.info()).collect()
    }

    /// Passes a command on. Never waits; what the host has to know at once
    /// comes back as an input.
    pub fn send_command(
        &mut self,
        session: &Uri,
        provider: &ProviderId,
        command: AgentCommand,
    ) -> Option<Input> {
        while self.tasks.try_join_next().is_some() {}
        match command {
            AgentCommand::Open { .. } => {
                let Some(agent) = self.agents.get(provider).cloned() else {
                    let reason = format!("there is no agent `{provider}` here any more");
                    return Some(stopped_input(session, &reason));
                };
                self.spawn_agent(session, &*agent);
            }
            AgentCommand::Close => {
                // Without its commands it comes to an end by itself.
                self.running.remove(session);
                return None;
            }
            _ => {}
        }
        let running = self.running.get(session)?;
        match running.commands.try_send(command) {
            Ok(()) => None,
            // It has ended, and said so or is about to.
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.running.remove(session);
                Some(stopped_input(session, "the agent has ended"))
            }
            Err(mpsc::error::TrySendError::Full(_)) => {
                running.task.abort();
                self.running.remove(session);
                Some(stopped_input(
                    session,
                    "the agent does not take commands any more",
                ))
            }
        }
    }

    fn spawn_agent(&mut self, session: &Uri, agent: &dyn Agent) {
        let (commands, receiver) = mpsc::channel(AGENT_COMMAND_QUEUE);
        let events =
            AgentEventSender::new(session.clone(), self.inputs.clone(), self.contents.clone());
        let work = agent.run_session(SessionContext {
            uri: session.clone(),
            commands: receiver,
            events: events.clone(),
            tokens: self.tokens.for_session(session),
            relay: self.relay.clone(),
            protected: self.protected.clone(),
        });
        let task = self.tasks.spawn(async move {
            // A task of its own, so that it can break without taking this one
            // along; it ends with this one.
            let mut agent = JoinSet::new();
            agent.spawn(work);
            let reason = match agent.join_next().await {
                Some(Ok(Err(reason))) => reason,
                Some(Err(error)) if error.is_panic() => "the agent broke".to_owned(),
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

    /// Lets every agent come to an end, and ends those that do not in time.
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
