//! The task that connects one session of the host with its agent.
//!
//! A single task owns all state: the connection to the process, one agent session for each
//! chat, and the pending requests. It waits for commands of the host, messages of the agent,
//! events of terminals and the next deadline.

mod commands;
pub(crate) mod config_notices;
pub(crate) mod failure;
pub(crate) mod messages;
pub(crate) mod prompts;
pub(crate) mod resume;
pub(crate) mod services;
pub(crate) mod startup;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::TurnEvent;
use agenthost_agents::{AgentEventSender, SessionContext};
use agenthost_core::SessionKey;
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::resource::uris;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::agent::AcpAgent;
use super::connection::{AgentCall, AgentConnection, StartPhase};
use super::error::{AcpError, StartError};
use super::mapper::events::MappedEvent;
use super::mapper::host_tools::HostToolSet;
use super::registry::profile::SessionMultiplicity;
use super::services::HostServices;
use super::session::options;
use super::session::replay::ReplayPurpose;
use super::session::{
    AgentSession, AgentSessionState, ChatEntry, PromptState, TurnInProgress, TurnModel,
};
use super::transport::AgentMessage;
use config_notices::ConfigNotices;

/// The timeout for the response to a request that changes an option.
const OPTION_TIMEOUT: Duration = Duration::from_secs(30);

/// One session of the host with its agent connection and its chats.
struct SessionBridge {
    session: Uri,
    events: AgentEventSender,
    agent: AcpAgent,
    folders: Vec<PathBuf>,
    /// The configuration values of the session.
    config_values: Object,
    connection: Option<AgentConnection>,
    chats: BTreeMap<Uri, ChatEntry>,
    /// An agent session that no chat uses yet. The host opens it because an agent reports its
    /// modes, models and commands only for a session.
    spare_session: AgentSessionState,
    stage: BridgeStage,
    /// Cancelled prompts of chats that were closed or rewound.
    abandoned_prompts: Vec<AbandonedPrompt>,
    services: HostServices,
    notices: ConfigNotices,
    /// The tools that the host offers to the agent.
    host_tools: Arc<HostToolSet>,
}

/// A cancelled prompt whose response is discarded, but must still arrive before its deadline.
struct AbandonedPrompt {
    chat: Uri,
    turn: TurnId,
    cancel_deadline: Instant,
}

/// The progress of the session: `Open` after the host received `AgentEvent::Opened`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BridgeStage {
    Opening,
    Open,
}

/// Runs the bridge of a session until it receives `Close` or the command channel closes.
pub(crate) async fn run_bridge(session: SessionContext, agent: AcpAgent) -> Result<(), AcpError> {
    let mut commands = session.commands;
    let mut bridge = SessionBridge {
        session: session.uri,
        events: session.events,
        agent,
        folders: Vec::new(),
        config_values: Object::new(),
        connection: None,
        chats: BTreeMap::new(),
        spare_session: AgentSessionState::None,
        stage: BridgeStage::Opening,
        abandoned_prompts: Vec::new(),
        services: HostServices::new(session.protected),
        notices: ConfigNotices::default(),
        host_tools: Arc::default(),
    };
    let outcome = bridge.run(&mut commands).await;
    bridge.shut_down().await;
    outcome
}

impl SessionBridge {
    async fn run(&mut self, commands: &mut mpsc::Receiver<AgentCommand>) -> Result<(), AcpError> {
        loop {
            let deadline = self.next_deadline();
            tokio::select! {
                command = commands.recv() => match command {
                    None | Some(AgentCommand::Close) => return Ok(()),
                    Some(command) => self.handle_command(command).await?,
                },
                incoming = next_message(self.connection.as_mut()) => {
                    // Commands of the host about a tool call must be handled before the agent's
                    // message about the end of that call.
                    while let Ok(command) = commands.try_recv() {
                        if command == AgentCommand::Close {
                            return Ok(());
                        }
                        self.handle_command(command).await?;
                    }
                    self.handle_message(incoming).await?;
                }
                notice = self.services.terminals.next_notice() => self.handle_terminal_event(notice).await?,
                () = wait_until(deadline) => self.handle_timeout().await?,
            }
        }
    }

    /// Starts the agent if it is not running.
    async fn start_agent(&mut self) -> Result<(), AcpError> {
        if self.connection.is_none() {
            let folder = self.folders.first().cloned();
            let folder = folder.ok_or(StartError::NoFolder)?;
            let connection = AgentConnection::start(&self.agent, &folder).await;
            self.connection = Some(connection?);
        }
        Ok(())
    }

