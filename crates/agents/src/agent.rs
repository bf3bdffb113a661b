//! The trait that agents implement, and the context that the host gives them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentEvent, ForbiddenValue};
use agenthost_core::{Input, SessionEnvironment, SessionKey};
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
/// The host knows an agent only by its [`AgentInfo`]: no other part of the project depends
/// on which agent it is.
pub trait Agent: Send + Sync + 'static {
    /// Returns the description of the agent for clients.
    fn info(&self) -> AgentInfo;

    /// Returns the schema of the configuration of its sessions.
    fn config_schema(&self) -> Option<SessionConfigSchema> {
        None
    }

    /// Returns values that clients must not choose for its sessions, as far as they are
    /// known before the agent runs.
    fn forbidden_values(&self) -> Vec<ForbiddenValue> {
        Vec::new()
    }

    /// Returns the customization paths that the agent reads by itself: prefixes of paths in
    /// the folders of a session, or in the home directory after `~/`. The host does not add
    /// the contents of these files to prompts.
    fn native_customizations(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns `true` if the agent uses customizations: rules, prompts and tools that the
    /// host has for it.
    fn is_customizable(&self) -> bool {
        true
    }

    /// Returns `true` if the agent accepts steering messages during a turn. For other agents,
    /// the host queues them.
    fn supports_steering(&self) -> bool {
        false
    }

    /// Called once when the host starts, while it has exclusive access to its data. An
    /// agent cleans up here after a host that was killed.
    fn on_host_start(&self) {}

    /// Works for one session, from its first command to its last. The future ends when the
    /// command channel is closed. When it is dropped, it must not leave processes behind.
    fn run_session(&self, session: SessionContext) -> SessionFuture;
}

/// The task of an agent for one session. An error is the reason why the agent stopped
/// before the host closed the session.
pub type SessionFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The channels and resources of an agent for one session.
#[derive(Debug)]
pub struct SessionContext {
    /// The URI of the session.
    pub uri: Uri,
    /// The queue of commands from the host.
    pub commands: mpsc::Receiver<AgentCommand>,
    /// The sender for events to the host.
    pub events: AgentEventSender,
    /// Environment variables of the terminal that the session was created from.
    pub environment: SessionEnvironment,
    /// Access tokens of clients that this session may use.
    pub tokens: SessionTokens,
    /// The relay to the host's tools, if the host offers any.
    pub relay: Option<ToolRelay>,
    /// Files that the host does not read or write on behalf of agents.
    pub protected: ProtectedPaths,
}

/// A sender for events to the host. Its queue is bounded: if the host is slower than the
/// agent, the agent waits.
#[derive(Debug, Clone)]
pub struct AgentEventSender {
    session: Uri,
    inputs: mpsc::Sender<Input>,
    contents: Option<Arc<ContentStore>>,
}

/// An error for an event that was sent after the host has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host has stopped")]
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

    /// Returns the sink that stores command output which is too long for the state.
    pub fn output_sink(&self) -> Option<OutputSink> {
        self.contents.as_ref().map(|contents| OutputSink {
            content_store: Arc::clone(contents),
            session: SessionKey::of(&self.session),
        })
    }

    /// Stores content of the session. Its URI is derived from the content, so events can
    /// refer to it before it is stored.
    pub async fn store_content(&self, name: String, bytes: Vec<u8>) -> Result<(), ContentError> {
        let Some(contents) = self.contents.clone() else {
            return Ok(());
        };
        let session = SessionKey::of(&self.session);
        let work = move || contents.insert(&session, &bytes, &name).map(drop);
        let done = tokio::task::spawn_blocking(work).await;
        // The blocking task is only cancelled when the runtime shuts down.
        done.unwrap_or(Ok(()))
    }

    /// Sends an event to the host. Tool results that are too large for the state are
    /// spilled first (PRT-4).
    pub async fn send(&self, event: AgentEvent) -> Result<(), HostGone> {
        let event = match &self.contents {
            Some(contents) => spill::spill_large_results(contents, &self.session, event).await?,
            None => event,
        };
        let session = self.session.clone();
        let input = Input::Agent { session, event };
        self.inputs.send(input).await.map_err(|_| HostGone)
    }

    /// Maps an event of a turn to chat actions and sends them to the host.
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

    /// Reports the end of a turn to the host, with the error if the turn failed.
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
