//! What an agent has to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentEvent, ForbiddenValue};
use agenthost_core::{Input, SessionKey};
use agenthost_protocol::chat::ErrorPart;
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ContentError, ContentStore, OutputSink, ProtectedPaths};
use tokio::sync::mpsc;

use crate::spill;
use crate::tokens::SessionTokens;
use crate::tool_relay::ToolRelay;
use crate::turn_mapper::{TurnEvent, TurnMapper};

/// An agent that can work for sessions.
///
/// The host knows it by its [`AgentInfo`] alone: nothing anywhere depends on
/// which agent it is.
pub trait Agent: Send + Sync + 'static {
    /// What clients get to know about it.
    fn info(&self) -> AgentInfo;

    /// What can be configured about its sessions.
    fn config_schema(&self) -> Option<SessionConfigSchema> {
        None
    }

    /// Values that nobody may choose for its sessions, as far as that is known
    /// before it runs.
    fn forbidden_values(&self) -> Vec<ForbiddenValue> {
        Vec::new()
    }

    /// What it reads by itself of what customizes agents: beginnings of paths
    /// in the folders of a session, or in the home directory after `~/`. The
    /// host does not tell it what stands there.
    fn native_customizations(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether it can make anything of customizations: of rules, prompts and
    /// tools that the host has for it.
    fn is_customizable(&self) -> bool {
        true
    }

    /// The host begins, and is the only one on its data. The place to tidy up
    /// after one that was killed.
    fn on_host_start(&self) {}

    /// Works for one session, from its first command to its last. Ends when
    /// there are no more commands; dropped, it has to leave nothing running.
    fn run_session(&self, session: SessionContext) -> SessionFuture;
}

/// An agent at work. An error is why it stopped before it was told to.
pub type SessionFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// What an agent has to work with.
#[derive(Debug)]
pub struct SessionContext {
    /// The session.
    pub uri: Uri,
    /// What the host wants, in order.
    pub commands: mpsc::Receiver<AgentCommand>,
    /// What the agent has to tell.
    pub events: AgentEventSender,
    /// Tokens that clients handed over, as far as they are for this session.
    pub tokens: SessionTokens,
    /// The way to the tools that the host offers, if it offers any.
    pub relay: Option<ToolRelay>,
    /// Files that the host reads and writes for nobody.
    pub protected: ProtectedPaths,
}

/// The way to the host. Its queue is bounded: an agent that tells more than
/// the host can take in waits until it can.
#[derive(Debug, Clone)]
pub struct AgentEventSender {
    session: Uri,
    inputs: mpsc::Sender<Input>,
    contents: Option<Arc<ContentStore>>,
}

/// The host is gone; nobody is listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host is gone")]
pub struct HostGone;

impl AgentEventSender {
    pub(crate) fn new(
        session: Uri,
        inputs: mpsc::Sender<Input>,
        contents: Option<Arc<ContentStore>>,
    ) -> Self {
        AgentEventSender {
            session,
            inputs,
            contents,
        }
    }

    /// Where the output of commands is kept that is too long to be shown.
    pub fn output_sink(&self) -> Option<OutputSink> {
        self.contents.as_ref().map(|contents| OutputSink {
            content_store: Arc::clone(contents),
            session: SessionKey::of(&self.session),
        })
    }

    /// Keeps some content of the session. Its address follows from it, so
    /// whoever refers to it does not have to wait.
    pub async fn store_content(&self, name: String, bytes: Vec<u8>) -> Result<(), ContentError> {
        let Some(contents) = self.contents.clone() else {
            return Ok(());
        };
        let session = SessionKey::of(&self.session);
        let work = move || contents.insert(&session, &bytes, &name).map(drop);
        let done = tokio::task::spawn_blocking(work).await;
        // It is ended half-way only when everything is.
        done.unwrap_or(Ok(()))
    }

    /// Tells the host something. Of a tool result that is too large for a
    /// state, most is put aside first (PRT-4).
    pub async fn send(&self, event: AgentEvent) -> Result<(), HostGone> {
        let event = match &self.contents {
            Some(contents) => spill::spill_large_results(contents, &self.session, event).await?,
            None => event,
        };
        let session = self.session.clone();
        let input = Input::Agent { session, event };
        self.inputs.send(input).await.map_err(|_| HostGone)
    }

    /// Tells the host what happened in a turn.
    pub async fn send_turn_event(
        &self,
        chat: &Uri,
        turn: &mut TurnMapper,
        event: TurnEvent,
    ) -> Result<(), HostGone> {
        for action in turn.map(event) {
            let event = AgentEvent::Chat {
                chat: chat.clone(),
                action: Box::new(action),
            };
            self.send(event).await?;
        }
        Ok(())
    }

    /// Tells the host that a turn is over; the error is why it failed.
    pub async fn end_turn(
        &self,
        chat: &Uri,
        turn: &TurnId,
        error: Option<ErrorPart>,
    ) -> Result<(), HostGone> {
        let ended = AgentEvent::TurnEnded {
            chat: chat.clone(),
            turn: turn.clone(),
            error,
        };
        self.send(ended).await
    }
}

impl From<HostGone> for String {
    fn from(gone: HostGone) -> Self {
        gone.to_string()
    }
}