    /// Advances the turns of all chats.
    async fn advance_turns(&mut self) -> Result<(), AcpError> {
        let chats: Vec<_> = self.chats.keys().cloned().collect();
        for chat in chats {
            self.advance_turn(&chat).await?;
        }
        Ok(())
    }

    /// Advances the pending turn of a chat as far as possible: starts the agent, opens a
    /// session, sets the model, sends the prompt. Each response calls this again.
    async fn advance_turn(&mut self, chat_uri: &Uri) -> Result<(), AcpError> {
        let Some(chat) = self.chats.get_mut(chat_uri) else {
            return Ok(());
        };
        let is_pending =
            chat.turn.as_ref().map(|turn| turn.prompt_state) == Some(PromptState::Pending);
        if !is_pending || chat.in_flight.is_some() {
            return Ok(());
        }
        if let Err(error) = self.start_agent().await {
            return self.fail_turn(chat_uri, "agentStart", &error).await;
        }
        let (Some(connection), Some(chat)) = (&self.connection, self.chats.get_mut(chat_uri))
        else {
            return Ok(());
        };
        if connection.phase != StartPhase::Ready {
            return Ok(());
        }
        if let AgentSessionState::None = chat.agent_session {
            return self.open_session(chat_uri).await;
        }
        match &mut chat.agent_session {
            AgentSessionState::None
            | AgentSessionState::Opening(_)
            | AgentSessionState::Resuming(..) => Ok(()),
            AgentSessionState::Open(session) if session.pending_options > 0 => Ok(()),
            AgentSessionState::Open(session) => {
                let model = chat.turn.as_mut().and_then(|turn| turn.model.take());
                // The response calls this function again. An agent that rejects the request
                // keeps its current model.
                if model.is_some_and(|model| switch_model(connection, session, model)) {
                    return Ok(());
                }
                self.send_prompt(chat_uri).await
            }
        }
    }

    /// Gets an agent session for a chat: resumes its previous one, uses the spare session, or
    /// opens a new one.
    async fn open_session(&mut self, chat_uri: &Uri) -> Result<(), AcpError> {
        if self.resume_session(chat_uri, ReplayPurpose::Resume) {
            return Ok(());
        }
        let (Some(connection), Some(chat)) = (&self.connection, self.chats.get_mut(chat_uri))
        else {
            return Ok(());
        };
        let has_one_session = self.agent.profile.sessions == SessionMultiplicity::One;
        // With a gateway, the spare session was opened for the first chat, and only this chat
        // may use it.
        let is_usable = self.agent.gateway.is_none() || has_one_session;
        let is_usable = is_usable || *chat_uri == uris::default_chat_uri(&self.session);
        if is_usable && let Some(spare) = self.spare_session.open_session() {
            let id = spare.id.clone();
            chat.agent_session = std::mem::take(&mut self.spare_session);
            self.record_session_id(chat_uri, &id).await?;
            return Box::pin(self.advance_turn(chat_uri)).await;
        }
        let deadline = connection.open_session(Some(chat_uri.clone()), &self.folders);
        chat.agent_session = AgentSessionState::Opening(deadline);
        Ok(())
    }

    /// Returns the open agent session of a chat, or the spare session.
    fn agent_session(&mut self, chat: Option<&Uri>) -> Option<&mut AgentSession> {
        match chat {
            Some(chat) => self.chats.get_mut(chat)?.agent_session.open_session(),
            None => self.spare_session.open_session(),
        }
    }

    /// Sends the events that the mapper produced for a chat, or for the spare session, to the
    /// host.
    async fn emit(
        &mut self,
        source_chat: Option<&Uri>,
        events: Vec<MappedEvent>,
    ) -> Result<(), AcpError> {
        for event in events {
            match (event, source_chat) {
                (MappedEvent::SlashCommandsChanged(commands), _) => {
                    self.events
                        .send(AgentEvent::SlashCommandsChanged { commands })
                        .await?;
                }
                (MappedEvent::OptionsChanged(options), _) => {
                    if let Some(session) = self.agent_session(source_chat) {
                        session.options.replace(&options);
                    }
                    self.sync_options(source_chat).await?;
                }
                (MappedEvent::ModeChanged(mode), _) => {
                    if let Some(session) = self.agent_session(source_chat) {
                        session.options.set_mode(&mode);
                    }
                    self.sync_options(source_chat).await?;
                }
                (MappedEvent::StoreContent(blob), Some(chat_uri)) => {
                    if let Err(error) = self.events.store_content(blob.name, blob.bytes).await {
                        let notice = format!("The content of a file was not stored: {error}");
                        self.emit_turn_event(chat_uri, TurnEvent::Notice(notice.into()))
                            .await?;
                    }
                }
                (MappedEvent::Turn(event), Some(chat_uri)) => {
                    self.emit_turn_event(chat_uri, event).await?
                }
                (MappedEvent::TitleChanged(title), Some(chat_uri)) => {
                    let chat = chat_uri.clone();
                    self.events
                        .send(AgentEvent::TitleSuggested { chat, title })
                        .await?;
                }
                (MappedEvent::Terminal(terminal, update), Some(chat_uri)) => {
                    self.emit_terminal_update(chat_uri, terminal, update)
                        .await?;
                }
                // The spare session has no chat, so it can't have turns, titles or terminals.
                (
                    MappedEvent::StoreContent(_)
                    | MappedEvent::Turn(_)
                    | MappedEvent::TitleChanged(_)
                    | MappedEvent::Terminal(..),
                    None,
                ) => {}
            }
        }
        Ok(())
    }

