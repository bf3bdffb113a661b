//! All agents, and the sessions they work for.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::{Input, Principal, Token, TokenPlace};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{Contents, ProtectedPaths};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::agent::{Agent, Events, Session};
use crate::relay::ToolRelay;
use crate::tokens::Tokens;

/// Commands that wait for an agent. When there are more, the agent is taken
/// for stuck: it is ended, and its session told so.
const COMMANDS: usize = 64;

/// Runs every session's agent as a task, and ends them all when dropped.
pub struct Agents {
    agents: BTreeMap<ProviderId, Arc<dyn Agent>>,
    order: Vec<ProviderId>,
    inputs: mpsc::Sender<Input>,
    working: BTreeMap<Uri, Working>,
    tasks: JoinSet<()>,
    contents: Option<Arc<Contents>>,
    tokens: Tokens,
    relay: Option<ToolRelay>,
    protected: ProtectedPaths,
}

struct Working {
    commands: mpsc::Sender<AgentCommand>,
    task: AbortHandle,
}

impl Agents {
    /// Agents that report to a host through its queue of inputs.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        Agents {
            agents: BTreeMap::new(),
            order: Vec::new(),
            inputs,
            working: BTreeMap::new(),
            tasks: JoinSet::new(),
            contents: None,
            tokens: Tokens::default(),
            relay: None,
            protected: ProtectedPaths::default(),
        }
    }

    /// Refuses some files to agents that ask the host for them.
    pub fn protect(&mut self, protected: ProtectedPaths) {
        self.protected = protected;
    }

    /// Where to put what is too large for a state. Without, it stays there.
    pub fn put_aside_in(&mut self, contents: Arc<Contents>) {
        self.contents = Some(contents);
    }

    /// How agents get to the tools that the host offers. Without, they get to
    /// none of them.
    pub fn offer_tools_by(&mut self, relay: ToolRelay) {
        self.relay = Some(relay);
    }

    /// Keeps a token for agents that need it, or forgets it. Whoever runs
    /// already goes on with what it has.
    pub fn keep_token(&self, place: TokenPlace, token: Option<Token>) {
        self.tokens.keep(place, token);
    }

    /// Says whose tokens a session uses, the first of them first.
    pub fn use_tokens_of(&self, session: Uri, principals: Vec<Principal>) {
        self.tokens.use_for(session, principals);
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
    pub fn command(
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
                    return Some(stopped(session, &reason));
                };
                self.start(session, &*agent);
            }
            AgentCommand::Close => {
                // Without its commands it comes to an end by itself.
                self.working.remove(session);
                return None;
            }
            _ => {}
        }
        let working = self.working.get(session)?;
        match working.commands.try_send(command) {
            Ok(()) => None,
            // It has ended, and said so or is about to.
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.working.remove(session);
                Some(stopped(session, "the agent has ended"))
            }
            Err(mpsc::error::TrySendError::Full(_)) => {
                working.task.abort();
                self.working.remove(session);
                Some(stopped(
                    session,
                    "the agent does not take commands any more",
                ))
            }
        }
    }

    fn start(&mut self, session: &Uri, agent: &dyn Agent) {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let events = Events::new(session.clone(), self.inputs.clone(), self.contents.clone());
        let work = agent.work(Session {
            uri: session.clone(),
            commands: receiver,
            events: events.clone(),
            tokens: self.tokens.of_session(session),
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
            // A host that is gone needs no telling.
            let told = events.send(AgentEvent::Stopped { error }).await;
            told.unwrap_or_default();
        });
        if let Some(before) = self
            .working
            .insert(session.clone(), Working { commands, task })
        {
            before.task.abort();
        }
    }

    /// Lets every agent come to an end, and ends those that do not in time.
    pub async fn stop(mut self, grace: std::time::Duration) {
        self.working.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            self.tasks.shutdown().await;
        }
    }
}

fn stopped(session: &Uri, reason: &str) -> Input {
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