    /// Sends an event of the turn of a chat to the host, if the chat has a turn.
    async fn emit_turn_event(&mut self, chat: &Uri, event: TurnEvent) -> Result<(), AcpError> {
        let turn = self.chats.get_mut(chat).and_then(|chat| chat.turn.as_mut());
        if let Some(turn) = turn {
            self.events
                .send_turn_event(chat, &mut turn.mapper, event)
                .await?;
        }
        Ok(())
    }

    /// Sends the option schema and values of an agent session to the host. Does nothing while
    /// responses to option requests are pending.
    async fn sync_options(&mut self, chat: Option<&Uri>) -> Result<(), AcpError> {
        let has_no_values = self.config_values.is_empty();
        let Some(session) = self.agent_session(chat) else {
            return Ok(());
        };
        if session.pending_options > 0 || session.options.is_empty() && has_no_values {
            return Ok(());
        }
        let (mut values, mut schema) = (session.options.values(), session.options.schema());
        // The model of a single turn is not published; the value that the user chose is.
        let chosen_model = session.chosen_model.clone();
        values
            .extend(chosen_model.map(|chosen_model| (options::MODEL_KEY.to_owned(), chosen_model)));
        self.config_values = values;
        let forbidden = self
            .agent
            .profile
            .auto_approve_rules()
            .annotate_schema(&mut schema);
        self.notices.check_values(&forbidden, &self.config_values);
        if let Some(forbidden_changed) = self.notices.replace_forbidden(forbidden) {
            self.events.send(forbidden_changed).await?;
        }
        let schema_changed = AgentEvent::ConfigSchemaChanged {
            schema: Box::new(schema),
            values: self.config_values.clone(),
        };
        self.events.send(schema_changed).await?;
        self.emit_notices().await
    }

    /// Returns the key under which content of this session is stored.
    fn session_key(&self) -> SessionKey {
        SessionKey::of(&self.session)
    }
}

/// Sends a changed option to the agent. Returns `false` if there is nothing to change.
fn set_option(
    connection: &AgentConnection,
    session: &mut AgentSession,
    key: &str,
    value: &serde_json::Value,
) -> bool {
    let Some((method, params)) = session.options.change_request(&session.id, key, value) else {
        return false;
    };
    session.pending_options += 1;
    session.option_deadline = Some(Instant::now() + OPTION_TIMEOUT);
    session.options.mark_pending(key, value);
    let call = AgentCall::SetOption {
        agent_session: session.id.clone(),
        key: key.to_owned(),
        value: value.clone(),
    };
    connection.call(call, method, &params);
    true
}

/// Sends the model of a turn to the agent. Returns `false` if there is nothing to change.
fn switch_model(
    connection: &AgentConnection,
    session: &mut AgentSession,
    model: TurnModel,
) -> bool {
    match model {
        TurnModel::Chosen(model) => set_option(connection, session, options::MODEL_KEY, &model),
        TurnModel::Temporary(name) => {
            let Some((model, current)) = session.options.find_model(&name) else {
                return false;
            };
            let was_sent = set_option(connection, session, options::MODEL_KEY, &model);
            session.chosen_model = was_sent.then_some(current);
            was_sent
        }
    }
}

/// Receives the next message of the agent; waits forever without a connection.
async fn next_message(connection: Option<&mut AgentConnection>) -> AgentMessage<AgentCall> {
    match connection {
        // The connection sends `Closed` itself; a closed channel means the same.
        Some(connection) => connection
            .messages
            .recv()
            .await
            .unwrap_or(AgentMessage::Closed(None)),
        None => std::future::pending().await,
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
